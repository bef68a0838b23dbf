import CSDL2
import VideoCapturing
import WindowPreview

/// Pixels that libyuv writes into the window's memory, and SDL sends to the display.
final class MemorySurface: SDLSurface {
    private let window: OpaquePointer
    /// Where the picture is; nil for none.
    private var picture: PixelRect?
    /// Pixels for a display that has others.
    private var staging = UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)

    init(_ window: OpaquePointer) throws {
        self.window = window
        guard SDL_GetWindowSurface(window) != nil else { throw SDLFailure() }
    }

    deinit { staging.deallocate() }

    func release() {}

    var hasPicture: Bool { picture != nil }

    func discard() { picture = nil }

    func take(_ frame: VideoFrame, mirrors: Bool) -> Bool { false }

    func draw(
        in rect: PixelRect,
        _ draw: (_ memory: UnsafeMutablePointer<UInt8>, _ bytesPerRow: Int) throws(CaptureError) -> Void
    ) throws {
        if picture != rect { picture = nil }
        // Another one after each change of the window's size.
        guard let surface = SDL_GetWindowSurface(window)?.pointee, let pixels = surface.pixels else {
            throw SDLFailure()
        }
        // The size has changed once more, which the next event says.
        guard rect.x + rect.width <= Int(surface.w), rect.y + rect.height <= Int(surface.h) else { return }
        let format = surface.format.pointee
        let pitch = Int(surface.pitch)
        let target = pixels.assumingMemoryBound(to: UInt8.self) + rect.y * pitch + rect.x * Int(format.BytesPerPixel)
        if format.format == SDL_PIXELFORMAT_XRGB8888.rawValue || format.format == SDL_PIXELFORMAT_ARGB8888.rawValue {
            try draw(target, pitch)
        } else {
            let bytesPerRow = rect.width * 4
            if staging.count < bytesPerRow * rect.height {
                staging.deallocate()
                staging = .allocate(capacity: bytesPerRow * rect.height)
            }
            try draw(staging.baseAddress!, bytesPerRow)
            SDL_ConvertPixels(
                Int32(rect.width), Int32(rect.height), SDL_PIXELFORMAT_ARGB8888.rawValue, staging.baseAddress,
                Int32(bytesPerRow), format.format, target, surface.pitch)
        }
        picture = rect
    }

    func clear(around rect: PixelRect, in size: PixelSize) {
        guard let surface = SDL_GetWindowSurface(window) else { return }
        let (right, bottom) = (rect.x + rect.width, rect.y + rect.height)
        let sides = [
            PixelRect(x: 0, y: 0, width: size.width, height: rect.y),
            PixelRect(x: 0, y: bottom, width: size.width, height: size.height - bottom),
            PixelRect(x: 0, y: rect.y, width: rect.x, height: rect.height),
            PixelRect(x: right, y: rect.y, width: size.width - right, height: rect.height),
        ]
        SDL_FillRects(surface, sides.map(\.sdl), Int32(sides.count), SDL_MapRGB(surface.pointee.format, 0, 0, 0))
    }

    func present(_ rect: PixelRect) throws {
        guard picture == rect else { return }
        // Fails as well while the window has another size than the memory, until the event that says so.
        guard SDL_UpdateWindowSurface(window) != 0 else { return }
        picture = nil
        if csdl_has_lost_x_server() { throw SDLFailure() }
    }
}
