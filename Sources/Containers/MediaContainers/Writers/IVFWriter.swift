import VideoCapturing

/// Writes IVF (`.ivf`), the container of libvpx: 32 bytes of header, then each packet after 12 bytes of size
/// and timestamp.
///
/// The time base is one microsecond, and timestamps count from the first packet. A millisecond is too
/// coarse: frames 33.37 ms apart would be 33 or 34 ms apart, and writers that truncate instead of rounding make
/// a clip of 15 s play for 16 s. A time base of one frame cannot represent the irregular times of a capture.
/// Microseconds are the resolution of V4L2, and rounding to the nearest does not accumulate; unlike nanoseconds they
/// are within the range of readers with 32-bit arithmetic for the time base.
///
/// GStreamer and vpxdec take the time base for the frame rate. So ``finish()`` restates the times of a seekable file whose
/// packets lie at whole frames of an even rate: the time base becomes one frame, and no time changes by more than a
/// microsecond. Captures with uneven times keep microseconds, since there is no rate that could be stated, and so do files of
/// more than 100,000 packets.
///
/// A change of the size within the file is written as is, since VP8 key frames carry it; the header keeps the first
/// size. Without a packet the file stays empty.
public final class IVFWriter: PacketWriter {
    /// The meaning of the header's length. There are two conventions, and readers of one are misled by the other only
    /// where they use the field.
    public enum HeaderLength: Sendable, Hashable {
        /// The duration in units of the time base: FFmpeg writes it and reads it as the duration of the file, so players
        /// show 0.3 ms for 300 packets if these are counted here. Stays 0, for unknown, when it exceeds 32 bits: after
        /// 71 minutes.
        case duration
        /// The number of packets: libvpx writes it, and does not read it.
        case packetCount
    }

    private let file: OutputFile
    private let headerLength: HeaderLength
    private let state = Locked(State())

    private struct State {
        var scratch = ByteBuilder(capacity: 64)
        var start: MediaTime?
        var lastTimestamp: Int64 = -1
        var packets: Int64 = 0
        var end: Int64 = 0
        var evenTimes = EvenTimes()
        var isFinished = false
    }

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - file: the output, which ``finish()`` closes.
    ///   - headerLength: the meaning of the header's length, which is written at the end.
    public init(_ file: OutputFile, headerLength: HeaderLength = .duration) {
        self.file = file
        self.headerLength = headerLength
    }

    public var bytesWritten: Int64 { file.bytesWritten }

    /// Begins the file with one track of VP8.
    ///
    /// - Throws: `MediaFileError` with the code `formatUnsupported` for others.
    public func begin(_ tracks: [TrackDescription]) throws {
        guard tracks.count == 1 else {
            throw refusal("IVF holds one track, and these are \(tracks.count); choose webm.")
        }
        guard tracks[0].codec == .vp8, case .video(let video) = tracks[0].media else {
            throw refusal("IVF is written with VP8 only, and this is \(tracks[0].codec).")
        }
        state.withLock { $0.evenTimes.nominal = video.frameRate }
    }

    private func refusal(_ message: String) -> MediaFileError {
        MediaFileError(.formatUnsupported, operation: "begin the file", subject: file.path, message: message)
    }

    /// Adds a packet and passes it to the kernel, so that a kill loses no packet. An empty packet is ignored.
    public func write(_ packet: MediaPacket) throws {
        guard packet.data.count > 0 else { return }
        try state.withLock { state in
            if state.start == nil {
                appendHeader(to: &state.scratch, packet)
                try file.write(state.scratch)
                try file.endRecord()
                state.start = packet.timestamp
            }
            let elapsed = microseconds(packet.timestamp - (state.start ?? packet.timestamp))
            // Strictly increasing, as readers expect: a timestamp that decreases is placed after the last one.
            let timestamp = max(elapsed, state.lastTimestamp + 1)
            state.scratch.removeAll()
            state.scratch.append(littleEndian: UInt64(packet.data.count), byteCount: 4)
            state.scratch.append(littleEndian: UInt64(timestamp), byteCount: 8)
            try file.write(state.scratch)
            try packet.data.withUnsafeBytes { bytes in try file.write(bytes) }
            try file.endRecord()
            // A packet without a duration is shown as long as the one before it.
            let known = microseconds(packet.duration)
            let duration = known > 0 ? known : timestamp - max(0, state.lastTimestamp)
            state.end = timestamp.addingReportingOverflow(duration).partialValue
            state.lastTimestamp = timestamp
            state.packets += 1
            if file.isSeekable {
                state.evenTimes.add(packet.timestamp - (state.start ?? packet.timestamp), packet.data.count)
            }
        }
    }

