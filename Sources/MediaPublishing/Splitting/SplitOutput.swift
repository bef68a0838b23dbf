public import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Files that follow each other, each whole, so that a recording of any length can be played, copied and deleted in
/// pieces. With a limit for all of them the oldest are deleted.
///
/// ```swift
/// let split = try SplitOutput("cam-%Y%m%d-%H%M%S.webm", every: .duration(.seconds(600)), keep: [.bytes(20_000_000_000)]) {
///     try FileOutput($0)
/// }
/// try publisher.add(split)
/// ```
/// A file begins with a key frame, which is requested when one is due, and ends where the next begins: no frame is lost
/// or written twice.
///
/// A disk that is full, or goes away, does not end a recording in real time: the next file begins once there is room again, and
/// the time between is lost. A warning says so, and so does the failure of the output where the recording ends meanwhile. Files
/// of frames, such as raw ones, end with their first failure. Safe to use from any thread.
public final class SplitOutput: MediaOutput {
    /// When a file ends.
    public enum Interval: Sendable, Hashable {
        /// After a time by the frames' timestamps, counted from the first frame of all, so that it does not drift.
        case duration(Duration)
        /// At the multiples of a time by the local clock, such as full hours, and at midnight.
        case clock(Duration)
        /// When it has that number of bytes; the last frames and the end of the format come on top.
        case bytes(Int64)
    }

    /// What is kept of the files that the pattern names, those of earlier runs included; the oldest go first.
    ///
    /// A file counts, and may be deleted, only when its name is exactly one that the pattern makes and it begins as files of
    /// the output's ``MediaOutput/kind`` do.
    public enum Limit: Sendable, Hashable {
        /// A number of files, the one that is written included.
        case files(Int)
        /// A number of bytes, without the file that is written.
        case bytes(Int64)
        /// A time since a file was changed last.
        case age(Duration)
        /// A number of bytes that stay free on the disk, as far as these files are in the way.
        case free(Int64)
        /// A part of the disk that stays free, from 0 to 1.
        case freeFraction(Double)
    }

    private let files: SplitFiles
    private let interval: Interval
    private let retention: FileRetention
    private let wallClock: @Sendable () -> Duration
    /// How long a disk that failed is left alone.
    let retryInterval: Duration
    private let make: @Sendable (String) throws -> any MediaOutput
    /// Says what it takes; never opened.
    private let model: any MediaOutput
    private let state: Locked<State>

    private struct State {
        var current: (any MediaOutput)?
        var firstPath: String
        var lastPath: String
        var number: Int
        var filesEnded = 0
        var bytesEnded: Int64 = 0
        var filesDeleted = 0
        var writeTimeout: Duration?
        var context: OutputContext?
        var start: MediaTime?
        /// How many intervals have passed.
        var intervals = 0
        /// When the next multiple by the clock is.
        var boundary: MediaTime?
        /// Whether the file is to end with the next key frame.
        var isReopening = false
        /// The file that is written, for the index, and the time of its first packet.
        var recording: Recording?
        var recordingStart: MediaTime?
        /// What to add to the time of a packet for that of the wall clock.
        var clockOffset: Duration?
        /// Why no file is written; nil while one is.
        var failure: (any Error)?
        var outages = 0
        var timeLost = Duration.zero

        /// What the disk has lost, in a sentence.
        var outageText: String {
            guard outages > 0 else { return "" }
            let count = outages == 1 ? "once" : "\(outages) times"
            return " The disk failed \(count); \(fixed(timeLost.seconds, 1)) s are lost."
        }
    }

    /// Files by a pattern.
    ///
    /// - Parameters:
    ///   - pattern: a path with fields for a number (`%03d`) or the time (`%H%M%S`, see strftime(3)) in the file's name; one
    ///     without fields gets a number before its extension. Numbers go on after those that exist, and a time that a file
    ///     has already gets `-2`, `-3` and so on: no file is overwritten.
    ///   - interval: when a file ends.
    ///   - limits: each of them holds; empty to keep everything. They are checked when a file begins.
    ///   - make: makes the output for a path that no file has; called for each file.
    /// - Throws: `OptionError` for a pattern or a limit that cannot be used, and what `make` throws.
    public convenience init(
        _ pattern: String, every interval: Interval, keep limits: [Limit] = [],
        _ make: @escaping @Sendable (String) throws -> any MediaOutput
    ) throws {
        try self.init(pattern, every: interval, keep: limits, wallClock: { wallClockTime() }, make)
    }

