import VideoCapturing

/// The last packets of a track of sound, with which the next file begins again.
///
/// A decoder needs them for the first samples of a file: AAC and Opus overlap packets, and what a decoder gives for the first one
/// is incomplete. The file states that players skip it: its sound begins with the sample after the last one of the
/// file before, or in MP4 with the first picture, where that is earlier.
struct SoundOverlap {
    /// The codec's own track.
    private let track: TrackDescription
    private let sampleRate: Int64
    /// The frames that a decoder gives before the first one that was encoded.
    private let delay: Int64
    /// How much sound a decoder needs before it gives the same samples as without a border.
    private let preroll: Duration
    private var packets: [MediaPacket] = []
    /// Added to the times of this file, in which players skip more of the decoded sound than in the first file.
    private(set) var shift = Duration.zero

    /// The containers that state how much of the decoded sound players skip. Files of others can be joined byte by byte, and lose
    /// nothing then.
    private static let kinds: Set<String> = ["mp4", "mov", "ipod", "webm", "weba", "matroska"]

    /// Nil for a track, or a kind of file, that needs none.
    init?(_ track: TrackDescription, kind: String) {
        guard case .audio(let audio) = track.media, SoundOverlap.kinds.contains(kind) else { return nil }
        switch track.codec {
        case .opus:
            guard let header = track.decoderConfiguration, header.count >= 12 else { return nil }
            sampleRate = 48_000
            delay = header.withUnsafeBytes { Int64($0[10]) | Int64($0[11]) << 8 }
            // RFC 7845, 4.6.
            preroll = .milliseconds(80)
        case .aac:
            sampleRate = Int64(max(1, audio.sampleRate))
            delay = Int64(audio.initialPadding)
            preroll = .nanoseconds(delay * 1_000_000_000 / sampleRate)
        default: return nil
        }
        self.track = track
    }

    /// Takes a packet that is written, with its own time.
    mutating func add(_ packet: MediaPacket) {
        if let last = packets.last {
            let gap = packet.timestamp - last.timestamp.advanced(by: last.duration)
            if gap.nanoseconds.magnitude > SoundOverlap.largestGap { packets = [] }
        }
        packets.append(packet)
        while let second = packets.dropFirst().first, end - second.timestamp >= preroll - .microseconds(1) {
            packets.removeFirst()
        }
    }

    /// In nanoseconds; packets that follow each other are apart by the rounding of their times.
    private static let largestGap: UInt64 = 1_000_000

    private var end: MediaTime { packets.last.map { $0.timestamp.advanced(by: $0.duration) } ?? .zero }

    /// The track of the next file, and the packets with which it begins, which are not played.
    mutating func begin() -> (track: TrackDescription, packets: [MediaPacket]) {
        shift = .zero
        guard let first = packets.first else { return (track, []) }
        let frames = ((end - first.timestamp).nanoseconds * sampleRate + 500_000_000) / 1_000_000_000
        guard frames >= delay, let track = track(skipping: frames) else { return (track, []) }
        shift = .nanoseconds((frames - delay) * 1_000_000_000 / sampleRate)
        return (track, packets.map(shifted))
    }

    /// The packet with its time in this file.
    func shifted(_ packet: MediaPacket) -> MediaPacket {
        var packet = packet
        packet.timestamp += shift
        return packet
    }

    private func track(skipping frames: Int64) -> TrackDescription? {
        var track = track
        guard track.codec == .opus else {
            guard case .audio(var audio) = track.media else { return nil }
            audio.initialPadding = Int(frames)
            track.media = .audio(audio)
            return track
        }
        guard let count = UInt16(exactly: frames), let header = track.decoderConfiguration else { return nil }
        var bytes = header.withUnsafeBytes { Array($0) }
        bytes[10] = UInt8(truncatingIfNeeded: count)
        bytes[11] = UInt8(truncatingIfNeeded: count >> 8)
        track.decoderConfiguration = bytes.withUnsafeBytes { PacketBuffer(copying: $0) }
        return track
    }
}
