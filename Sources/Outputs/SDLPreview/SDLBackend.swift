import CSDL2
import VideoCapturing
public import WindowPreview

extension WindowPreview.Backend {
    /// Windows by SDL2: on Wayland, and on X11 where `WAYLAND_DISPLAY` is not set, with OpenGL where there is a GPU.
    ///
    /// All of its windows share one thread, as SDL demands. SDL takes the display from the environment, and no signals from
    /// the program: Ctrl-C stays what it is. A compositor that ends is an error of its windows alone, and so is an X server;
    /// but once that is lost, SDL cannot open windows in the same process again.
    public static let sdl = sdl(rendering: .automatic)

    /// ``sdl`` with a choice of who converts and scales.
    package static func sdl(rendering: SDLRendering) -> WindowPreview.Backend {
        WindowPreview.Backend(name: "sdl", variable: "WAYLAND_DISPLAY") {
            (configuration, state) throws(CaptureError) in
            try SDLThread.shared.open(configuration, state, rendering)
        }
    }
}

/// Who converts and scales the pixels of a window.
package enum SDLRendering: Sendable {
    /// OpenGL where it is not done in software.
    case automatic
    /// libyuv, into the window's memory.
    case software
    /// OpenGL, even in software.
    case accelerated
}

extension Finding {
    /// The version of SDL2, and the display of its windows.
    package static func sdl() -> Finding {
        var version = SDL_version()
        SDL_GetVersion(&version)
        let number = "\(version.major).\(version.minor).\(version.patch)"
        guard let display = WindowPreview.Backend.sdl.displayName else {
            return Finding("libraries", "SDL2", .ok, "\(number); WAYLAND_DISPLAY is not set")
        }
        do {
            let session = try SDLThread.shared.probe()
            return Finding("libraries", "SDL2", .ok, "\(number); opens windows on \(display) (\(session))")
        } catch {
            return Finding(
                "libraries", "SDL2", .missing, "\(number); no windows: \(error.message)",
                remedy: "Log in to a Wayland desktop, or unset WAYLAND_DISPLAY.")
        }
    }
}
