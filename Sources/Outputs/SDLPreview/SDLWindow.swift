import CSDL2
import VideoCapturing
import WindowPreview

/// A window by SDL: its life, its size and its state. Confined to SDL's thread.
final class SDLWindow: PreviewWindow {
    /// How long after a picture a compositor that has not shown it counts as one that hides the window.
    private static let unseenTime = Duration.seconds(1)

    /// SDL's number, by which events name it.
    private(set) var id: UInt32
    let descriptor: Int32
    private(set) var size: PixelSize
    private(set) var isVisible = false
    private(set) var isFullScreen = false
    private(set) var isUnseen = false
    private let title: String
    private let rendering: SDLRendering
    private let session: SDLSession
    private var handle: OpaquePointer
    private var surface: any SDLSurface
    private let confirmations: OpaquePointer
    private var presented = MediaTime.zero

    /// Creates a window that is not shown yet.
    init(_ configuration: WindowPreview.Configuration, _ rendering: SDLRendering, _ session: SDLSession) throws {
        guard let confirmations = csdl_confirmations_create() else {
            throw CaptureError(
                .outOfMemory, operation: "open a window", message: "There is not enough memory; close other programs.")
        }
        self.confirmations = confirmations
        (title, self.rendering, self.session) = (configuration.title, rendering, session)
        size = configuration.size ?? PixelSize(width: 640, height: 480)
        do {
            (handle, surface) = try SDLWindow.make(title, size, rendering, session)
        } catch {
            csdl_confirmations_free(confirmations)
            throw error
        }
        id = SDL_GetWindowID(handle)
        descriptor = csdl_descriptor(handle)
    }

    private static func make(
        _ title: String, _ size: PixelSize, _ rendering: SDLRendering, _ session: SDLSession
    ) throws -> (OpaquePointer, any SDLSurface) {
        let flags =
            SDL_WINDOW_HIDDEN.rawValue | SDL_WINDOW_RESIZABLE.rawValue | SDL_WINDOW_ALLOW_HIGHDPI.rawValue
        let place = csdl_position_undefined
        guard let handle = SDL_CreateWindow(title, place, place, Int32(size.width), Int32(size.height), flags) else {
            throw SDLFailure()
        }
        csdl_survive_loss(handle)
        do {
            // Before it is shown: SDL may replace the window by one for OpenGL.
            return (handle, try makeSurface(handle, rendering, session))
        } catch {
            SDL_DestroyWindow(handle)
            throw error
        }
    }

    /// Asks whether the display answers, before ``close()``.
    func askForAnswer() {
        csdl_did_present(confirmations, handle)
        csdl_flush(handle)
    }

    /// Whether the display has answered since ``askForAnswer()``.
    var hasAnswer: Bool { !csdl_is_unread(confirmations) }

    /// Gives a display up that does not answer, for all windows.
    func disconnect() { csdl_disconnect(handle) }

    /// Destroys the window, which may not be used any more. Once, at its end. Waits for the display.
    func close() {
        guard !csdl_has_lost_x_server() else { return }
        csdl_confirmations_free(confirmations)
        surface.release()
        SDL_DestroyWindow(handle)
    }

    private static func makeSurface(
        _ handle: OpaquePointer, _ rendering: SDLRendering, _ session: SDLSession
    ) throws -> any SDLSurface {
        if rendering == .accelerated || rendering == .automatic && SDLSession.mayHaveGPU {
            if let surface = TextureSurface(handle) {
                if rendering == .accelerated || !SDLSession.isSoftwareGL { return surface }
                surface.release()
            } else if rendering == .accelerated {
                throw SDLFailure()
            }
        }
        // SDL would show the pixels of an X11 window through a texture of OpenGL, at 15 times the cost where that is done in
        // software. On Wayland it has no other way.
        if session.driver == "x11" { SDL_SetHint(SDL_HINT_FRAMEBUFFER_ACCELERATION, "0") }
        return try MemorySurface(handle)
    }

    // MARK: State

    /// What differs since the last call: the state that SDL's events have changed, and what time has.
    func changes(at now: MediaTime) -> [PreviewWindowEvent] {
        var events: [PreviewWindowEvent] = []
        let flags = SDL_GetWindowFlags(handle)
        let isNowVisible = flags & (SDL_WINDOW_HIDDEN.rawValue | SDL_WINDOW_MINIMIZED.rawValue) == 0
        if isNowVisible != isVisible {
            isVisible = isNowVisible
            // What SDL has replaced meanwhile will never be confirmed.
            csdl_forget(confirmations)
            events += [.visibility, .exposed]
        }
        let isNowFull = flags & SDL_WINDOW_FULLSCREEN_DESKTOP.rawValue == SDL_WINDOW_FULLSCREEN_DESKTOP.rawValue
        if isNowFull != isFullScreen {
            isFullScreen = isNowFull
            events.append(.fullScreen)
        }
        if isVisible, readSize() { events.append(.resized) }
        let isNowUnseen =
            csdl_is_unshown(confirmations) && (isUnseen || now >= presented.advanced(by: SDLWindow.unseenTime))
        if isNowUnseen != isUnseen {
            isUnseen = isNowUnseen
            // Once more, in case that the display had no window to show the last one in.
            events += [.visibility, .exposed]
        }
        return events
    }

