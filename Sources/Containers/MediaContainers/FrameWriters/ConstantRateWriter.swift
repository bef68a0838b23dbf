import VideoCapturing

/// What a ``ConstantRateWriter`` has done so far.
public struct ConstantRateStatistics: Sendable, Hashable {
    /// The rate of the output; nil while it is being measured.
    public var rate: FrameRate?
    /// The frames of the output, repeats included.
    public var framesWritten: UInt64 = 0
    /// Frames written that show the same as the one before.
    public var framesRepeated: UInt64 = 0
    /// Frames of the capture that were not written, since they came too fast for the rate.
    public var framesDropped: UInt64 = 0
    /// The time that is missing from the output; see ``ConstantRateSchedule/timeLeftOut``.
    public var timeLeftOut: Duration = .zero

    /// Statistics of nothing.
    public init() {}

    /// The playing time of what was written.
    public var duration: Duration { rate?.time(ofFrame: Int64(clamping: framesWritten)) ?? .zero }
}

/// Repeats and drops frames by their timestamps for a writer of a format that has one frame rate and no timestamps.
///
/// A frame is written when the next one has come, since only that tells how often; see ``ConstantRateSchedule``. A
/// repeat is the same frame written again, without a copy.
public final class ConstantRateWriter: FrameWriter {
    /// Of the frames that wait for the rate.
    private static let maximumHeldBytes = 128 << 20

    private struct State {
        /// The frames that wait for the rate.
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

    /// What may be asked for at any time, also while a long gap is being filled.
    private struct Progress {
        var statistics = ConstantRateStatistics()
        var writer: (any FrameWriter)?
    }

    private let maximumDuration: Duration?
    private let makeWriter: @Sendable (FrameRate) -> any FrameWriter
    private let state: Locked<State>
    private let progress = Locked(Progress())

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

    /// As ``init(rate:maximumDuration:makeWriter:)``, at the rate that the first frames have; see
    /// ``FrameTiming/measured(stated:)``.
    public init(
        measuringWithStatedRate stated: FrameRate?, maximumDuration: Duration? = nil,
        makeWriter: @escaping @Sendable (FrameRate) -> any FrameWriter
    ) {
        self.maximumDuration = maximumDuration
        self.makeWriter = makeWriter
        state = Locked(State(measurement: FrameRateMeasurement(stated: stated)))
    }

    /// The statistics so far. May be read from any thread at any time.
    public var statistics: ConstantRateStatistics { progress.withLock { $0.statistics } }

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
                // What follows would be written at the wrong time.
                try? close(&state)
                throw error
            }
        }
    }

    public func finish() throws { try finish(at: nil) }

    /// Shows the last frame up to `end` and closes.
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
