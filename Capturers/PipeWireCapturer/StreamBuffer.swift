import CPipeWire
import PipeWireSupport
import VideoCapturing

/// One buffer of a stream, with the pixels that lie in it. Confined to the capture thread.
final class StreamBuffer {
    /// What the library calls the buffer.
    let handle: UnsafeMutablePointer<pw_buffer>
    /// The memory of each piece; nil where only the library can map it, for as long as it has the buffer.
    private let mappings: [BufferMapping?]
    /// Whether a delivered frame lies in it.
    var isLent = false

    private struct Layout: Hashable {
        var format: PipeWireFormat
        var offsets: [UInt32]
        var strides: [Int32]
        var sizes: [UInt32]
    }
    private var pixels: PixelBuffer?
    private var layout: Layout?

    init(_ handle: UnsafeMutablePointer<pw_buffer>) {
        self.handle = handle
        mappings = StreamBuffer.pieces(handle).map { BufferMapping($0) }
    }

    /// Whether frames can lie in the memory for longer than the stream has the buffer.
    var isLendable: Bool { !mappings.isEmpty && mappings.allSatisfy { $0 != nil } }

    /// Whether the frame that it was lent to was released.
    func isReleased() -> Bool { PixelBuffer.isReusable(&pixels) }

    /// The pixels of the frame that is in the buffer now; nil when they are not all there.
    func pixelBuffer(_ format: PipeWireFormat) -> PixelBuffer? {
        let pieces = StreamBuffer.pieces(handle)
        // Read once: the memory is shared with the program that fills it.
        let chunks = pieces.compactMap { $0.chunk?.pointee }
        guard chunks.count == pieces.count else { return nil }
        let now = Layout(
            format: format, offsets: chunks.map(\.offset), strides: chunks.map(\.stride), sizes: chunks.map(\.size))
        if layout == now, let pixels { return pixels }
        guard let planes = planes(format, pieces, chunks) else { return nil }
        layout = now
        pixels = try? PixelBuffer(
            wrapping: planes, as: format.pixelFormat, width: format.size.width, height: format.size.height,
            release: { [mappings] in withExtendedLifetime(mappings) {} })
        return pixels
    }

    private func planes(
        _ format: PipeWireFormat, _ pieces: [spa_data], _ chunks: [spa_chunk]
    ) -> PlaneList<PixelBuffer.PlaneMemory>? {
        let pixelFormat = format.pixelFormat
        var planes = PlaneList<PixelBuffer.PlaneMemory>()
        func memory(_ index: Int) -> (base: UnsafeRawPointer, room: Int)? {
            let start = mappings[index]?.address ?? pieces[index].data.map { UnsafeRawPointer($0) }
            let offset = Int(chunks[index].offset)
            guard let start, offset < Int(pieces[index].maxsize) else { return nil }
            return (start + offset, min(Int(pieces[index].maxsize) - offset, Int(chunks[index].size)))
        }
        if pieces.count > 1 {
            guard pieces.count == pixelFormat.planeCount else { return nil }
            for plane in pieces.indices {
                guard let (base, room) = memory(plane) else { return nil }
                let row = pixelFormat.rowBytes(ofPlane: plane, width: format.size.width)
                let stride = chunks[plane].stride == 0 ? row : Int(chunks[plane].stride)
                planes.append(PixelBuffer.PlaneMemory(base: base, byteCount: room, bytesPerRow: stride))
            }
            return planes
        }
        guard pieces.count == 1, chunks[0].stride >= 0, let (base, room) = memory(0) else { return nil }
        let row = pixelFormat.rowBytes(ofPlane: 0, width: format.size.width)
        var stride = Int(chunks[0].stride)
        if stride == 0 {
            // GStreamer states none, and rounds up to four bytes.
            let packed = PipeWireFormat.layout(stride: row, pixelFormat, format.size).byteCount
            stride = room <= packed ? row : (row + 3) / 4 * 4
        }
        for (offset, own) in PipeWireFormat.layout(stride: stride, pixelFormat, format.size).planes {
            guard offset < room else { return nil }
            planes.append(PixelBuffer.PlaneMemory(base: base + offset, byteCount: room - offset, bytesPerRow: own))
        }
        return planes
    }

    /// The pieces of memory of a buffer, at most as many as a frame has planes.
    static func pieces(_ handle: UnsafeMutablePointer<pw_buffer>) -> [spa_data] {
        guard let buffer = handle.pointee.buffer?.pointee, let datas = buffer.datas else { return [] }
        return Array(UnsafeBufferPointer(start: datas, count: Int(min(buffer.n_datas, 3))))
    }
}
