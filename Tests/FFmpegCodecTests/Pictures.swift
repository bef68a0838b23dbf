import TestTools
import VideoCapturing

/// A frame that moves: a gradient with a bright square on it.
func movingFrame(
    _ format: PixelFormat = .nv12, width: Int = 160, height: Int = 96, step: Int, rate: FrameRate = 30
) throws -> VideoFrame {
    let buffer = try PixelBuffer.make(format, width: width, height: height) { pixels in
        pixels.fill(plane: 0) { x, y in
            let isInSquare = (x - step * 2 + 4096) % 32 < 10 && (y + step) % 24 < 10
            return isInSquare ? 220 : UInt8(40 + (x * 2 + y + step) % 120)
        }
        for plane in 1..<(format == .nv12 ? 2 : 3) {
            pixels.fill(plane: plane) { x, y in UInt8(100 + (x + y + step) % 50) }
        }
    }
    return VideoFrame(
        buffer: buffer, timestamp: MediaTime(nanoseconds: 5_000_000_000).advanced(by: rate.time(ofFrame: Int64(step))),
        sequenceNumber: UInt64(step), estimatedFrameRate: rate)
}

/// The packets of an encoder.
func encode(
    _ encoder: some VideoEncoder, _ frames: [VideoFrame], before: (Int) throws -> Void = { _ in }
) throws -> [MediaPacket] {
    var packets: [MediaPacket] = []
    for (index, frame) in frames.enumerated() {
        try before(index)
        try encoder.encode(frame) { packets.append($0) }
    }
    return packets
}

func bytes(of packet: MediaPacket) -> [UInt8] { packet.data.withUnsafeBytes { Array($0) } }

/// What ffmpeg decodes of packets: the luma of each frame.
func decode(_ packets: [MediaPacket], as format: String, width: Int, height: Int) throws -> [[UInt8]] {
    let folder = TemporaryFolder()
    try folder.write(packets.flatMap(bytes(of:)), to: "a")
    let decoded = try run(
        "ffmpeg",
        [
            "-nostdin", "-v", "error", "-f", format, "-i", folder.file("a"), "-vsync", "passthrough", "-f", "rawvideo",
            "-pix_fmt", "yuv420p", "-",
        ])
    return stride(from: 0, to: decoded.count, by: width * height * 3 / 2).map {
        Array(decoded[$0..<min(decoded.count, $0 + width * height)])
    }
}

/// The mean difference of the luma of a frame and what was decoded of it.
func lumaError(_ frame: VideoFrame, _ decoded: [UInt8]) -> Double {
    var sum = 0
    for row in 0..<frame.height {
        frame.buffer.withRow(row, ofPlane: 0) { bytes in
            for column in 0..<frame.width {
                sum += abs(Int(bytes[column]) - Int(decoded[row * frame.width + column]))
            }
        }
    }
    return Double(sum) / Double(frame.width * frame.height)
}