    /// - Parameters:
    ///   - wallClock: the time since 1970, for intervals by the clock.
    ///   - retryInterval: how long a disk that failed is left alone.
    init(
        _ pattern: String, every interval: Interval, keep limits: [Limit] = [],
        retryInterval: Duration = .seconds(2), wallClock: @escaping @Sendable () -> Duration,
        _ make: @escaping @Sendable (String) throws -> any MediaOutput
    ) throws {
        switch interval {
        case .duration(let time) where time <= .zero, .clock(let time) where time <= .zero:
            throw OptionError("split", "\(time)", "not a time above zero.")
        case .bytes(let bytes) where bytes <= 0: throw OptionError("split", "\(bytes)", "not a size above zero.")
        default: break
        }
        files = try SplitFiles(pattern)
        self.interval = interval
        self.wallClock = wallClock
        self.retryInterval = retryInterval
        self.make = make
        var number = files.nextNumber
        let path = try files.nextPath(&number, time: SplitOutput.now)
        model = try make(path)
        retention = FileRetention(files: files, limits: limits, kind: model.kind)
        state = Locked(State(firstPath: path, lastPath: path, number: number))
    }

    public var name: String { state.withLock { $0.firstPath } }
    public var kind: String { model.kind }
    public var feed: OutputContext.Feed { model.feed }
    public var audioFeed: OutputContext.AudioFeed? { model.audioFeed }
    public var silenceReason: String? { model.silenceReason }
    public func problem(passing tracks: [TrackDescription]) -> String? { model.problem(passing: tracks) }
    public var path: String? { state.withLock { $0.lastPath } }
    public var limitsOwnWaits: Bool { state.withLock { $0.current }?.limitsOwnWaits ?? model.limitsOwnWaits }

    // MARK: Life

    public func open(_ context: OutputContext) throws -> OutputContext.Destination {
        state.withLock { $0.context = context }
        switch try openNext() {
        case .sink(let sink): return .sink(SplitSink(sink, of: self))
        case .consumer(let consumer):
            return .consumer(SplitConsumer(consumer, of: self, fail: context.fail))
        // Samples have no place to begin a file at: they stay in the first.
        case .audioConsumer(let consumer): return .audioConsumer(consumer)
        case .receivers: return .receivers
        }
    }

    public func close(at end: MediaTime?) throws {
        if let failure = state.withLock({ $0.failure }) { throw failure }
        let current = state.withLock { $0.current }
        defer { endRecording() }
        try current?.close(at: end)
    }

    /// Ends the file with the next key frame, which is requested.
    public func reopen() { state.withLock { $0.isReopening = true } }

    public func discard() { state.withLock { $0.current }?.discard() }

    public func sourceStateChanged(to new: CaptureState) { state.withLock { $0.current }?.sourceStateChanged(to: new) }

    public func setWriteTimeout(_ timeout: Duration?) {
        let current = state.withLock { state in
            state.writeTimeout = timeout
            return state.current
        }
        current?.setWriteTimeout(timeout)
    }

    public var outputStatistics: OutputStatistics {
        let state = state.withLock { $0 }
        let last = state.current?.outputStatistics
        var result = OutputStatistics(bytes: state.bytesEnded &+ (last?.bytes ?? 0), details: last?.details ?? [])
        let count = state.filesEnded + (state.current == nil ? 0 : 1)
        result.details.append(("files", .integer(Int64(count))))
        result.details.append(("filesDeleted", .integer(Int64(state.filesDeleted))))
        result.details.append(("outages", .count(state.outages)))
        result.details.append(("secondsLost", .number(state.timeLost.seconds)))
        guard count > 1 else {
            result.summary = (last?.summary ?? "") + state.outageText
            return result
        }
        result.summary =
            "\(state.firstPath) to \(state.lastPath): \(count) files, \(scaled(Double(result.bytes), "B"))."
        if state.filesDeleted > 0 {
            result.summary +=
                " \(state.filesDeleted) of the oldest \(state.filesDeleted == 1 ? "was" : "were") deleted."
        }
        result.summary += state.outageText
        return result
    }

    // MARK: Files

    /// Whether the file that is written has all that it is to have, and the next may begin at `time`.
    func isDue(at time: MediaTime) -> Bool {
        let (current, start, intervals, boundary) = state.withLock { state in
            state.start = state.start ?? time
            if case .clock(let interval) = self.interval, state.boundary == nil {
                state.boundary = time + timeToBoundary(interval, from: wallClock())
            }
            return (state.current, state.start ?? time, state.intervals, state.boundary)
        }
        if state.withLock({ $0.isReopening }) { return true }
        switch interval {
        case .duration(let interval): return time - start >= interval * (intervals + 1)
        case .clock: return boundary.map { time >= $0 } ?? false
        case .bytes(let maximum): return (current?.outputStatistics.bytes ?? 0) >= maximum
        }
    }

    /// Completes the file, whose sink has been finished, and opens the next one.
    func next(at time: MediaTime) throws -> OutputContext.Destination {
        let current = state.withLock { state in
            state.boundary = nil
            state.isReopening = false
            if case .duration(let interval) = interval, let start = state.start {
                // Several, when no frame came for longer than one.
                while time - start >= interval * (state.intervals + 1) { state.intervals += 1 }
            }
            return state.current
        }
        try current?.close(at: time)
        didEnd(current)
        return try openNext()
    }

