import FrameProcessing
import PipeWireSupport
import VideoCapturing

/// Makes frames of a stream's buffers: lends the memory, copies or converts it. Confined to the capture thread.
final class NodeFrameMaker {
    private let target: PixelFormat
    private let processor = FrameProcessor()
    private let scaler = FrameProcessor()
    private let pool = PixelBufferPool()
    private var picture: EvolvingPicture?
    /// The requests of consumers.
    var wants = CaptureWants()
    /// Whether the next frame states no damage, because the frame before is not known.
    private var isWholeDue = true
    private var lastSize: PixelSize?

    /// - Parameter target: the format of the frames, unless consumers take the node's.
    init(_ target: PixelFormat) { self.target = target }

    /// The frame after this call has no damage.
    func invalidate() { isWholeDue = true }

    /// Makes the frame of an arrival, whose buffer is the producer's again afterwards or lent.
    ///
    /// - Returns: nil when its pixels are not all there.
    func frame(
        _ arrival: NodeStream.Arrival, _ format: PipeWireFormat, _ stream: NodeStream
    ) throws(CaptureError) -> SourceFrame? {
        var isLent = false
        defer { if !isLent { stream.requeue(arrival.buffer) } }
        guard let pixels = arrival.buffer.pixelBuffer(format) else { return nil }
        let size = arrival.crop.map { PixelSize(width: $0.width, height: $0.height) } ?? format.size
        let isWhole = isWholeDue || size != lastSize
        let damage = isWhole ? nil : arrival.damage.map { parts(of: $0, arrival.crop, size) }
        var frame: SourceFrame
        if format.pixelFormat.isRGB {
            frame = try evolve(pixels, format, arrival.crop, size, damage)
        } else if arrival.crop == nil, format.pixelFormat == target || wants.acceptsNativeFormat {
            if arrival.buffer.isLendable, stream.canLend, wants.adaptedSize(size) == size {
                isLent = true
                arrival.buffer.isLent = true
                frame = SourceFrame(pixels)
            } else {
                frame = SourceFrame(try pool.makeCopy(of: pixels))
            }
            frame.color = format.color
        } else {
            let (converted, color) = try processor.apply(
                FrameTransform(crop: arrival.crop.flatMap { $0.widened(in: format.size) }, pixelFormat: target),
                to: pixels, color: format.color)
            frame = SourceFrame(converted)
            frame.color = color
        }
        isWholeDue = false
        lastSize = size
        frame.timestamp = arrival.timestamp
        frame.damage = damage
        return try fit(frame)
    }

    /// Converts the parts of an RGB picture that have changed.
    private func evolve(
        _ pixels: PixelBuffer, _ format: PipeWireFormat, _ crop: PixelRect?, _ size: PixelSize, _ damage: [PixelRect]?
    ) throws(CaptureError) -> SourceFrame {
        if picture?.format.imageWidth != size.width || picture?.format.imageHeight != size.height {
            picture = EvolvingPicture(VideoFormat(target, width: size.width, height: size.height))
        }
        let known = picture!.isEmpty ? nil : damage
        let parts = known ?? [PixelRect(x: 0, y: 0, width: size.width, height: size.height)]
        let color = ColorDescription.assumed(for: target)
        let bytesPerPixel = format.pixelFormat.rowBytes(ofPlane: 0, width: 1)
        let stride = pixels.planes[0].bytesPerRow
        let buffer = try picture!.update(known) { (writer) throws(CaptureError) in
            try pixels.withUnsafePlanes { (planes) throws(CaptureError) in
                for part in parts {
                    let offset =
                        (part.y + (crop?.y ?? 0)) * stride + (part.x + (crop?.x ?? 0)) * bytesPerPixel
                    let memory = PixelBuffer.PlaneMemory(
                        base: planes[0] + offset, byteCount: pixels.planes[0].byteCount - offset, bytesPerRow: stride)
                    try processor.convert(
                        memory, format.pixelFormat, color: format.color, into: part, of: writer, color: color)
                    if target == .argb { makeOpaque(part, of: writer) }
                }
            }
        }
        var frame = SourceFrame(buffer)
        frame.color = color
        return frame
    }

    /// The fourth byte of a node's pixels is unused, or the translucency of a window, which a frame does not have.
    private func makeOpaque(_ part: PixelRect, of writer: borrowing PixelWriter) {
        for row in part.y..<part.y + part.height {
            writer.withRow(row, ofPlane: 0) { bytes in
                for column in part.x..<part.x + part.width { bytes[column * 4] = 255 }
            }
        }
    }

    /// Changed parts in the coordinates of the picture, of whole chroma samples.
    private func parts(of damage: [PixelRect], _ crop: PixelRect?, _ size: PixelSize) -> [PixelRect] {
        damage.compactMap { rect in
            PixelRect(x: rect.x - (crop?.x ?? 0), y: rect.y - (crop?.y ?? 0), width: rect.width, height: rect.height)
                .widened(in: size)
        }
    }

    /// Scales a frame where consumers want fewer pixels.
    private func fit(_ frame: SourceFrame) throws(CaptureError) -> SourceFrame {
        let own = PixelSize(width: frame.buffer.width, height: frame.buffer.height)
        let size = wants.adaptedSize(own)
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

extension CaptureWants {
    fileprivate func adaptedSize(_ size: PixelSize) -> PixelSize {
        let adapted = adaptedSize(width: size.width, height: size.height)
        return PixelSize(width: adapted.width, height: adapted.height)
    }
}

extension PixelRect {
    /// The part in a picture of this size, widened to whole chroma samples; nil outside of it.
    fileprivate func widened(in size: PixelSize) -> PixelRect? {
        guard let inside = clipped(to: PixelRect(x: 0, y: 0, width: size.width, height: size.height)) else {
            return nil
        }
        let (left, top) = (inside.x / 2 * 2, inside.y / 2 * 2)
        let right = min(size.width, (inside.x + inside.width + 1) / 2 * 2)
        let bottom = min(size.height, (inside.y + inside.height + 1) / 2 * 2)
        return PixelRect(x: left, y: top, width: right - left, height: bottom - top)
    }
}
