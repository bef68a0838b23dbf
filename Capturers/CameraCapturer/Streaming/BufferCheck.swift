import CLibV4L2
import V4L2Support
import VideoCapturing

/// Why a filled buffer does not hold a frame.
enum BufferDamage: Hashable {
    /// The driver has marked it (`V4L2_BUF_FLAG_ERROR`).
    case flagged
    /// There are fewer bytes than a frame has.
    case truncated
    /// The bytes are not one complete JPEG image.
    case noJPEG
}

/// Checks whether a filled buffer holds a complete frame. One for each stream.
struct BufferCheck {
    /// The format of the buffers; nil when only the flags are checked.
    private let pixelFormat: PixelFormat?
    /// The minimum for each plane of memory; zero for compressed formats.
    private let minimumByteCounts: PlaneNumbers

    /// - Parameter pixelFormat: the format of the buffers; nil when only the flags are checked.
    init(_ format: StreamFormat, pixelFormat: PixelFormat?) {
        self.pixelFormat = pixelFormat
        var minimum = PlaneNumbers.zero
        if let pixelFormat, !pixelFormat.isCompressed {
            for plane in 0..<format.memoryPlanes.count {
                minimum[plane] = UInt32(
                    clamping: BufferCheck.minimumByteCount(of: format, plane: plane, as: pixelFormat))
            }
        }
        minimumByteCounts = minimum
    }

    /// The damage of the buffer; nil when it holds a frame.
    func damage(of buffer: CapturedBuffer, in stream: CaptureStream) -> BufferDamage? {
        if buffer.flags & UInt32(V4L2_BUF_FLAG_ERROR) != 0 { return .flagged }
        guard let pixelFormat else { return buffer.bytesUsed[0] == 0 ? .truncated : nil }
        if pixelFormat.isCompressed { return BufferCheck.damageOfJPEG(buffer, in: stream) }
        let (used, offsets) = (buffer.bytesUsed, buffer.dataOffsets)
        return any(used .< offsets) || any(used &- offsets .< minimumByteCounts) ? .truncated : nil
    }

    private static func damageOfJPEG(_ buffer: CapturedBuffer, in stream: CaptureStream) -> BufferDamage? {
        let mapping = stream.buffers[buffer.index].mappings[0]
        let start = Int(buffer.dataOffsets[0])
        let end = min(Int(buffer.bytesUsed[0]), mapping.byteCount)
        guard end - start >= 4 else { return .truncated }
        let bytes = UnsafeRawBufferPointer(start: mapping.address + start, count: end - start)
        return isWholeJPEG(bytes) ? nil : .noJPEG
    }

    /// The minimum bytes of the plane of memory; padding after the last row does not count.
    private static func minimumByteCount(of format: StreamFormat, plane: Int, as pixelFormat: PixelFormat) -> Int {
        let stride = format.memoryPlanes[plane].bytesPerRow
        func minimum(_ plane: Int, stride: Int) -> Int {
            PixelBuffer.Plane.minimumByteCount(
                rowBytes: pixelFormat.rowBytes(ofPlane: plane, width: format.width), bytesPerRow: stride,
                rows: pixelFormat.rows(ofPlane: plane, height: format.height))
        }
        guard format.memoryPlanes.count == 1 else { return minimum(plane, stride: stride) }
        let planeCount = pixelFormat.planeCount
        var total = 0
        for index in 0..<planeCount {
            let stride = index > 0 && planeCount == 3 ? stride / 2 : stride
            let isLast = index == planeCount - 1
            total +=
                isLast
                ? minimum(index, stride: stride) : stride * pixelFormat.rows(ofPlane: index, height: format.height)
        }
        return total
    }

    /// Whether the bytes begin with SOI, and EOI is among the last ones: some cameras pad their packets after it.
    /// Neither a truncated image nor one with a gap ends so, since within the data every 0xFF is followed by a zero.
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
