import AudioCapturing
import MP3Codec
import TestTools

/// MP3 that ffmpeg makes with LAME: without a tag and without an information frame, unless asked for.
func mp3Clip(
    seconds: Double = 2, rate: Int = 44_100, channels: Int = 2, bitrate: Int = 128, frequency: Int = 440,
    hasInformation: Bool = false
) throws -> [UInt8] {
    // The information is written last, which a pipe does not allow.
    let folder = TemporaryFolder()
    try run(
        "ffmpeg",
        [
            "-v", "error", "-f", "lavfi", "-i", "sine=frequency=\(frequency):sample_rate=\(rate):duration=\(seconds)",
            "-ac",
            "\(channels)", "-c:a", "libmp3lame", "-b:a", "\(bitrate)k", "-id3v2_version", "0", "-write_xing",
            hasInformation ? "1" : "0", folder.file("a.mp3"),
        ])
    return try folder.read("a.mp3")
}

/// What a parser finds in bytes that come in pieces.
struct Parsed {
    let positions: [Int64]
    let headers: [MP3FrameHeader]
    let bytes: [[UInt8]]
    let gaps: [Bool]
    let findings: MP3FrameParser.Findings

    init(_ stream: [UInt8], piece: Int = 1000, capacity: Int = 16_384) {
        let parser = MP3FrameParser(capacity: capacity)
        var (positions, headers, bytes, gaps) = ([Int64](), [MP3FrameHeader](), [[UInt8]](), [Bool]())
        func takeAll() {
            while let frame = parser.next() {
                positions.append(frame.position)
                headers.append(frame.header)
                bytes.append(Array(frame.bytes))
                gaps.append(frame.isAfterGap)
            }
        }
        for start in stride(from: 0, to: stream.count, by: piece) {
            let part = stream[start..<min(stream.count, start + piece)]
            let taken = part.withUnsafeBytes { parser.append($0) }
            precondition(taken == part.count)
            takeAll()
        }
        parser.finish()
        takeAll()
        (self.positions, self.headers, self.bytes, self.gaps) = (positions, headers, bytes, gaps)
        findings = parser.findings
    }
}

/// The frames of a whole clip.
func frames(_ clip: [UInt8]) -> [[UInt8]] { Parsed(clip).bytes }

/// Bytes without a pattern, the same in each run.
func noise(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var state = seed
    return (0..<count).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: state >> 33)
    }
}

/// A tag at the beginning of a file.
func id3(_ count: Int, stated: Int? = nil) -> [UInt8] {
    let size = stated ?? count
    return Array("ID3".utf8) + [3, 0, 0] + [21, 14, 7, 0].map { UInt8(size >> $0 & 127) } + noise(count, seed: 7)
}

/// All samples of a stream, with the formats in which they came.
func decode(_ stream: [UInt8], as type: SampleType = .float32) throws -> [(format: AudioFormat, samples: [Float])] {
    let parser = MP3FrameParser(capacity: stream.count + 16_384)
    let decoder = try MP3Decoder(sampleType: type)
    _ = stream.withUnsafeBytes { parser.append($0) }
    parser.finish()
    var result: [(format: AudioFormat, samples: [Float])] = []
    while let frame = parser.next() {
        try decoder.decode(frame) { block in
            if result.last?.format != block.format { result.append((block.format, [])) }
            if type == .float32 {
                result[result.count - 1].samples += block.samples.bindMemory(to: Float.self)
            } else {
                result[result.count - 1].samples += block.samples.bindMemory(to: Int16.self).map { Float($0) / 32768 }
            }
        }
    }
    return result
}
