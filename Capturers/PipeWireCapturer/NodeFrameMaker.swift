import FrameProcessing
import PipeWireSupport
import VideoCapturing

/// Makes frames of a stream's buffers: lends the memory, copies or converts it. Confined to the capture thread.
final class NodeFrameMaker {
    private let target: PixelFormat
    private let processor = FrameProcessor()
    private let pool = PixelBufferPool()
    private let screen: ScreenFrameMaker
    /// The requests of consumers.
    var wants: CaptureWants {
        get { screen.wants }
        set { screen.wants = newValue }
    }
    /// Whether the next frame states no damage, because the frame before is not known.
    private var isWholeDue = true
    private var lastSize: PixelSize?

    /// - Parameter target: the format of the frames, unless consumers take the node's.
    init(_ target: PixelFormat) {
        self.target = target
        screen = ScreenFrameMaker(target)
    }

    /// The frame after this call has no damage.
    func invalidate() { isWholeDue = true }

    /// Makes the frame of an arrival in its size (``fit(_:)``), whose buffer is the producer's again afterwards or lent.
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
        let damage = isWhole ? nil : arrival.damage.map { $0.parts(of: size, from: arrival.crop) }
        var frame: SourceFrame
        if format.pixelFormat.isRGB {
            let bytesPerPixel = format.pixelFormat.rowBytes(ofPlane: 0, width: 1)
            let plane = pixels.planes[0]
            let offset = (arrival.crop?.y ?? 0) * plane.bytesPerRow + (arrival.crop?.x ?? 0) * bytesPerPixel
            frame = try pixels.withUnsafePlanes { (planes) throws(CaptureError) in
                try screen.frame(
                    PixelBuffer.PlaneMemory(
                        base: planes[0] + offset, byteCount: plane.byteCount - offset, bytesPerRow: plane.bytesPerRow),
                    format.pixelFormat, color: format.color, size: size, damage: damage)
            }
        } else if arrival.crop == nil, format.pixelFormat == target || wants.acceptsNativeFormat {
            if arrival.buffer.isLendable, stream.canLend, screen.adaptedSize(size) == size {
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
        return frame
    }

    /// Scales a frame where consumers want fewer pixels.
    func fit(_ frame: SourceFrame) throws(CaptureError) -> SourceFrame { try screen.fit(frame) }
}
