import VideoCapturing

/// Writes WAV (`.wav`): 16-bit samples after a header of 80 bytes (104 for more than two channels).
///
/// The sizes in the header are rewritten after each packet, so that a file whose program was killed is whole up to its
/// last packet. From 4 GiB on, where 32 bits no longer hold them, the file becomes RF64 (EBU Tech 3306), for which room
/// is left in the header from the start. A pipe gets the largest sizes, which readers take for "until the end".
///
/// Timestamps are not kept: a `PCMEncoder` fills gaps with silence.
public final class WAVWriter: PacketWriter {
    private let file: OutputFile
    private let sizeLimit: UInt64
    private let state = Locked(State())

    private struct State {
        var scratch = ByteBuilder(capacity: 128)
        var track: TrackID?
        var audio = TrackDescription.Audio(sampleRate: 0, channelCount: 0)
        /// The bytes of all samples.
        var dataSize: UInt64 = 0
        var isFinished = false
    }

    /// Creates a writer.
    ///
    /// - Parameter file: the output, which ``finish()`` closes.
    public convenience init(_ file: OutputFile) { self.init(file, sizeLimit: UInt64(UInt32.max)) }

    /// - Parameter sizeLimit: the largest size that is written with 32 bits.
    init(_ file: OutputFile, sizeLimit: UInt64) {
        self.file = file
        self.sizeLimit = sizeLimit
    }

    public var bytesWritten: Int64 { file.bytesWritten }

    /// Begins the file, with one track of samples.
    ///
    /// - Throws: `MediaFileError` with the code `formatUnsupported` for others, and for rates and numbers of channels
    ///   that the header cannot hold.
    public func begin(_ tracks: [TrackDescription]) throws {
        guard tracks.count == 1, let track = tracks.first, track.codec == .pcm, case .audio(let audio) = track.media
        else {
            let codecs = tracks.map(\.codec.rawValue).joined(separator: ", ")
            throw refusal("WAV holds one track of samples (pcm), and this is \(codecs); choose webm for encoded sound.")
        }
        let blockSize = audio.channelCount.multipliedReportingOverflow(by: 2).partialValue
        let byteRate = audio.sampleRate.multipliedReportingOverflow(by: max(1, blockSize))
        guard audio.channelCount > 0, UInt16(exactly: blockSize) != nil, audio.sampleRate > 0, !byteRate.overflow,
            UInt32(exactly: byteRate.partialValue) != nil
        else {
            throw refusal("WAV cannot hold \(audio.channelCount) channels of \(audio.sampleRate) samples per second.")
        }
        try state.withLock { state in
            state.track = track.id
            state.audio = audio
            makeHeader(&state)
            try file.write(state.scratch)
            try file.endRecord()
        }
    }

    private func refusal(_ message: String) -> MediaFileError {
        MediaFileError(.formatUnsupported, operation: "begin the file", subject: file.path, message: message)
    }

    /// Adds a packet and passes it, with the new sizes, to the kernel. An empty packet is ignored.
    ///
    /// - Throws: `MediaFileError`; `corruptData` for a packet that does not consist of whole frames, or of another track.
    public func write(_ packet: MediaPacket) throws {
        let count = packet.data.count
        guard count > 0 else { return }
        try state.withLock { state in
            guard !state.isFinished else { return }
            guard state.track == packet.track, count.isMultiple(of: 2 * state.audio.channelCount) else {
                throw MediaFileError(
                    .corruptData, operation: "write", subject: file.path,
                    message: "A packet of \(count) bytes of track \(packet.track.rawValue) does not belong into this "
                        + "file of \(state.audio.channelCount) channels; check the encoder.")
            }
            try packet.data.withUnsafeBytes { bytes in try file.write(bytes) }
            try file.endRecord()
            state.dataSize += UInt64(count)
            try patchHeader(&state)
        }
    }

    /// Closes the file. Without tracks it stays empty.
    public func finish() throws {
        try state.withLock { state in
            guard !state.isFinished else { return }
            state.isFinished = true
            try file.close()
        }
    }

    private func patchHeader(_ state: inout State) throws(MediaFileError) {
        guard file.isSeekable else { return }
        makeHeader(&state)
        try file.patch(state.scratch, at: 0)
    }

    private func makeHeader(_ state: inout State) {
        let audio = state.audio
        let blockSize = UInt64(audio.channelCount * 2)
        // More than two channels need a mask that says which they are; here it says that it is not known.
        let isExtensible = audio.channelCount > 2
        let formatSize: UInt64 = isExtensible ? 40 : 16
        // From behind the first eight bytes up to the samples.
        let headSize: UInt64 = 4 + 8 + 28 + 8 + formatSize + 8
        let isLarge = file.isSeekable && headSize + state.dataSize > sizeLimit
        let unknown = UInt64(UInt32.max)
        let hasSizes = file.isSeekable && !isLarge
        state.scratch.removeAll()
        state.scratch.append(text: isLarge ? "RF64" : "RIFF")
        state.scratch.append(littleEndian: hasSizes ? headSize + state.dataSize : unknown, byteCount: 4)
        state.scratch.append(text: "WAVE")
        state.scratch.append(text: isLarge ? "ds64" : "JUNK")
        state.scratch.append(littleEndian: 28, byteCount: 4)
        state.scratch.append(littleEndian: isLarge ? headSize + state.dataSize : 0, byteCount: 8)
        state.scratch.append(littleEndian: isLarge ? state.dataSize : 0, byteCount: 8)
        state.scratch.append(littleEndian: isLarge ? state.dataSize / blockSize : 0, byteCount: 8)
        state.scratch.append(zeros: 4)
        state.scratch.append(text: "fmt ")
        state.scratch.append(littleEndian: formatSize, byteCount: 4)
        state.scratch.append(littleEndian: isExtensible ? 0xFFFE : 1, byteCount: 2)
        state.scratch.append(littleEndian: UInt64(audio.channelCount), byteCount: 2)
        state.scratch.append(littleEndian: UInt64(audio.sampleRate), byteCount: 4)
        state.scratch.append(littleEndian: UInt64(audio.sampleRate) * blockSize, byteCount: 4)
        state.scratch.append(littleEndian: blockSize, byteCount: 2)
        state.scratch.append(littleEndian: 16, byteCount: 2)
        if isExtensible {
            state.scratch.append(littleEndian: 22, byteCount: 2)
            state.scratch.append(littleEndian: 16, byteCount: 2)
            state.scratch.append(zeros: 4)
            // KSDATAFORMAT_SUBTYPE_PCM
            state.scratch.append(littleEndian: 0x0010_0000_0000_0001, byteCount: 8)
            state.scratch.append(littleEndian: 0x719B_3800_AA00_0080, byteCount: 8)
        }
        state.scratch.append(text: "data")
        state.scratch.append(littleEndian: hasSizes ? state.dataSize : unknown, byteCount: 4)
    }
}
