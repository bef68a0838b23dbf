import VideoCapturing

/// A picture that moves: a gradient with a bright square on it, both shifted by `step`.
func movingPicture(_ format: PixelFormat, width: Int, height: Int, step: Int) throws -> PixelBuffer {
    func luma(_ x: Int, _ y: Int) -> UInt8 {
        let inSquare = (x - step * 2 + 1024) % 32 < 10 && (y + step) % 24 < 10
        return inSquare ? 220 : UInt8(40 + (x * 2 + y + step) % 120)
    }
    func blue(_ x: Int, _ y: Int) -> UInt8 { UInt8(100 + (x + step) % 50) }
    func red(_ x: Int, _ y: Int) -> UInt8 { UInt8(110 + (y + step) % 40) }
    return try PixelBuffer.make(format, width: width, height: height) { pixels in
        pixels.fill(plane: 0, luma)
        if format == .nv12 {
            pixels.fill(plane: 1) { x, y in x % 2 == 0 ? blue(x / 2, y) : red(x / 2, y) }
        } else {
            pixels.fill(plane: 1, blue)
            pixels.fill(plane: 2, red)
        }
    }
}

func movingFrame(
    _ format: PixelFormat = .i420, width: Int, height: Int, step: Int, rate: FrameRate = 30
) throws -> VideoFrame {
    VideoFrame(
        buffer: try movingPicture(format, width: width, height: height, step: step),
        timestamp: MediaTime(nanoseconds: 5_000_000_000).advanced(by: rate.time(ofFrame: Int64(step))),
        sequenceNumber: UInt64(step), estimatedFrameRate: rate)
}

/// The bytes of a packet.
func bytes(_ packet: MediaPacket) -> [UInt8] {
    packet.data.withUnsafeBytes { Array($0) }
}

/// The peak signal-to-noise ratio of the luma, in dB.
func lumaPSNR(_ first: PixelBuffer, _ second: PixelBuffer) -> Double {
    var sum = 0.0
    for row in 0..<first.height {
        first.withRow(row, ofPlane: 0) { one in
            second.withRow(row, ofPlane: 0) { two in
                for column in 0..<first.width {
                    let difference = Double(one[column]) - Double(two[column])
                    sum += difference * difference
                }
            }
        }
    }
    let mean = sum / Double(first.width * first.height)
    return mean == 0 ? 100 : 10 * FloatLogarithm.base10(255 * 255 / mean)
}

#if canImport(Glibc)
    import Glibc
#endif

enum FloatLogarithm {
    static func base10(_ value: Double) -> Double { log10(value) }
}
