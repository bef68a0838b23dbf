import VideoCapturing

extension ConstantRateWriter {
    /// Statistics of a ``ConstantRateWriter``.
    public struct Statistics: Sendable, Hashable {
        /// The rate of the output; nil while it is being measured.
        public var rate: FrameRate?
        /// The frames of the output, repeats included.
        public var framesWritten: UInt64 = 0
        /// Frames written that repeat the previous one.
        public var framesRepeated: UInt64 = 0
        /// Frames of the capture that were not written, since they exceed the rate.
        public var framesDropped: UInt64 = 0
        /// The time that is missing from the output; see `ConstantRateSchedule.timeLeftOut`.
        public var timeLeftOut: Duration = .zero

        /// Statistics with all counters zero.
        public init() {}

        /// The playing time of the frames written.
        public var duration: Duration { rate?.time(ofFrame: Int64(clamping: framesWritten)) ?? .zero }
    }
}

/// Repeats and drops frames by their timestamps for a writer of a format that has one frame rate and no timestamps.
///
/// A frame is written when the next one arrives, since that determines how often; see `ConstantRateSchedule`. A
/// repeat is the same frame written again, without a copy.
public final class ConstantRateWriter: FrameWriter {
    /// The limit of the frames that are held until the rate is known.
    private static let maximumHeldBytes = 128 << 20

    private struct State {
        /// The frames that are held until the rate is known.
        var held: [VideoFrame] = []
        var heldBytes = 0
        var measurement = FrameRateMeasurement(stated: nil)
        /// Nil while frames are held.
        var schedule: ConstantRateSchedule?
        /// The newest frame.
        var newest: VideoFrame?
        /// How often the image of the newest frame has been written.
        var writes = 0
        var isOpen = true
    }

    /// Readable at any time, also while a long gap is being filled.
    private struct Progress {
        var statistics = ConstantRateWriter.Statistics()
        var writer: (any FrameWriter)?
    }

    private let maximumDuration: Duration?
    private let makeWriter: @Sendable (FrameRate) -> any FrameWriter
    private let state: Locked<State>
    private let progress = Locked(Progress())

    /// Creates a writer with a given rate.
    ///
    /// - Parameters:
    ///   - rate: the rate of the output.
    ///   - maximumDuration: the time after the first frame from which nothing is written; nil for no limit.
    ///   - makeWriter: returns the writer for the rate; called once.
    public init(
        rate: FrameRate, maximumDuration: Duration? = nil,
        makeWriter: @escaping @Sendable (FrameRate) -> any FrameWriter
    ) {
        self.maximumDuration = maximumDuration
        self.makeWriter = makeWriter
        state = Locked(State())
        state.withLock { begin(rate, &$0) }
    }

    /// Creates a writer that measures the rate of the first frames; see ``OutputFormat/Timing/measured(stated:)``.
    ///
    /// - Parameters:
    ///   - stated: the rate that the source states; nil for none.
    ///   - maximumDuration: the time after the first frame from which nothing is written; nil for no limit.
    ///   - makeWriter: returns the writer for the rate; called once.
    public init(
        measuringWithStatedRate stated: FrameRate?, maximumDuration: Duration? = nil,
        makeWriter: @escaping @Sendable (FrameRate) -> any FrameWriter
    ) {
        self.maximumDuration = maximumDuration
        self.makeWriter = makeWriter
        state = Locked(State(measurement: FrameRateMeasurement(stated: stated)))
    }

    /// The statistics so far. May be read from any thread at any time.
    public var statistics: ConstantRateWriter.Statistics { progress.withLock { $0.statistics } }

    public var bytesWritten: Int64 { progress.withLock { $0.writer }?.bytesWritten ?? 0 }

    public func writeFrame(_ frame: VideoFrame) throws {
        try state.withLock { state in
            guard state.isOpen else { return }
            do {
                guard state.schedule == nil else { return try take(frame, &state) }
                state.held.append(frame)
                state.heldBytes += frame.buffer.planes.reduce(0) { $0 + $1.rowBytes * $1.rows }
                state.measurement.add(frame.timestamp)
                if state.measurement.isComplete || state.heldBytes >= ConstantRateWriter.maximumHeldBytes {
                    try release(&state)
                }
            } catch {
                // Later frames would be written at the wrong time.
                try? close(&state)
                throw error
            }
        }
    }

    public func finish() throws { try finish(at: nil) }

    /// Repeats the last frame up to `end` and closes.
    public func finish(at end: MediaTime?) throws {
        try state.withLock { state in
            guard state.isOpen else { return }
            do {
                if state.schedule == nil { try release(&state) }
                let count = state.schedule?.finish(at: end) ?? 0
                try write(count, &state)
                endImage(state)
            } catch {
                try? close(&state)
                throw error
            }
            try close(&state)
        }
    }

    private func begin(_ rate: FrameRate, _ state: inout State) {
        state.schedule = ConstantRateSchedule(rate: rate, maximumDuration: maximumDuration)
        progress.withLock { progress in
            progress.statistics.rate = rate
            progress.writer = makeWriter(rate)
        }
    }

    /// Begins with the frames that were held.
    private func release(_ state: inout State) throws {
        begin(state.measurement.rate, &state)
        let held = state.held
        state.held = []
        for frame in held { try take(frame, &state) }
    }

