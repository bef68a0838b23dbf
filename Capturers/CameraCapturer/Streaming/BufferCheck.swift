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

/// Whether a filled buffer holds a whole picture.
enum BufferCheck {
    /// - Parameter pixelFormat: what is in the buffer; nil when it is not checked beyond its flags.
    static func damage(
        of buffer: CapturedBuffer, in stream: CaptureStream, as pixelFormat: PixelFormat?
    ) -> BufferDamage? {
        if buffer.flags & UInt32(V4L2_BUF_FLAG_ERROR) != 0 { return .flagged }
        guard let pixelFormat else { return buffer.bytesUsed[0] == 0 ? .truncated : nil }
        let format = stream.format
        if pixelFormat.isCompressed {
            let start = buffer.dataOffsets[0]
            let end = min(buffer.bytesUsed[0], stream.buffers[buffer.index].mappings[0].byteCount)
            guard end - start >= 4 else { return .truncated }
            let bytes = UnsafeRawBufferPointer(
                start: stream.buffers[buffer.index].mappings[0].address + start, count: end - start)
            return isWholeJPEG(bytes) ? nil : .noJPEG
        }
        for plane in 0..<format.memoryPlanes.count {
            let used = buffer.bytesUsed[plane] - buffer.dataOffsets[plane]
            if used < leastByteCount(of: format, plane: plane, as: pixelFormat) { return .truncated }
        }
        return nil
    }

    /// The bytes that the plane of memory must have; padding after the last row does not count.
    static func leastByteCount(of format: StreamFormat, plane: Int, as pixelFormat: PixelFormat) -> Int {
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
