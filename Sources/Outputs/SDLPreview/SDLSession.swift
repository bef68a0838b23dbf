import CSDL2
import VideoCapturing
import WindowPreview

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A call of SDL that has failed, in the middle of showing frames.
struct SDLFailure: Error {
    /// What SDL says of it.
    let reason = SDLSession.lastError
}

/// SDL's video, from its start to its end. Confined to SDL's thread.
final class SDLSession {
    /// `wayland` or `x11`.
    let driver: String
    /// The name of the display.
    let display: String

    /// What SDL says of the last call that has failed.
    static var lastError: String { String(cString: SDL_GetError()) }

    /// - Throws: `deviceNotFound` without a display, `unavailable` for one that does not answer.
    init() throws(CaptureError) {
        let drivers = [(WindowPreview.Backend.sdl, "wayland"), (.x11, "x11")].filter { $0.0.displayName != nil }
        let name = drivers.first?.0.displayName
        guard let name else {
            throw CaptureError(
                .deviceNotFound, operation: "open a window",
                message:
                    "Neither WAYLAND_DISPLAY nor DISPLAY is set, so there is no screen to open a window on; run it in "
                    + "a desktop session.")
        }
        // Otherwise it ends with `offscreen`, whose windows are nowhere. A driver that the user asks for
        // (SDL_VIDEODRIVER) comes first.
        SDL_SetHint(SDL_HINT_VIDEODRIVER, drivers.map(\.1).joined(separator: ","))
        // SDL would make an event of Ctrl-C, and the program would not end.
        SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1")
        // The desktop's own time-out applies.
        SDL_SetHint(SDL_HINT_VIDEO_ALLOW_SCREENSAVER, "1")
        // A quit event then means that the compositor has gone.
        SDL_SetHintWithPriority(SDL_HINT_QUIT_ON_LAST_WINDOW_CLOSE, "0", SDL_HINT_OVERRIDE)
        guard SDL_InitSubSystem(SDL_INIT_VIDEO) == 0 else {
            throw CaptureError(
                .unavailable, operation: "open a window", subject: name,
                message: "No display answers there (SDL: \(SDLSession.lastError)); check WAYLAND_DISPLAY and "
                    + "XDG_RUNTIME_DIR, or run it in a desktop session.")
        }
        let driver = SDL_GetCurrentVideoDriver().map { String(cString: $0) } ?? "none"
        guard driver == "wayland" || driver == "x11" else {
            SDL_QuitSubSystem(SDL_INIT_VIDEO)
            throw CaptureError(
                .unavailable, operation: "open a window", subject: name,
                message: "SDL's video driver is \(driver), which shows nothing; unset SDL_VIDEODRIVER.")
        }
        self.driver = driver
        display = drivers.first { $0.1 == driver }?.0.displayName ?? name
        // Keys are commands here, and no text for input methods and keyboards on the screen.
        SDL_StopTextInput()
    }

    deinit {
        // After the loss of an X server nothing of SDL can be called.
        if !csdl_has_lost_x_server() { SDL_QuitSubSystem(SDL_INIT_VIDEO) }
    }

    /// Whether there may be OpenGL that is not done in software: a render node, or NVIDIA's own.
    static var mayHaveGPU: Bool {
        access("/dev/dri/renderD128", F_OK) == 0 || access("/dev/nvidiactl", F_OK) == 0
    }

    /// Whether the present OpenGL context draws on processors.
    static var isSoftwareGL: Bool {
        guard let name = csdl_gl_renderer().map({ String(cString: $0).lowercased() }) else { return true }
        return ["llvmpipe", "softpipe", "swrast", "software"].contains { name.contains($0) }
    }
}