    private func take(_ frame: VideoFrame, _ state: inout State) throws {
        let count = state.schedule?.add(frame.timestamp) ?? 0
        try write(count, &state)
        // A publisher's repeat is not another image.
        if !frame.isRepeat {
            endImage(state)
            state.writes = 0
        }
        state.newest = frame
    }

    /// Writes the newest frame.
    private func write(_ count: Int64, _ state: inout State) throws {
        guard let frame = state.newest, let writer = progress.withLock({ $0.writer }) else { return }
        for _ in 0..<count {
            try writer.writeFrame(frame)
            let isRepeat = state.writes > 0
            state.writes += 1
            progress.withLock { progress in
                progress.statistics.framesWritten += 1
                if isRepeat { progress.statistics.framesRepeated += 1 }
            }
        }
    }

    /// The image of the newest frame is not shown any longer.
    private func endImage(_ state: State) {
        let wasDropped = state.newest != nil && state.writes == 0
        progress.withLock { progress in
            if wasDropped { progress.statistics.framesDropped += 1 }
            progress.statistics.timeLeftOut = state.schedule?.timeLeftOut ?? .zero
        }
    }

    private func close(_ state: inout State) throws {
        state.isOpen = false
        state.newest = nil
        state.held = []
        if state.schedule == nil { begin(state.measurement.rate, &state) }
        try progress.withLock { $0.writer }?.finish()
    }
}

/// Measures the rate of a capture from the timestamps of its first frames.
private struct FrameRateMeasurement {
    private static let maximumFrames = 32
    private static let maximumTime = Duration.seconds(2)
    /// The maximum rate of cameras; faster frames come from a backlog.
    private static let maximumRate: FrameRate = 240

    private let stated: FrameRate?
    private var timestamps: [MediaTime] = []

    init(stated: FrameRate?) {
        self.stated = stated
    }

    mutating func add(_ timestamp: MediaTime) {
        timestamps.append(timestamp)
    }

    /// Whether there are enough timestamps.
    var isComplete: Bool {
        guard let first = timestamps.first, let last = timestamps.last else { return false }
        return hasStatedRate || timestamps.count >= FrameRateMeasurement.maximumFrames
            || timestamps.count > 1 && last - first >= FrameRateMeasurement.maximumTime
    }

    /// Whether all intervals are the stated one, except for the rounding of containers.
    private var hasStatedRate: Bool {
        guard let stated = stated?.frameInterval.nanoseconds, timestamps.count >= 3 else { return false }
        let tolerance = max(1_000_000, Double(stated) / 50)
        return zip(timestamps, timestamps.dropFirst()).allSatisfy { earlier, later in
            abs(Double((later - earlier).nanoseconds) - Double(stated)) <= tolerance
        }
    }

    /// The rate by the timestamps so far: 30 where neither they nor the source state one.
    var rate: FrameRate {
        guard let stated = stated.map({ FrameRateMeasurement.commonRate(near: $0, within: 0.0001) ?? $0 }) else {
            return measuredRate(fraction: 0.5) ?? 30
        }
        // The shortest quarter: in a film of variable rate most frames may be shown for several intervals.
        guard let measured = measuredRate(fraction: 0.25) else { return stated }
        return measured.framesPerSecond > stated.framesPerSecond * 1.01 ? measured : stated
    }

    /// - Parameter fraction: the quantile of the intervals that is taken for one frame interval. Longer ones count as
    ///   several: frames were lost, or shown for longer.
    private func measuredRate(fraction: Double) -> FrameRate? {
        // A server may have a cached first frame, sent between two others.
        let timestamps = timestamps.dropFirst(timestamps.count > 8 ? 1 : 0)
        let intervals = zip(timestamps, timestamps.dropFirst()).map { ($1 - $0).nanoseconds }.sorted()
        guard let first = timestamps.first, let last = timestamps.last, !intervals.isEmpty else { return nil }
        let base = Double(max(1, intervals[Int(Double(intervals.count) * fraction)]))
        let count = intervals.reduce(0.0) { $0 + (Double($1) / base).rounded() }
        let mean = Double((last - first).nanoseconds) / max(1, count)
        guard mean >= 1_000_000 else { return FrameRateMeasurement.maximumRate }
        guard let rate = FrameRate(interval: .nanoseconds(Int64(clamping: Int128(mean.rounded())))) else { return nil }
        // A network delays frames by some milliseconds, which is about a percent of the time measured.
        return min(FrameRateMeasurement.commonRate(near: rate, within: 0.02) ?? rate, FrameRateMeasurement.maximumRate)
    }

    /// The nearest common rate within the tolerance; NTSC rates, which lie next to integer ones, only where they match
    /// exactly.
    private static func commonRate(near rate: FrameRate, within tolerance: Double) -> FrameRate? {
        func distance(_ other: FrameRate) -> Double { abs(other.framesPerSecond / rate.framesPerSecond - 1) }
        if let exact = ntscRates.first(where: { distance($0) < 0.0001 }) { return exact }
        return commonRates.min { distance($0) < distance($1) }.flatMap { distance($0) <= tolerance ? $0 : nil }
    }

    private static let ntscRates = ["23.976", "29.97", "59.94", "119.88"].compactMap { FrameRate($0) }
    private static let commonRates: [FrameRate] =
        [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 25, 30, 48, 50, 60, 75, 90, 100, 120, 144, 200, 240]
        + ["7.5", "12.5"].compactMap { FrameRate($0) }
}
