import VideoCapturing

/// Makes frames of a screen's pixels: converts the parts that have changed, and scales for consumers that want fewer pixels.
///
/// For one thread at a time.
package final class ScreenFrameMaker {
    private let target: PixelFormat
    private let processor = FrameProcessor()
    private let scaler = FrameProcessor()
    private var picture: EvolvingPicture?
    /// The requests of consumers.
    package var wants = CaptureWants()

    /// - Parameter target: the format of the frames.
    package init(_ target: PixelFormat) { self.target = target }

    /// Checks the settings of a screen.
    ///
    /// - Parameters:
    ///   - pixelFormat: the format of the frames.
    ///   - region: the part that is captured; nil for all of it.
    /// - Throws: `formatUnsupported`; `invalidConfiguration` for a region without pixels, or out of range.
    package static func check(_ pixelFormat: PixelFormat, _ region: PixelRect?) throws(CaptureError) {
        guard [.nv12, .i420, .argb].contains(pixelFormat) else {
            throw CaptureError(
                .formatUnsupported, operation: "check the settings of the screen", subject: "\(pixelFormat)",
                message: "A screen is captured as NV12, I420 or ARGB; convert the frames with FrameProcessing.")
        }
        guard let region else { return }
        guard region.x >= 0, region.y >= 0, region.width > 0, region.height > 0,
            max(region.x, region.y, region.width, region.height) <= VideoFormat.maximumSide
        else {
            throw CaptureError(
                .invalidConfiguration, operation: "check the settings of the screen", subject: region.text,
                message: "A region begins at 0,0 or right and below of it, and has at least one pixel.")
        }
    }

    /// The next frame, in the size of the screen; see ``fit(_:)``.
    ///
    /// - Parameters:
    ///   - memory: the pixels; read during the call only.
    ///   - pixelFormat: how the samples lie in `memory`; red, green and blue.
    ///   - color: how the numbers in `memory` map to light.
    ///   - size: the picture's.
    ///   - damage: the parts that differ from the frame before, of whole chroma samples; nil for all of it.
    package func frame(
        _ memory: PixelBuffer.PlaneMemory, _ pixelFormat: PixelFormat, color: ColorDescription, size: PixelSize,
        damage: [PixelRect]?
    ) throws(CaptureError) -> SourceFrame {
        if picture?.format.imageWidth != size.width || picture?.format.imageHeight != size.height {
            picture = EvolvingPicture(VideoFormat(target, width: size.width, height: size.height))
        }
        let known = picture!.isEmpty ? nil : damage
        let targetColor = ColorDescription.assumed(for: target)
        let bytesPerPixel = pixelFormat.rowBytes(ofPlane: 0, width: 1)
        let buffer = try picture!.update(known) { (writer) throws(CaptureError) in
            for part in known ?? [PixelRect(x: 0, y: 0, width: size.width, height: size.height)] {
                let offset = part.y * memory.bytesPerRow + part.x * bytesPerPixel
                try processor.convert(
                    PixelBuffer.PlaneMemory(
                        base: memory.base + offset, byteCount: memory.byteCount - offset,
                        bytesPerRow: memory.bytesPerRow),
                    pixelFormat, color: color, into: part, of: writer, color: targetColor)
                if target == .argb { makeOpaque(part, of: writer) }
            }
        }
        var frame = SourceFrame(buffer)
        frame.color = targetColor
        return frame
    }

    /// The fourth byte of a screen's pixels is unused, or the translucency of a window, which a frame does not have.
    private func makeOpaque(_ part: PixelRect, of writer: borrowing PixelWriter) {
        for row in part.y..<part.y + part.height {
            writer.withRow(row, ofPlane: 0) { bytes in
                for column in part.x..<part.x + part.width { bytes[column * 4] = 255 }
            }
        }
    }

    /// The size that consumers want of a picture.
    package func adaptedSize(_ size: PixelSize) -> PixelSize {
        let adapted = wants.adaptedSize(width: size.width, height: size.height)
        return PixelSize(width: adapted.width, height: adapted.height)
    }

    /// Scales a frame where consumers want fewer pixels.
    package func fit(_ frame: SourceFrame) throws(CaptureError) -> SourceFrame {
        let own = PixelSize(width: frame.buffer.width, height: frame.buffer.height)
        let size = adaptedSize(own)
        guard size != own else { return frame }
        let scaled = try scaler.scale(
            VideoFrame(
                buffer: frame.buffer, timestamp: frame.timestamp ?? .zero, color: frame.color, damage: frame.damage),
            width: size.width, height: size.height)
        var result = frame
        result.buffer = scaled.buffer
        result.damage = scaled.damage
        return result
    }
}

extension [PixelRect] {
    /// These parts in the coordinates of a picture that begins at `crop`, widened to whole chroma samples; without those
    /// outside of it.
    package func parts(of size: PixelSize, from crop: PixelRect? = nil) -> [PixelRect] {
        compactMap { rect in
            PixelRect(x: rect.x - (crop?.x ?? 0), y: rect.y - (crop?.y ?? 0), width: rect.width, height: rect.height)
                .widened(in: size)
        }
    }
}

extension PixelRect {
    /// The part in a picture of this size, widened to whole chroma samples; nil outside of it.
    package func widened(in size: PixelSize) -> PixelRect? {
        guard let inside = clipped(to: PixelRect(x: 0, y: 0, width: size.width, height: size.height)) else {
            return nil
        }
        let (left, top) = (inside.x / 2 * 2, inside.y / 2 * 2)
        let right = min(size.width, (inside.x + inside.width + 1) / 2 * 2)
        let bottom = min(size.height, (inside.y + inside.height + 1) / 2 * 2)
        return PixelRect(x: left, y: top, width: right - left, height: bottom - top)
    }

    /// For display: `10,20,640x480`.
    package var text: String { "\(x),\(y),\(width)x\(height)" }

    /// The part that lies in another one; nil when there is no such part.
    package func clipped(to other: PixelRect) -> PixelRect? {
        let (left, top) = (max(x, other.x), max(y, other.y))
        let right = min(x + width, other.x + other.width)
        let bottom = min(y + height, other.y + other.height)
        return left < right && top < bottom
            ? PixelRect(x: left, y: top, width: right - left, height: bottom - top) : nil
    }
}
