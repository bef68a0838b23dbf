import CSDL2
import VideoCapturing
import WindowPreview

/// Pixels in a texture, which the GPU converts, scales and turns.
final class TextureSurface: SDLSurface {
    private let renderer: OpaquePointer
    private var texture: OpaquePointer?
    private var textureFormat: UInt32 = 0
    private var textureSize = PixelSize(width: 0, height: 0)
    private var textureMode = SDL_YUV_CONVERSION_BT601
    private var picture: Picture?

    /// How the texture is to be shown.
    private struct Picture {
        var clockwiseDegrees = 0
        var flip = SDL_FLIP_NONE
    }

    /// Nil when the window has no OpenGL.
    init?(_ window: OpaquePointer) {
        // Without waiting for the screen: the thread has other windows.
        guard let renderer = SDL_CreateRenderer(window, -1, SDL_RENDERER_ACCELERATED.rawValue) else { return nil }
        self.renderer = renderer
    }

    func release() { SDL_DestroyRenderer(renderer) }

    var hasPicture: Bool { picture != nil }

    func discard() {
        if let texture { SDL_DestroyTexture(texture) }
        (texture, picture) = (nil, nil)
    }

    /// Takes NV12, NV21 and I420 in the colors that SDL can convert.
    func take(_ frame: VideoFrame, mirrors: Bool) throws -> Bool {
        let format: SDL_PixelFormatEnum
        switch frame.pixelFormat {
        case .nv12: format = SDL_PIXELFORMAT_NV12
        case .nv21: format = SDL_PIXELFORMAT_NV21
        case .i420: format = SDL_PIXELFORMAT_IYUV
        default: return false
        }
        let size = PixelSize(width: frame.width, height: frame.height)
        guard let mode = TextureSurface.mode(of: frame.color), let texture = texture(format, size, mode) else {
            return false
        }
        picture = nil
        let planes = frame.buffer.planes
        let result = frame.buffer.withUnsafePlanes { bases in
            func base(_ plane: Int) -> UnsafePointer<UInt8> { bases[plane].assumingMemoryBound(to: UInt8.self) }
            func pitch(_ plane: Int) -> Int32 { Int32(planes[plane].bytesPerRow) }
            if format == SDL_PIXELFORMAT_IYUV {
                return SDL_UpdateYUVTexture(
                    texture, nil, base(0), pitch(0), base(1), pitch(1), base(2), pitch(2))
            }
            return SDL_UpdateNVTexture(texture, nil, base(0), pitch(0), base(1), pitch(1))
        }
        guard result == 0 else { throw SDLFailure() }
        // SDL flips before it turns.
        let flip = frame.orientation.swapsDimensions ? SDL_FLIP_VERTICAL : SDL_FLIP_HORIZONTAL
        picture = Picture(
            clockwiseDegrees: frame.orientation.clockwiseDegrees, flip: mirrors ? flip : SDL_FLIP_NONE)
        return true
    }

    /// Nil for BT.709 in full range, which SDL has not.
    private static func mode(of color: ColorDescription) -> SDL_YUV_CONVERSION_MODE? {
        switch (color.matrix, color.range) {
        case (.bt601, .limited): SDL_YUV_CONVERSION_BT601
        case (.bt709, .limited): SDL_YUV_CONVERSION_BT709
        case (.bt601, .full): SDL_YUV_CONVERSION_JPEG
        case (.bt709, .full): nil
        }
    }

    func draw(
        in rect: PixelRect,
        _ draw: (_ memory: UnsafeMutablePointer<UInt8>, _ bytesPerRow: Int) throws(CaptureError) -> Void
    ) throws {
        picture = nil
        let size = PixelSize(width: rect.width, height: rect.height)
        guard let texture = texture(SDL_PIXELFORMAT_ARGB8888, size) else { throw SDLFailure() }
        var memory: UnsafeMutableRawPointer?
        var pitch: Int32 = 0
        guard SDL_LockTexture(texture, nil, &memory, &pitch) == 0, let memory else { throw SDLFailure() }
        defer { SDL_UnlockTexture(texture) }
        try draw(memory.assumingMemoryBound(to: UInt8.self), Int(pitch))
        picture = Picture()
    }

    /// The texture of that kind, made again when it has another; nil where it cannot be made.
    private func texture(
        _ format: SDL_PixelFormatEnum, _ size: PixelSize, _ mode: SDL_YUV_CONVERSION_MODE = SDL_YUV_CONVERSION_BT601
    ) -> OpaquePointer? {
        if let texture, textureFormat == format.rawValue, textureSize == size, textureMode == mode { return texture }
        discard()
        // One for all windows; OpenGL's textures take it when they are made.
        SDL_SetYUVConversionMode(mode)
        guard
            let made = SDL_CreateTexture(
                renderer, format.rawValue, Int32(SDL_TEXTUREACCESS_STREAMING.rawValue), Int32(size.width),
                Int32(size.height))
        else { return nil }
        SDL_SetTextureScaleMode(made, SDL_ScaleModeLinear)
        // What libyuv writes for alpha does not matter.
        SDL_SetTextureBlendMode(made, SDL_BLENDMODE_NONE)
        (texture, textureFormat, textureSize, textureMode) = (made, format.rawValue, size, mode)
        return made
    }

    /// Each picture begins with black.
    func clear(around rect: PixelRect, in size: PixelSize) {}

    func present(_ rect: PixelRect) throws {
        guard let picture, let texture else { return }
        // OpenGL ES takes it when they are drawn.
        SDL_SetYUVConversionMode(textureMode)
        SDL_SetRenderDrawColor(renderer, 0, 0, 0, 255)
        SDL_RenderClear(renderer)
        // SDL turns what fills a rectangle around the middle of that.
        let isSideways = picture.clockwiseDegrees % 180 != 0
        let (width, height) = isSideways ? (rect.height, rect.width) : (rect.width, rect.height)
        var target = SDL_FRect(
            x: Float(rect.x) + Float(rect.width - width) / 2, y: Float(rect.y) + Float(rect.height - height) / 2,
            w: Float(width), h: Float(height))
        let result = SDL_RenderCopyExF(
            renderer, texture, nil, &target, Double(picture.clockwiseDegrees), nil, picture.flip)
        guard result == 0 else { throw SDLFailure() }
        SDL_RenderPresent(renderer)
        if csdl_has_lost_x_server() { throw SDLFailure() }
    }
}
