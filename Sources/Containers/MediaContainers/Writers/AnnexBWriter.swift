import VideoCapturing

/// Writes raw H.264 (`.h264`): the packets as a byte stream (ITU-T H.264, annex B), without a container and timestamps.
///
/// Key frames get the parameter sets that they lack, so that the file can be played, and cut at any of them. Each packet
/// is passed to the kernel at once. Without a packet the file stays empty.
public final class AnnexBWriter: PacketWriter {
    private let file: OutputFile
    private let state = Locked(State())

    private struct State {
        var shaper: PacketShaper?
        var isFinished = false
    }

    /// Creates a writer.
    ///
    /// - Parameter file: the output, which ``finish()`` closes.
    public init(_ file: OutputFile) { self.file = file }

    public var bytesWritten: Int64 { file.bytesWritten }

    /// Begins the file with one track of H.264.
    ///
    /// - Throws: `MediaFileError` with the code `formatUnsupported` for others.
    public func begin(_ tracks: [TrackDescription]) throws {
        guard tracks.count == 1, let track = tracks.first, track.codec == .h264, case .video = track.media else {
            let codecs = tracks.map(\.codec.rawValue).joined(separator: ", ")
            throw refusal("Raw H.264 holds one track of H.264, and this is \(codecs); choose webm for VP8.")
        }
        state.withLock { $0.shaper = PacketShaper(track, form: .annexB) }
    }

    private func refusal(_ message: String) -> MediaFileError {
        MediaFileError(.formatUnsupported, operation: "begin the file", subject: file.path, message: message)
    }

    /// Adds a packet. An empty packet is ignored.
    public func write(_ packet: MediaPacket) throws {
        guard packet.data.count > 0 else { return }
        try state.withLock { state in
            guard state.shaper?.track.id == packet.track, let shaped = state.shaper?.shape(packet) else {
                throw refusal("A packet belongs to track \(packet.track.rawValue), with which the file was not begun.")
            }
            try shaped.data.withUnsafeBytes { bytes in try file.write(bytes) }
            try file.endRecord()
        }
    }

    /// Closes the file.
    public func finish() throws {
        try state.withLock { state in
            guard !state.isFinished else { return }
            state.isFinished = true
            try file.close()
        }
    }
}
