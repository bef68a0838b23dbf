import CLibV4L2
import VideoCapturing

/// Why a filled buffer is no picture.
enum BufferDamage: Hashable {
    /// The driver says so (`V4L2_BUF_FLAG_ERROR`).
    case flagged
    /// There are fewer bytes than a picture has.
    case truncated
    /// The bytes are not one whole JPEG picture.
    case noJPEG
}

/// Tells whether a filled buffer holds a whole picture. One for each stream.
struct BufferCheck {
    /// What is in the buffers; nil when it is not checked beyond its flags.
    private let pixelFormat: PixelFormat?
    /// What each plane of memory must have; nothing for compressed formats.
    private let leastByteCounts: PlaneNumbers

    /// - Parameter pixelFormat: what is in the buffers; nil when it is not to be checked beyond its flags.
    init(_ format: StreamFormat, pixelFormat: PixelFormat?) {
        self.pixelFormat = pixelFormat
        var least = PlaneNumbers.zero
        if let pixelFormat, !pixelFormat.isCompressed {
            for plane in 0..<format.memoryPlanes.count {
                least[plane] = UInt32(clamping: BufferCheck.leastByteCount(of: format, plane: plane, as: pixelFormat))
            }
        }
        leastByteCounts = least
    }

    /// Why the buffer is no picture; nil when it is one.
    func damage(of buffer: CapturedBuffer, in stream: CaptureStream) -> BufferDamage? {
        if buffer.flags & UInt32(V4L2_BUF_FLAG_ERROR) != 0 { return .flagged }
        guard let pixelFormat else { return buffer.bytesUsed[0] == 0 ? .truncated : nil }
        if pixelFormat.isCompressed { return BufferCheck.damageOfJPEG(buffer, in: stream) }
        let (used, offsets) = (buffer.bytesUsed, buffer.dataOffsets)
        return any(used .< offsets) || any(used &- offsets .< leastByteCounts) ? .truncated : nil
    }

    private static func damageOfJPEG(_ buffer: CapturedBuffer, in stream: CaptureStream) -> BufferDamage? {
        let mapping = stream.buffers[buffer.index].mappings[0]
        let start = Int(buffer.dataOffsets[0])
        let end = min(Int(buffer.bytesUsed[0]), mapping.byteCount)
        guard end - start >= 4 else { return .truncated }
        let bytes = UnsafeRawBufferPointer(start: mapping.address + start, count: end - start)
        return isWholeJPEG(bytes) ? nil : .noJPEG
    }

    /// The bytes that the plane of memory must have; padding after the last row does not count.
    private static func leastByteCount(of format: StreamFormat, plane: Int, as pixelFormat: PixelFormat) -> Int {
        let stride = format.memoryPlanes[plane].bytesPerRow
        func least(_ plane: Int, stride: Int) -> Int {
            Plane.leastByteCount(
                rowBytes: pixelFormat.rowBytes(ofPlane: plane, width: format.width), bytesPerRow: stride,
                rows: pixelFormat.rows(ofPlane: plane, height: format.height))
        }
        guard format.memoryPlanes.count == 1 else { return least(plane, stride: stride) }
        let planeCount = pixelFormat.planeCount
        var total = 0
        for index in 0..<planeCount {
            let stride = index > 0 && planeCount == 3 ? stride / 2 : stride
            let isLast = index == planeCount - 1
            total +=
                isLast ? least(index, stride: stride) : stride * pixelFormat.rows(ofPlane: index, height: format.height)
        }
        return total
    }

    /// Begins with SOI, and EOI is among the last bytes: some cameras fill up their packets after it. Neither a cut
    /// picture nor one with a hole ends so, since within the data every 0xFF is followed by a zero.
    private static func isWholeJPEG(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes[0] == 0xFF, bytes[1] == 0xD8 else { return false }
        var end = bytes.count
        let limit = max(4, bytes.count - 4096)
        while end >= limit {
            if bytes[end - 1] == 0xD9, bytes[end - 2] == 0xFF { return true }
            end -= 1
        }
        return false
    }
}