    /// Writes the length into the header, unless the output is a pipe, and closes.
    public func finish() throws {
        try state.withLock { state in
            guard !state.isFinished else { return }
            state.isFinished = true
            defer { try? file.close() }
            if file.isSeekable, state.start != nil {
                if file.failure == nil, let rate = state.evenTimes.rate { try restateTimes(&state, rate) }
                state.scratch.removeAll()
                let length = headerLength == .duration ? state.end : state.packets
                state.scratch.append(littleEndian: UInt64(UInt32(exactly: length) ?? 0), byteCount: 4)
                try file.patch(state.scratch, at: 24)
            }
            try file.close()
        }
    }

    /// Makes a frame the unit of all times.
    private func restateTimes(_ state: inout State, _ rate: FrameRate) throws(MediaFileError) {
        var offset: Int64 = 32
        var frame: Int64 = 0
        for packet in state.evenTimes.packets {
            frame = rate.nearestFrame(to: packet.time)
            state.scratch.removeAll()
            state.scratch.append(littleEndian: UInt64(frame), byteCount: 8)
            try file.patch(state.scratch, at: offset + 4)
            offset += 12 + Int64(packet.size)
        }
        state.scratch.removeAll()
        state.scratch.append(littleEndian: UInt64(rate.frames), byteCount: 4)
        state.scratch.append(littleEndian: UInt64(rate.seconds), byteCount: 4)
        try file.patch(state.scratch, at: 16)
        let duration = .microseconds(state.end) - (state.evenTimes.packets.last?.time ?? .zero)
        state.end = frame + max(1, rate.nearestFrame(to: duration))
    }

    private func appendHeader(to header: inout ByteBuilder, _ packet: MediaPacket) {
        header.append(text: "DKIF")
        header.append(littleEndian: 0, byteCount: 2)
        header.append(littleEndian: 32, byteCount: 2)
        header.append(text: "VP80")
        header.append(littleEndian: UInt64(packet.width), byteCount: 2)
        header.append(littleEndian: UInt64(packet.height), byteCount: 2)
        // Time base: denominator, numerator. Readers that interpret them as a rate read 1,000,000 per second.
        header.append(littleEndian: 1_000_000, byteCount: 4)
        header.append(littleEndian: 1, byteCount: 4)
        // The length, known at the end, and a field that is not in use.
        header.append(littleEndian: 0, byteCount: 8)
    }
}

/// Rounded to the nearest; for durations that are not negative.
private func microseconds(_ duration: Duration) -> Int64 {
    (duration.nanoseconds / 500 + 1) / 2
}

/// Finds the rate at whose frames all packets lie, to within a microsecond.
private struct EvenTimes {
    /// The rate of the track; nil when it is unknown.
    var nominal: FrameRate?
    /// The packets with their times from the first one on; empty once they are known to be uneven.
    private(set) var packets: [(time: Duration, size: UInt32)] = []
    private var rates: [FrameRate] = []
    private var areUneven = false

    private static let maximumPackets = 100_000
    private static let tolerance = Duration.microseconds(1)

    /// Nil for fewer than two packets, and for uneven ones.
    var rate: FrameRate? { rates.first }

    mutating func add(_ time: Duration, _ size: Int) {
        guard !areUneven else { return }
        if packets.count == 1 { rates = candidates(interval: time) }
        let last = packets.last?.time
        rates.removeAll { rate in
            let frame = rate.nearestFrame(to: time)
            let error = (rate.time(ofFrame: frame) - time).nanoseconds.magnitude
            return error > EvenTimes.tolerance.nanoseconds.magnitude
                || last.map { frame <= rate.nearestFrame(to: $0) } ?? false
        }
        packets.append((time, UInt32(clamping: size)))
        areUneven = packets.count > 1 && rates.isEmpty || packets.count > EvenTimes.maximumPackets
        if areUneven { (packets, rates) = ([], []) }
    }

    /// The rates with one frame in an interval, with NTSC's, and the nominal one.
    private func candidates(interval: Duration) -> [FrameRate] {
        guard let measured = FrameRate(interval: interval) else { return [] }
        let ntsc = Int32(clamping: Int64((measured.framesPerSecond * 1.001).rounded()))
        return [measured, ntsc > 0 && ntsc <= 1000 ? FrameRate(ntsc * 1000, per: 1001) : nil, nominal].compactMap(
            \.self)
    }
}

extension FrameRate {
    /// The number of the frame that is due nearest to a time.
    fileprivate func nearestFrame(to time: Duration) -> Int64 { frameIndex(at: time + frameInterval / 2) }
}
