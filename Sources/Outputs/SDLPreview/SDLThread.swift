import CSDL2
import VideoCapturing
import WindowPreview

/// The one thread of the process that calls SDL, which exists while there are windows. Safe to use from any thread.
final class SDLThread: Sendable {
    static let shared = SDLThread()

    private let waiter = CaptureWaiter(clock: MonotonicClock())
    private let state = Locked(State())

    private struct State {
        var requests: [Request] = []
        var isRunning = false
    }

    /// What is wanted of the thread.
    private enum Request {
        case open(WindowPreview.Configuration, PreviewState, SDLRendering, PreviewStart)
        case probe(Locked<String>, PreviewStart)

        var start: PreviewStart {
            switch self {
            case .open(_, _, _, let start), .probe(_, let start): start
            }
        }
    }

    private init() { waiter.beginSession() }

    // MARK: Requests

    /// Opens a window, and waits until it is there.
    ///
    /// - Throws: the errors of `WindowPreview`.
    func open(
        _ configuration: WindowPreview.Configuration, _ preview: PreviewState, _ rendering: SDLRendering
    ) throws(CaptureError) {
        if let display = configuration.display {
            throw CaptureError(
                .invalidConfiguration, operation: "open a window", subject: display,
                message: "SDL takes the display of the environment only; set WAYLAND_DISPLAY or DISPLAY, or open the "
                    + "window through X11.")
        }
        preview.setWakeHandler { [waiter] in waiter.wakeUp() }
        do {
            try run(.open(configuration, preview, rendering, PreviewStart()))
        } catch {
            preview.waiter.raiseStop()
            throw error
        }
    }

    /// The driver that SDL would use.
    ///
    /// - Throws: as ``open(_:_:_:)``.
    func probe() throws(CaptureError) -> String {
        let driver = Locked("")
        try run(.probe(driver, PreviewStart()))
        return driver.withLock { $0 }
    }

    private func run(_ request: Request) throws(CaptureError) {
        let needsThread = state.withLock { state in
            state.requests.append(request)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if needsThread {
            do {
                try CaptureThread(name: "sdl-window") { self.run() }
            } catch {
                let requests = state.withLock { state in
                    defer { state = State() }
                    return state.requests
                }
                for request in requests { request.start.report(.failure(error)) }
            }
        } else {
            waiter.wakeUp()
        }
        guard try request.start.wait() else {
            throw CaptureError(
                .stalled, operation: "open a window",
                subject: WindowPreview.Backend.sdl.displayName ?? WindowPreview.Backend.x11.displayName,
                message: "The display takes connections but does not answer; look whether it hangs.")
        }
    }

    // MARK: The thread

    private func run() {
        var desk = SDLDesk()
        while true {
            // What it was about is looked for after this, so that nothing is missed.
            waiter.clearWakeUp()
            let requests = state.withLock { state in
                defer { state.requests = [] }
                return state.requests
            }
            for request in requests {
                switch request {
                case .open(let configuration, let preview, let rendering, let start):
                    start.report(Result { () throws(CaptureError) in try desk.open(configuration, preview, rendering) })
                case .probe(let driver, let start):
                    start.report(
                        Result { () throws(CaptureError) in
                            let name = try desk.start().driver
                            driver.withLock { $0 = name }
                        })
                }
            }
            let now = MonotonicClock().now
            let isActive = desk.turn(now)
            if desk.isEmpty {
                // Before another thread may begin.
                desk.end()
                let isDone = state.withLock { state in
                    if state.requests.isEmpty { state.isRunning = false }
                    return !state.isRunning
                }
                if isDone { return }
                continue
            }
            // Calls of SDL read from the connection: further events may be in memory, for which the descriptor gives no sign.
            _ = waiter.waitForInput(desk.descriptor, atMost: isActive ? .zero : desk.timeToNextTurn(now))
        }
    }
}
