import VP8Codec
import VideoCapturing

/// A screen full of glyph-like patterns, dark on light, with a square window that may be moved over it.
struct TextScreen {
    let width: Int
    let height: Int
    private let text: [UInt8]
    private var window = PixelRect(x: 0, y: 0, width: 0, height: 0)

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        var state: UInt32 = 12345
        // Glyphs of 5 × 7 in cells of 6 × 9.
        let columns = width / 6 + 1
        let glyphs = (0..<columns * (height / 9 + 1)).map { _ in
            state = state &* 1_664_525 &+ 1_013_904_223
            return UInt64(state) << 8 ^ UInt64(state >> 7)
        }
        var text = [UInt8](repeating: 230, count: width * height)
        for y in 0..<height where y % 9 < 7 {
            for x in 0..<width where x % 6 < 5 {
                let glyph = glyphs[y / 9 * columns + x / 6]
                if glyph >> UInt64(y % 9 * 5 + x % 6) & 1 == 1 { text[y * width + x] = 30 }
            }
        }
        self.text = text
    }

    /// Moves the window; gives what that has changed.
    mutating func moveWindow(toX x: Int, y: Int, size: Int) -> [PixelRect] {
        defer { window = PixelRect(x: x, y: y, width: size, height: size) }
        return [window, PixelRect(x: x, y: y, width: size, height: size)].filter { $0.width > 0 }
    }

    var buffer: PixelBuffer {
        get throws {
            var luma = text
            for y in max(0, window.y)..<max(0, min(height, window.y + window.height)) {
                for x in max(0, window.x)..<max(0, min(width, window.x + window.width)) {
                    luma[y * width + x] = UInt8(60 + ((x - window.x) * 5 ^ (y - window.y) * 3) & 127)
                }
            }
            return try PixelBuffer.make(.i420, width: width, height: height) { pixels in
                for row in 0..<height {
                    pixels.withRow(row, ofPlane: 0) { bytes in
                        luma.withUnsafeBytes { all in
                            bytes.copyMemory(
                                from: UnsafeRawBufferPointer(rebasing: all[row * width..<(row + 1) * width]))
                        }
                    }
                }
                pixels.fill(plane: 1, with: 128)
                pixels.fill(plane: 2, with: 128)
            }
        }
    }
}

/// An encoder and a decoder of its packets, with a clock that the test moves.
final class ScreenSession {
    let encoder: VP8Encoder
    private(set) var packets: [MediaPacket] = []
    private(set) var picture: PixelBuffer?
    private let decoder: VP8Decoder
    private var time = MediaTime(nanoseconds: 5_000_000_000)
    private var number: UInt64 = 0

    init(bitrate: Int = 400_000, purpose: VP8Encoder.Configuration.Purpose = .file) throws {
        var configuration = VP8Encoder.Configuration(bitrate: bitrate, contentHint: .text, purpose: purpose)
        configuration.keyFrameInterval = nil
        configuration.adaptsToLoad = false
        encoder = try VP8Encoder(configuration)
        decoder = try VP8Decoder()
    }

    var wantsRepeats: Bool { encoder.wants.minimumFrameRate != nil }

    /// Encodes a frame some time after the one before; gives the bytes of its packets.
    @discardableResult
    func show(
        _ buffer: PixelBuffer, damage: [PixelRect]?, isRepeat: Bool = false, after interval: Duration,
        isKey: Bool = false
    ) throws -> Int {
        time = time.advanced(by: interval)
        number += 1
        let frame = VideoFrame(
            buffer: buffer, timestamp: time, sequenceNumber: number, estimatedFrameRate: isRepeat ? 12 : 30,
            damage: damage, isRepeat: isRepeat)
        var bytes = 0
        if isKey { encoder.requestKeyFrame() }
        try encoder.encode(frame) { packet in
            packets.append(packet)
            bytes += packet.data.count
            try packet.data.withUnsafeBytes { try decoder.decode($0) { picture = $0 } }
        }
        return bytes
    }

    /// Shows a picture again, twelve times a second, for as long as the encoder wants it; gives the number of repeats.
    @discardableResult
    func refine(_ buffer: PixelBuffer, atMost most: Int = 100) throws -> Int {
        var count = 0
        while wantsRepeats, count < most {
            try show(buffer, damage: [], isRepeat: true, after: .nanoseconds(83_333_333))
            count += 1
        }
        return count
    }
}
