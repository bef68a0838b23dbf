import VideoCapturing

/// Brings frames to one size where a file or a viewer needs that, though the capture may change its own: a window that
/// is made larger, a camera that returns in another mode.
///
/// The picture keeps its aspect and lies in the middle, with black around it. It is made smaller if necessary, and
/// never larger. `Sendable` without a lock: its members are safe to share.
package final class FrameFitter: Sendable {
    private let processor = FrameProcessor()
    private let pool = PixelBufferPool()
    private let black = Locked<(buffer: PixelBuffer, color: ColorDescription)?>(nil)
    private let filter: FrameTransform.Filter

    /// - Parameter filter: how pixels are mixed when a frame is made smaller.
    package init(filter: FrameTransform.Filter = .box) {
        self.filter = filter
    }

    /// The frame as a picture of the given size; the very same where it has it already.
    ///
    /// - Parameters:
    ///   - frame: the frame.
    ///   - width: the width of the result in pixels.
    ///   - height: the height of the result in pixels.
    ///   - pixelAspect: the shape of the result's pixels; nil for that of the frame's.
    /// - Throws: `invalidConfiguration` for a size out of range, `formatUnsupported` for compressed frames,
    ///   `outOfMemory`.
    package func fit(
        _ frame: VideoFrame, width: Int, height: Int, pixelAspect: PixelAspect? = nil
    ) throws(CaptureError) -> VideoFrame {
        let aspect = pixelAspect ?? frame.pixelAspect
        guard frame.width != width || frame.height != height || frame.pixelAspect != aspect else { return frame }
        var result = frame
        result.pixelAspect = aspect
        // Damage next to the last picture means nothing here.
        result.damage = nil
        let inner = FrameFitter.size(of: frame, aspect, within: PixelSize(width: width, height: height))
        if inner.width != frame.width || inner.height != frame.height {
            result = try processor.scale(result, width: inner.width, height: inner.height, filter: filter)
        }
        let background = try background(result.pixelFormat, width, height, frame.color)
        // Even, so that no chroma sample is cut.
        let place = PixelRect(
            x: (width - inner.width) / 4 * 2, y: (height - inner.height) / 4 * 2, width: inner.width,
            height: inner.height)
        let picture = result.buffer
        result.compressed = nil
        result.buffer = try pool.makePicture(result.pixelFormat, PixelSize(width: width, height: height)) {
            (target) throws(CaptureError) in
            try background.withPicture { $0.copy(into: target) }
            try picture.withPicture { $0.copy(into: MutablePicture(picture: target.picture.cropped(to: place))) }
        }
        return result
    }

    /// The largest size of the frame's aspect that lies within the other, at most its own; even where it is not the
    /// whole side, as chroma needs it.
    private static func size(of frame: VideoFrame, _ aspect: PixelAspect, within size: PixelSize) -> PixelSize {
        // Of pixels of another shape fewer are as wide.
        let width = Double(frame.width) * frame.pixelAspect.ratio / aspect.ratio
        let scale = min(1, Double(size.width) / width, Double(size.height) / Double(frame.height))
        func side(_ own: Double, _ limit: Int) -> Int {
            let scaled = min(limit, Int((own * scale).rounded()))
            return scaled == limit ? limit : min(limit, max(2, scaled / 2 * 2))
        }
        return PixelSize(width: side(width, size.width), height: side(Double(frame.height), size.height))
    }

    private func background(
        _ format: PixelFormat, _ width: Int, _ height: Int, _ color: ColorDescription
    ) throws(CaptureError) -> PixelBuffer {
        let kept = black.withLock { $0 }
        if let kept, kept.color == color, kept.buffer.pixelFormat == format, kept.buffer.width == width,
            kept.buffer.height == height
        {
            return kept.buffer
        }
        let made = try PixelBuffer.black(format, width: width, height: height, color: color)
        black.withLock { $0 = (made, color) }
        return made
    }
}
