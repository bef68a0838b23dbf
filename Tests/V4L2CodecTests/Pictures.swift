import TestTools
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A frame that moves: a gradient with a bright bar on it. Made by rows, since loops over pixels are slow in a build for
/// debugging.
func movingFrame(
    _ format: PixelFormat = .nv12, _ size: PixelSize = PixelSize(width: 640, height: 480), step: Int,
    rate: FrameRate = 30
) throws -> VideoFrame {
    let buffer = try PixelBuffer.make(format, width: size.width, height: size.height) { pixels in
        var row = [UInt8](repeating: 0, count: size.width)
        for plane in 0..<format.planeCount {
            let width = format.rowBytes(ofPlane: plane, width: size.width)
            let rows = format.rows(ofPlane: plane, height: size.height)
            for column in 0..<width {
                // Lines that stay where they are: an encoder of moving pictures refers to them, so that no frame but those
                // that must be is a key frame.
                let moving = 60 + (column / 4 + step * (plane + 1)) % 100
                row[column] = UInt8(column < width / 8 ? 60 + column % 2 * 120 : moving)
            }
            pixels.withBytes(ofPlane: plane) { memory in
                let stride = memory.count / rows
                row.withUnsafeBytes { source in
                    for line in 0..<rows {
                        let target = UnsafeMutableRawBufferPointer(
                            rebasing: memory[line * stride..<line * stride + width])
                        target.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[..<width]))
                        // The bar wanders down.
                        if plane == 0, (line + step * 3) % 90 < 12 { memset(target.baseAddress!, 210, width) }
                    }
                }
            }
        }
    }
    return VideoFrame(
        buffer: buffer, timestamp: MediaTime(nanoseconds: 5_000_000_000).advanced(by: rate.time(ofFrame: Int64(step))),
        sequenceNumber: UInt64(step), color: .bt709, estimatedFrameRate: rate)
}

/// The samples of a frame without padding.
func packed(_ buffer: PixelBuffer) -> [UInt8] {
    var bytes: [UInt8] = []
    for plane in 0..<buffer.planes.count {
        for row in 0..<buffer.planes[plane].rows {
            buffer.withRow(row, ofPlane: plane) { bytes.append(contentsOf: $0) }
        }
    }
    return bytes
}

func bytes(of packet: MediaPacket) -> [UInt8] { packet.data.withUnsafeBytes { Array($0) } }

/// The mean difference of the luma of two pictures.
func lumaError(_ one: ArraySlice<UInt8>, _ other: ArraySlice<UInt8>) -> Double {
    var sum = 0
    one.withUnsafeBufferPointer { one in
        other.withUnsafeBufferPointer { other in
            for index in 0..<min(one.count, other.count) { sum += abs(Int(one[index]) - Int(other[index])) }
        }
    }
    return Double(sum) / Double(max(1, one.count))
}