    private func didEnd(_ current: (any MediaOutput)?) {
        guard let current else { return }
        endRecording()
        state.withLock { state in
            state.bytesEnded &+= current.outputStatistics.bytes
            state.filesEnded += 1
            state.current = nil
        }
    }

    private func openNext() throws -> OutputContext.Destination {
        var (number, context, isFirst) = state.withLock { ($0.number, $0.context!, $0.filesEnded == 0) }
        let path = isFirst ? state.withLock { $0.firstPath } : try files.nextPath(&number, time: SplitOutput.now)
        let output = isFirst ? model : try make(path)
        output.setWriteTimeout(state.withLock { $0.writeTimeout })
        // First, so that there is space for the next one.
        deleteOldest(besides: path)
        let destination = try output.open(context)
        state.withLock { state in
            state.current = output
            state.lastPath = path
            state.number = number + 1
        }
        return destination
    }

    // MARK: The index

    /// Takes the time of a picture that is written, or of sound where there are no pictures.
    func record(_ packet: MediaPacket) {
        let begun = state.withLock { state -> (Recording, RecordingIndex)? in
            guard let context = state.context, context.pacing == .realTime, let index = context.recording.index else {
                return nil
            }
            if let start = state.recordingStart {
                state.recording?.duration = packet.timestamp + packet.duration - start
                return nil
            }
            let offset = wallClock() - (MonotonicClock().now - .zero)
            // The same for all files, unless the clock is set: so they are contiguous.
            let isSet = state.clockOffset.map { (offset - $0).nanoseconds.magnitude > 50_000_000 } ?? true
            if isSet { state.clockOffset = offset }
            let date = packet.timestamp - .zero + (state.clockOffset ?? offset)
            let recording = Recording(path: state.lastPath, start: date, duration: .zero, isOngoing: true)
            (state.recording, state.recordingStart) = (recording, packet.timestamp)
            return (recording, index)
        }
        if let (recording, index) = begun { index.begin(recording) }
    }

    private func endRecording() {
        let ended = state.withLock { state -> (Recording, RecordingIndex)? in
            state.recordingStart = nil
            guard var recording = state.recording.take(), let index = state.context?.recording.index else { return nil }
            recording.isOngoing = false
            return (recording, index)
        }
        if let (recording, index) = ended { index.end(recording) }
    }

    // MARK: Outages

    /// Ends a file that has failed, whose sink has been finished.
    ///
    /// - Parameters:
    ///   - error: the failure.
    ///   - isAgain: whether the disk has not recovered from the failure before.
    /// - Throws: the failure, where the recording cannot go on without the file.
    func abandon(_ error: any Error, isAgain: Bool) throws {
        let (context, current, path) = state.withLock { ($0.context, $0.current, $0.lastPath) }
        guard let context, context.pacing == .realTime, !context.isStopRequested() else { throw error }
        if isAgain {
            // Otherwise a full disk would get many files without contents.
            current?.discard()
            endRecording()
            state.withLock { state in (state.failure, state.current) = (error, nil) }
            return
        }
        try? current?.close(at: nil)
        didEnd(current)
        state.withLock { state in
            state.failure = error
            state.outages += 1
        }
        context.warn("\(path): the file is not whole. \(error) The recording goes on when the disk takes files again.")
    }

    /// The disk has taken a file after an outage.
    ///
    /// - Parameter lost: the time that no file has.
    func didRecover(lost: Duration) {
        let (context, path) = state.withLock { state in
            state.failure = nil
            state.timeLost += lost
            return (state.context, state.lastPath)
        }
        context?.warn("\(path): the recording goes on; \(fixed(lost.seconds, 1)) s are lost.")
    }

    /// The disk took no file again until the end.
    func didStayAway(lost: Duration) { state.withLock { $0.timeLost += lost } }

    /// Seconds since 1970.
    private static var now: Int64 { Int64(time(nil)) }

    private func deleteOldest(besides path: String) {
        let count = retention.deleteOldest(besides: [path])
        if count > 0 { state.withLock { $0.filesDeleted += count } }
    }
}

/// Splits frames, at any of them.
private final class SplitConsumer: VideoCaptureConsumer {
    private let output: SplitOutput
    private let fail: @Sendable (any Error) -> Void
    private let consumer: Locked<(any VideoCaptureConsumer)?>

    init(
        _ consumer: any VideoCaptureConsumer, of output: SplitOutput, fail: @escaping @Sendable (any Error) -> Void
    ) {
        self.output = output
        self.fail = fail
        self.consumer = Locked(consumer)
    }

    func consumeFrame(_ frame: VideoFrame) {
        guard let current = consumer.withLock({ $0 }) else { return }
        guard output.isDue(at: frame.timestamp) else { return current.consumeFrame(frame) }
        do {
            guard case .consumer(let next) = try output.next(at: frame.timestamp) else {
                preconditionFailure("an output of frames has opened for packets")
            }
            consumer.withLock { $0 = next }
            next.consumeFrame(frame)
        } catch {
            consumer.withLock { $0 = nil }
            fail(error)
        }
    }
}
