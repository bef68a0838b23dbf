import CSDL2
import VideoCapturing
import WindowPreview

/// All windows of SDL, and their events. Confined to SDL's thread.
struct SDLDesk {
    /// How long the end of a window waits for an answer of the display.
    private static let closingTime = Duration.seconds(1)

    private var session: SDLSession?
    private var previews: [Preview] = []
    /// Whether the connection has ended.
    private var isLost = false

    /// A window and what is shown in it.
    private final class Preview {
        let state: PreviewState
        let window: SDLWindow
        let loop: PreviewLoop
        var failure: CaptureError?
        /// When its end began.
        var closing: MediaTime?
        /// Whether its end has been reported.
        var hasEnded = false

        var isEnding: Bool { loop.isClosed || failure != nil || state.waiter.isStopping }

        init(_ state: PreviewState, _ window: SDLWindow, _ loop: PreviewLoop) {
            (self.state, self.window, self.loop) = (state, window, loop)
        }
    }

    var isEmpty: Bool { previews.isEmpty }

    /// Of the connection to the display, which all windows share.
    var descriptor: Int32 { previews.first?.window.descriptor ?? -1 }

    /// SDL's video, started when it is not.
    mutating func start() throws(CaptureError) -> SDLSession {
        guard !csdl_has_lost_x_server() else {
            throw CaptureError(
                .deviceLost, operation: "open a window",
                message: "SDL has lost an X server, after which it cannot be used; start the program again, or open "
                    + "the window through X11.")
        }
        if let session { return session }
        let made = try SDLSession()
        session = made
        return made
    }

    /// Ends SDL's video. Only without windows.
    mutating func end() { (session, isLost) = (nil, false) }

    mutating func open(
        _ configuration: WindowPreview.Configuration, _ state: PreviewState, _ rendering: SDLRendering
    ) throws(CaptureError) {
        let session = try start()
        do {
            let window = try SDLWindow(configuration, rendering, session)
            let loop: PreviewLoop
            do {
                loop = try PreviewLoop(configuration, state, window)
            } catch {
                window.close()
                throw error
            }
            state.begin()
            previews.append(Preview(state, window, loop))
        } catch let error as CaptureError {
            throw error
        } catch {
            throw CaptureError(
                .unavailable, operation: "open a window", subject: session.display,
                message: "SDL cannot open one: \((error as? SDLFailure)?.reason ?? "\(error)")")
        }
    }

    /// Reads events, draws what is due, and ends what has ended.
    ///
    /// - Returns: whether there was anything of it.
    mutating func turn(_ now: MediaTime) -> Bool {
        var isActive = readEvents()
        for preview in previews where preview.closing == nil && !preview.isEnding {
            attempt(preview) {
                for event in preview.window.changes(at: now) {
                    try preview.loop.handle(event)
                }
                if try !preview.isEnding && preview.loop.turn(now) { isActive = true }
            }
        }
        if csdl_has_lost_x_server() { lose() }
        endPreviews(now)
        return isActive
    }

    /// Nil when there is nothing to be done without a frame or an event.
    func timeToNextTurn(_ now: MediaTime) -> Duration? {
        var next: Duration?
        for preview in previews {
            let due = preview.window.changeDue(after: now).map { max(.zero, $0 - now) }
            let late = preview.closing.map { max(.zero, $0.advanced(by: SDLDesk.closingTime) - now) }
            let turn = preview.closing == nil ? preview.loop.timeToNextTurn(now) : nil
            for time in [turn, due, preview.hasEnded ? nil : late] {
                if let time { next = min(next ?? time, time) }
            }
        }
        return next
    }

    // MARK: Events

