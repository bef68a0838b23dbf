import AudioCapturing
import MP3Codec
import MediaContainers
import OpusCodec

#if canImport(Glibc)
    import Glibc
#endif

/// A file of MP3 to samples that go nowhere, as a radio decodes them: in pieces of 16 KB, frame by frame.
///
/// - Returns: seconds of sound.
@discardableResult
func decodeMP3(_ path: String) throws -> Double {
    let bytes = try wholeFile(path)
    let parser = MP3FrameParser()
    let decoder = try MP3Decoder()
    var seconds = 0.0
    try bytes.withUnsafeBytes { bytes in
        var offset = 0
        while true {
            while let frame = parser.next() {
                try decoder.decode(frame) { seconds += Double($0.frameCount) / Double($0.format.sampleRate) }
            }
            if offset == bytes.count { return }
            offset += parser.append(
                UnsafeRawBufferPointer(rebasing: bytes[offset..<min(offset + 16_384, bytes.count)]))
            if offset == bytes.count { parser.finish() }
        }
    }
    return seconds
}

/// A file of raw 16-bit stereo samples at 48 kHz to Opus in WebM, in chunks of 20 ms.
func encodeOpus(input: String, output: String, bitrate: Int) throws {
    let format = AudioFormat.int16At48kStereo
    let bytes = try wholeFile(input)
    let encoding = AudioEncodingConsumer(
        try OpusEncoder(.init(format: format, bitrate: bitrate)),
        to: [(name: output, sink: WebMWriter(try OutputFile(path: output, overwrite: true)))],
        onFailure: { fatalError("\($0.error)") })
    let pool = AudioBufferPool()
    let chunkBytes = 960 * format.bytesPerFrame
    for index in 0..<bytes.count / chunkBytes {
        let buffer = try pool.makeBuffer(format, frameCapacity: 960) { writer in
            writer.withUnsafeBytes { target in
                bytes.withUnsafeBytes {
                    target.copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: $0[index * chunkBytes..<(index + 1) * chunkBytes]))
                }
            }
            return 960
        }
        encoding.consumeAudio(
            AudioChunk(
                buffer: buffer, timestamp: MediaTime(nanoseconds: Int64(index) * 20_000_000),
                firstFrame: Int64(index) * 960, discontinuity: index == 0 ? .start : nil))
    }
    encoding.finish()
}

private func wholeFile(_ path: String) throws -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw UsageError("\(path) cannot be read") }
    defer { close(file) }
    let size = Int(lseek(file, 0, SEEK_END))
    return try [UInt8](unsafeUninitializedCapacity: max(0, size)) { buffer, count in
        while count < size {
            let read = pread(file, buffer.baseAddress! + count, size - count, off_t(count))
            guard read > 0 else { throw UsageError("\(path) cannot be read") }
            count += read
        }
    }
}

/// Hands each chunk to a window as one of what it counts.
final class ChunkWindow: AudioCaptureConsumer {
    private let window: PacketWindow

    init(_ window: PacketWindow) { self.window = window }

    func consumeAudio(_ chunk: AudioChunk) { window.step() }
}
