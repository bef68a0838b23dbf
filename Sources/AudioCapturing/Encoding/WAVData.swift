extension Sequence where Element == AudioChunk {
    /// The sound as the bytes of a WAV file, with samples of 16 bits, in one call.
    ///
    /// ```swift
    /// let wav = try chunks.wavData()
    /// ```
    /// Gaps between the chunks become silence, as ``PCMEncoder`` fills them. All of it lies in memory, so it is for minutes;
    /// `FileOutput("a.wav")` of a publisher records hours.
    ///
    /// - Returns: a RIFF file of format 1 (Microsoft, Multimedia Programming Interface and Data Specifications 1.0).
    /// - Throws: `invalidConfiguration` without a chunk, and for more than 4 GiB; `formatUnsupported` where the format changes.
    public func wavData() throws -> [UInt8] {
        let encoder = PCMEncoder()
        var samples: [UInt8] = []
        var format: AudioFormat?
        for chunk in self {
            format = format ?? chunk.format
            try encoder.encode(chunk) { packet in packet.data.withUnsafeBytes { samples.append(contentsOf: $0) } }
        }
        guard let format, samples.count < UInt32.max - 64 else {
            throw CaptureError(
                .invalidConfiguration, operation: "make a WAV file",
                message: format == nil ? "There is no sound; wait for the first chunk." : "The file would exceed 4 GiB."
            )
        }
        var file: [UInt8] = []
        func append(_ text: StaticString) { text.withUTF8Buffer { file.append(contentsOf: $0) } }
        func append(_ value: Int, bytes: Int) {
            for byte in 0..<bytes { file.append(UInt8(truncatingIfNeeded: value >> (8 * byte))) }
        }
        let frameBytes = format.channels.count * 2
        append("RIFF")
        append(samples.count + 36, bytes: 4)
        append("WAVEfmt ")
        append(16, bytes: 4)
        append(1, bytes: 2)
        append(format.channels.count, bytes: 2)
        append(format.sampleRate, bytes: 4)
        append(format.sampleRate * frameBytes, bytes: 4)
        append(frameBytes, bytes: 2)
        append(16, bytes: 2)
        append("data")
        append(samples.count, bytes: 4)
        return file + samples
    }
}