    /// When the state changes without any event; nil for never.
    func changeDue(after now: MediaTime) -> MediaTime? {
        let due = presented.advanced(by: SDLWindow.unseenTime)
        return csdl_is_unshown(confirmations) && now < due ? due : nil
    }

    /// Until the compositor has read the last picture, which it does not while it hangs, and has shown it, or hides the
    /// window: then one picture per second is drawn all the same.
    var isBusy: Bool {
        csdl_is_unread(confirmations)
            || csdl_is_unshown(confirmations)
                && MonotonicClock().now < presented.advanced(by: SDLWindow.unseenTime)
    }

    private func readSize() -> Bool {
        var (width, height): (Int32, Int32) = (0, 0)
        SDL_GetWindowSizeInPixels(handle, &width, &height)
        let new = PixelSize(width: Int(width), height: Int(height))
        guard new != size, new.isValid else { return false }
        size = new
        return true
    }

    func map(size: PixelSize, isFullScreen: Bool) throws {
        if size != self.size {
            // SDL 2.26 forgets a new size of a window that is not shown yet.
            let (newHandle, newSurface) = try SDLWindow.make(title, size, rendering, session)
            surface.release()
            SDL_DestroyWindow(handle)
            (handle, surface) = (newHandle, newSurface)
            id = SDL_GetWindowID(handle)
            self.size = size
        }
        if isFullScreen { SDL_SetWindowFullscreen(handle, SDL_WINDOW_FULLSCREEN_DESKTOP.rawValue) }
        SDL_ShowWindow(handle)
        _ = changes(at: MonotonicClock().now)
    }

    func screenSize() throws -> PixelSize {
        var bounds = SDL_Rect()
        guard SDL_GetDisplayUsableBounds(max(0, SDL_GetWindowDisplayIndex(handle)), &bounds) == 0 else {
            throw SDLFailure()
        }
        return PixelSize(width: Int(bounds.w), height: Int(bounds.h))
    }

    func setFullScreen(_ isWanted: Bool) throws -> Bool {
        // Found by `changes(at:)` when the display has done it.
        SDL_SetWindowFullscreen(handle, isWanted ? SDL_WINDOW_FULLSCREEN_DESKTOP.rawValue : 0)
        return false
    }

    // MARK: Pixels

    var hasPicture: Bool { surface.hasPicture }
    var usesSharedMemory: Bool { false }

    /// To be called when the pixels on the display's side have gone.
    func discardPixels() { surface.discard() }

    func take(_ frame: VideoFrame, in rect: PixelRect, mirrors: Bool) throws -> Bool {
        try surface.take(frame, mirrors: mirrors)
    }

    func draw(
        in rect: PixelRect,
        _ draw: (_ memory: UnsafeMutablePointer<UInt8>, _ bytesPerRow: Int) throws(CaptureError) -> Void
    ) throws {
        try surface.draw(in: rect, draw)
    }

    func clear(around rect: PixelRect) { surface.clear(around: rect, in: size) }

    func put(_ rect: PixelRect) throws {
        csdl_will_present(confirmations, handle)
        try surface.present(rect)
        csdl_did_present(confirmations, handle)
        csdl_flush(handle)
        presented = MonotonicClock().now
    }
}

/// The pixels of a window. Confined to SDL's thread.
protocol SDLSurface: AnyObject {
    var hasPicture: Bool { get }
    func take(_ frame: VideoFrame, mirrors: Bool) throws -> Bool
    func draw(
        in rect: PixelRect,
        _ draw: (_ memory: UnsafeMutablePointer<UInt8>, _ bytesPerRow: Int) throws(CaptureError) -> Void
    ) throws
    func clear(around rect: PixelRect, in size: PixelSize)
    func present(_ rect: PixelRect) throws
    func discard()
    /// Before the window is destroyed.
    func release()
}

extension PixelRect {
    var sdl: SDL_Rect { SDL_Rect(x: Int32(x), y: Int32(y), w: Int32(width), h: Int32(height)) }
}
