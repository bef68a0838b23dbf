import FrameProcessing
import VideoCapturing

/// Does to pictures what the settings of an output ask for. Safe to use from any thread, one call at a time.
final class FrameShaper: Sendable {
    private let settings: MediaPublisher.FrameSettings
    private let transform: FrameTransform
    private let upright = FrameProcessor()
    private let processor = FrameProcessor()
    private let fitter = FrameFitter()
    private let painter: TextPainter?

    /// - Parameters:
    ///   - settings: what becomes of the pictures.
    ///   - transform: the format of the results, nil to keep that of the frames where text can be painted on it; their color,
    ///     and whether their pixels are square.
    init(_ settings: MediaPublisher.FrameSettings, _ transform: FrameTransform) {
        self.settings = settings
        self.transform = transform
        painter = settings.overlay.flatMap { overlay in
            TextPainter.Corner(rawValue: overlay.corner.rawValue).map {
                TextPainter(overlay.text, corner: $0, sizePercent: overlay.sizePercent)
            }
        }
    }

    /// The frame as the settings want it, upright.
    func shape(_ frame: VideoFrame) throws(CaptureError) -> VideoFrame {
        var result = frame
        // Parts and aspects are those of the upright picture.
        if frame.orientation != .up { result = try upright.apply(FrameTransform(appliesOrientation: true), to: frame) }
        var transform = transform
        if painter != nil || settings.size != nil,
            !TextPainter.paints(on: transform.pixelFormat ?? result.pixelFormat)
        {
            transform.pixelFormat = .nv12
        }
        let whole = PixelRect(x: 0, y: 0, width: result.width, height: result.height)
        // The picture of another camera may be smaller.
        let part = settings.crop.flatMap { FrameShaper.intersection($0, whole) } ?? whole
        if part != whole { transform.crop = part }
        let own = PixelSize(width: part.width, height: part.height).squared(result.pixelAspect)
        let size = settings.size?.resolved(own)
        if let size {
            // A size is one of square pixels.
            transform.squaresPixels = true
            switch settings.size?.keepsAspect ?? false ? .stretch : settings.fit {
            case .stretch: transform.size = size
            case .crop:
                let middle = FrameShaper.middle(of: part, result.pixelAspect, aspect: size)
                if middle != whole { transform.crop = middle }
                transform.size = size
            case .pad: transform.size = FrameShaper.inner(own, in: size)
            }
        }
        result = try processor.apply(transform, to: result)
        if let size { result = try fitter.fit(result, width: size.width, height: size.height) }
        return try painter?.paint(result) ?? result
    }

    private static func intersection(_ part: PixelRect, _ whole: PixelRect) -> PixelRect? {
        let (right, bottom) = (min(part.x + part.width, whole.width), min(part.y + part.height, whole.height))
        guard part.x < right, part.y < bottom else { return nil }
        return PixelRect(x: part.x, y: part.y, width: right - part.x, height: bottom - part.y)
    }

    /// The largest part in the middle with the aspect of a size; even, so that chroma stays where it is.
    static func middle(of part: PixelRect, _ pixelAspect: PixelAspect = .square, aspect: PixelSize) -> PixelRect {
        var result = part
        // The aspect, in pixels of this shape.
        let (across, down) = (aspect.width * Int(pixelAspect.height), aspect.height * Int(pixelAspect.width))
        if part.width * down > part.height * across {
            result.width = max(1, min(part.width, part.height * across / down))
        } else {
            result.height = max(1, min(part.height, part.width * down / across))
        }
        result.x += (part.width - result.width) / 4 * 2
        result.y += (part.height - result.height) / 4 * 2
        return result
    }

    /// The largest size of a picture's aspect within another; even where it is not the whole side.
    static func inner(_ own: PixelSize, in size: PixelSize) -> PixelSize {
        let scale = min(Double(size.width) / Double(own.width), Double(size.height) / Double(own.height))
        func side(_ own: Int, _ limit: Int) -> Int {
            let scaled = min(limit, Int((Double(own) * scale).rounded()))
            return scaled == limit ? limit : min(limit, max(2, scaled / 2 * 2))
        }
        return PixelSize(width: side(own.width, size.width), height: side(own.height, size.height))
    }
}
