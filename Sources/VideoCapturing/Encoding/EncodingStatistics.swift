extension EncodingConsumer {
    /// What an ``EncodingConsumer`` has counted.
    public struct Statistics: Sendable, Hashable {
        /// Frames given to the encoder.
        public var framesIn: UInt64 = 0
        /// Frames for which the encoder gave no packet, though they showed something new.
        public var framesDropped: UInt64 = 0
        /// Frames that needed no packet, since they showed nothing new.
        public var framesUnchanged: UInt64 = 0
        /// Packets handed out.
        public var packets: UInt64 = 0
        /// Packets of frames that were shown before, which make the picture sharper: those of a screen at rest.
        public var refinements: UInt64 = 0
        /// Packets at which decoding can begin.
        public var keyFrames: UInt64 = 0
        /// Encoded bytes.
        public var bytes: UInt64 = 0
        /// Bits per second over the last two seconds or so; nil until there are two packets.
        public var bitrate: Double?
        /// The time to encode a frame that half of the frames did not exceed.
        public var p50EncodeTime: Duration?
        /// The time to encode a frame that 99 of 100 frames did not exceed.
        public var p99EncodeTime: Duration?
        /// The time from a frame's timestamp to its packet that half of the frames did not exceed.
        public var p50Latency: Duration?
        /// The time from a frame's timestamp to its packet that 99 of 100 frames did not exceed.
        public var p99Latency: Duration?
        /// The time from a frame's timestamp to its packet, less the time that encoding it took, that 99 of 100 frames
        /// did not exceed: what the pipeline around the encoder adds.
        public var p99Overhead: Duration?

        public init() {}
    }
}

/// The counters behind ``EncodingConsumer/Statistics``. Fixed memory.
struct EncodingCounts {
    var framesIn: UInt64 = 0
    var framesDropped: UInt64 = 0
    var framesUnchanged: UInt64 = 0
    private var packets: UInt64 = 0
    private var refinements: UInt64 = 0
    private var keyFrames: UInt64 = 0
    private var bytes: UInt64 = 0
    private var encodeTime = LatencyHistogram()
    private var latency = LatencyHistogram()
    private var overhead = LatencyHistogram()
    private var meter = BitrateMeter()

    mutating func add(_ packet: MediaPacket, isRefinement: Bool, encodeTime: Duration, latency: Duration) {
        packets += 1
        if isRefinement { refinements += 1 }
        if packet.isKeyFrame { keyFrames += 1 }
        bytes += UInt64(packet.data.count)
        self.encodeTime.record(nanoseconds: encodeTime.nanoseconds)
        self.latency.record(nanoseconds: latency.nanoseconds)
        overhead.record(nanoseconds: (latency - encodeTime).nanoseconds)
        meter.add(bytes: packet.data.count, at: packet.timestamp)
    }

    var statistics: EncodingConsumer.Statistics {
        var result = EncodingConsumer.Statistics()
        result.framesIn = framesIn
        result.framesDropped = framesDropped
        result.framesUnchanged = framesUnchanged
        result.packets = packets
        result.refinements = refinements
        result.keyFrames = keyFrames
        result.bytes = bytes
        result.bitrate = meter.bitsPerSecond
        result.p50EncodeTime = encodeTime.quantile(0.5)
        result.p99EncodeTime = encodeTime.quantile(0.99)
        result.p50Latency = latency.quantile(0.5)
        result.p99Latency = latency.quantile(0.99)
        result.p99Overhead = overhead.quantile(0.99)
        return result
    }
}

/// Bits per second of the last packets, by their timestamps: of up to 64 packets, or two seconds.
struct BitrateMeter {
    private static let window = 64
    private var entries = [(time: Int64, bytes: Int)](repeating: (0, 0), count: window)
    private var count = 0
    private var next = 0

    mutating func add(bytes: Int, at time: MediaTime) {
        entries[next] = (time.nanoseconds, bytes)
        next = (next + 1) % BitrateMeter.window
        count = min(count + 1, BitrateMeter.window)
    }

    var bitsPerSecond: Double? {
        guard count >= 2 else { return nil }
        let last = entry(0)
        var bytes = 0
        var first = last
        for age in 0..<count {
            let entry = entry(age)
            guard last.time - entry.time <= 2_000_000_000 else { break }
            first = entry
            bytes += entry.bytes
        }
        // The bytes of the first packet belong to the interval before it.
        let span = last.time - first.time
        return span > 0 ? Double(bytes - first.bytes) * 8e9 / Double(span) : nil
    }

    private func entry(_ age: Int) -> (time: Int64, bytes: Int) {
        entries[(next - 1 - age + 2 * BitrateMeter.window) % BitrateMeter.window]
    }
}
