import H264Bitstream
import H264Codec
import VideoCapturing

/// A frame that shows its number: 16 bits as blocks of light and dark, over a gradient that moves.
func numberedFrame(
    _ format: PixelFormat = .i420, width: Int = 320, height: Int = 240, number: Int, rate: FrameRate = 30,
    color: ColorDescription = .bt601
) throws -> VideoFrame {
    let buffer = try PixelBuffer.make(format, width: width, height: height) { pixels in
        pixels.fill(plane: 0) { x, y in
            if y < 16 { return number >> (x * 16 / width) & 1 == 1 ? 220 : 30 }
            return UInt8(60 + (x + y / 2 + number * 3) % 90)
        }
        if format == .nv12 {
            pixels.fill(plane: 1) { x, y in x % 2 == 0 ? UInt8(90 + y % 40) : UInt8(120 + x / 2 % 30) }
        } else {
            pixels.fill(plane: 1) { _, y in UInt8(90 + y % 40) }
            pixels.fill(plane: 2) { x, _ in UInt8(120 + x % 30) }
        }
    }
    return VideoFrame(
        buffer: buffer,
        timestamp: MediaTime(nanoseconds: 7_000_000_000).advanced(by: rate.time(ofFrame: Int64(number))),
        sequenceNumber: UInt64(number), color: color, estimatedFrameRate: rate)
}

/// The number that a frame shows.
func shownNumber(_ buffer: PixelBuffer) -> Int {
    buffer.withRow(8, ofPlane: 0) { row in
        (0..<16).reduce(0) { $0 | (row[(2 * $1 + 1) * buffer.width / 32] > 125 ? 1 << $1 : 0) }
    }
}

/// The bytes of a packet.
func bytes(_ packet: MediaPacket) -> [UInt8] { packet.data.withUnsafeBytes { Array($0) } }

/// The kinds of a byte stream's NAL units.
func unitTypes(_ bytes: [UInt8]) -> [UInt8] {
    bytes.withUnsafeBytes { AnnexB.units(in: $0).map(\.type.rawValue) }
}

/// The sequence parameter set of a byte stream.
func parameterSet(_ bytes: [UInt8]) throws -> SequenceParameterSet? {
    try bytes.withUnsafeBytes { bytes in
        for unit in AnnexB.units(in: bytes) where unit.type == .sps { return try SequenceParameterSet(unit) }
        return nil
    }
}

/// The mean difference of two pictures' samples.
func difference(_ first: PixelBuffer, _ second: PixelBuffer, plane: Int, chroma: Int? = nil) -> Double {
    var sum = 0
    var count = 0
    for row in 0..<second.planes[plane].rows {
        // `chroma`: 0 for U, 1 for V of an NV12 picture.
        first.withRow(row, ofPlane: chroma == nil ? plane : 1) { one in
            second.withRow(row, ofPlane: plane) { two in
                for column in two.indices {
                    let sample = chroma.map { one[2 * column + $0] } ?? one[column]
                    sum += abs(Int(sample) - Int(two[column]))
                    count += 1
                }
            }
        }
    }
    return Double(sum) / Double(count)
}

/// All frames encoded.
func encode(_ frames: [VideoFrame], _ configuration: H264Encoder.Configuration) throws -> [MediaPacket] {
    let encoder = try H264Encoder(configuration)
    var packets: [MediaPacket] = []
    for frame in frames { try encoder.encode(frame) { packets.append($0) } }
    return packets
}