    /// True when there were any.
    private mutating func readEvents() -> Bool {
        guard session != nil, !csdl_has_lost_x_server() else { return false }
        var hasFound = false
        var event = SDL_Event()
        while SDL_PollEvent(&event) != 0, !csdl_has_lost_x_server() {
            hasFound = true
            switch SDL_EventType(event.type) {
            case SDL_QUIT:
                // Of the compositor's end: nothing else makes one, by the hints of the session.
                lose()
            case SDL_RENDER_TARGETS_RESET, SDL_RENDER_DEVICE_RESET:
                for preview in previews {
                    preview.window.discardPixels()
                    attempt(preview) { try preview.loop.handle(.discarded) }
                }
            case SDL_WINDOWEVENT:
                guard let preview = preview(event.window.windowID) else { continue }
                switch SDL_WindowEventID(UInt32(event.window.event)) {
                case SDL_WINDOWEVENT_CLOSE: attempt(preview) { try preview.loop.handle(.closed) }
                case SDL_WINDOWEVENT_EXPOSED: attempt(preview) { try preview.loop.handle(.exposed) }
                // All else is found by looking at the window.
                default: break
                }
            case SDL_KEYDOWN:
                guard let key = SDLDesk.key(event.key), let preview = preview(event.key.windowID) else { continue }
                attempt(preview) { try preview.loop.handle(.key(key)) }
            default: break
            }
        }
        return hasFound
    }

    /// The command of a key; nil for others, for repeats of a key that is held, and together with Control, Alt or Super.
    private static func key(_ event: SDL_KeyboardEvent) -> PreviewKey? {
        let others = KMOD_CTRL.rawValue | KMOD_ALT.rawValue | KMOD_GUI.rawValue
        guard event.repeat == 0, UInt32(event.keysym.mod) & UInt32(others) == 0 else { return nil }
        let escape = UInt32(SDLK_ESCAPE.rawValue)
        if let key = PreviewKey(symbol: UInt32(bitPattern: event.keysym.sym), escape: escape) { return key }
        // A keyboard of another alphabet: by where the key is on an American one.
        let place = event.keysym.scancode.rawValue
        guard event.keysym.sym > 127, place >= SDL_SCANCODE_A.rawValue, place <= SDL_SCANCODE_Z.rawValue else {
            return nil
        }
        return PreviewKey(symbol: UInt32(UInt8(ascii: "a")) + (place - SDL_SCANCODE_A.rawValue), escape: escape)
    }

    private func preview(_ id: UInt32) -> Preview? { previews.first { $0.window.id == id && $0.closing == nil } }

    // MARK: Ends

    /// Records the failure of a window, which ends it alone.
    private func attempt(_ preview: Preview, _ body: () throws -> Void) {
        do {
            try body()
        } catch {
            preview.failure =
                preview.failure ?? (error as? CaptureError)
                ?? CaptureError(
                    .deviceLost, operation: "show frames", subject: session?.display,
                    message:
                        "SDL can no longer show frames: \((error as? SDLFailure)?.reason ?? "\(error)"); open the "
                        + "preview again.")
        }
    }

    /// The display has gone, and all windows with it.
    private mutating func lose() {
        isLost = true
        for preview in previews {
            preview.failure = CaptureError(
                .deviceLost, operation: "show frames", subject: session?.display,
                message: "The display has closed the connection, or has ended; open the preview again when it is back.")
        }
    }

    /// Ends what has ended. SDL waits for the display when it destroys a window, so that is asked first whether it answers.
    private mutating func endPreviews(_ now: MediaTime) {
        for preview in previews where preview.isEnding && preview.closing == nil {
            preview.closing = now
            if !isLost { preview.window.askForAnswer() }
        }
        func isLate(_ preview: Preview) -> Bool {
            preview.closing.map { now >= $0.advanced(by: SDLDesk.closingTime) } ?? false
        }
        if !isLost, !previews.isEmpty, previews.allSatisfy({ isLate($0) && !$0.window.hasAnswer }) {
            // No window is left that would miss it.
            previews[0].window.disconnect()
            isLost = true
        }
        for preview in previews where preview.closing != nil {
            let isGone = isLost || preview.window.hasAnswer
            if isGone {
                previews.removeAll { $0 === preview }
                preview.window.close()
            }
            // It has gone when its end is reported, unless the display does not answer.
            guard !preview.hasEnded, isGone || isLate(preview) else { continue }
            preview.hasEnded = true
            let event = preview.failure.map { WindowPreview.Event.failed($0) }
            preview.state.end(with: event ?? (preview.loop.isClosed ? .closed : nil))
        }
    }
}
