public import VideoCapturing

/// Files of what triggers were fired for: each begins before its trigger, and ends some time after the last one.
///
/// ```swift
/// let clips = try TriggeredOutput("door-%Y%m%d-%H%M%S.webm", configuration: .init(preroll: .seconds(10))) {
///     try FileOutput($0)
/// }
/// try publisher.add(clips)
/// try publisher.start()
/// publisher.recording.fire(.key)
/// ```
/// A ``PacketRing`` keeps the last seconds in memory, sound included. A clip begins with the last key frame that is not later than
/// its trigger less the pre-roll, and ends at its last trigger and the post-roll. A trigger that comes while a clip is recorded
/// extends it; one that comes later begins another, which may begin with pictures that the last one has as well.
///
/// A separate thread writes the files. A disk that is slow delays a clip, up to a limit of bytes; then the clip loses whole
/// groups of pictures. A file that fails ends its clip alone; the next trigger begins another one. Safe to use from any thread.
public final class TriggeredOutput: MediaOutput {
    /// The length of clips, and the limits of their files.
    public struct Configuration: Sendable, Hashable {
        /// How much time before its trigger a clip has.
        public var preroll: Duration
        /// How much time after its last trigger a clip has.
        public var postroll: Duration
        /// The maximum number of bytes for the time before a trigger; as many again, twice, may wait for a slow disk.
        public var maximumBytes: Int
        /// When a clip goes on in another file, its size left aside; nil for one file each.
        public var split: SplitOutput.Interval?
        /// The limits of the files that the pattern names, those of earlier runs included; empty for none.
        public var keep: [SplitOutput.Limit]
        /// Whether a still of the name of ``TriggeredOutput/stillPath(of:)`` is deleted with its clip.
        public var keepsStills = false

        /// A configuration; see the properties.
        public init(
            preroll: Duration = .seconds(10), postroll: Duration = .seconds(10), maximumBytes: Int = 64 << 20,
            split: SplitOutput.Interval? = nil, keep: [SplitOutput.Limit] = []
        ) {
            self.preroll = preroll
            self.postroll = postroll
            self.maximumBytes = maximumBytes
            self.split = split
            self.keep = keep
        }
    }

    /// The path of the files, with fields for a number or the time of the trigger.
    public let pattern: String
    /// The length of clips, and the limits of their files.
    public let configuration: Configuration
    /// Says what it takes; never opened.
    private let model: any MediaOutput
    private let writer: ClipWriter
    private let clock: any CaptureClock
    /// The clips, and what they come from.
    let state: Locked<ClipState>
    private let connection = Locked<(trigger: RecordingTrigger, number: Int)?>(nil)

    /// Triggers come slightly later than what they are about.
    private static let margin = Duration.seconds(1)
    /// How long the end waits for a disk that does not answer.
    private static let diskTimeout = Duration.seconds(30)

    /// Clips by a pattern.
    ///
    /// - Parameters:
    ///   - pattern: a path as of ``SplitOutput``; no file is overwritten. A time is that of the trigger.
    ///   - configuration: the length of clips, and the limits of their files.
    ///   - make: makes the output for a path that no file has; called for each clip.
    /// - Throws: `OptionError` for a pattern or a configuration that cannot be used, and for an output that takes frames, of
    ///   which none can be kept; and what `make` throws.
    public convenience init(
        _ pattern: String, configuration: Configuration = Configuration(),
        _ make: @escaping @Sendable (String) throws -> any MediaOutput
    ) throws {
        try self.init(pattern, configuration, clock: MonotonicClock(), make)
    }

    init(
        _ pattern: String, _ configuration: Configuration, clock: any CaptureClock,
        _ make: @escaping @Sendable (String) throws -> any MediaOutput
    ) throws {
        guard configuration.preroll >= .zero, configuration.postroll >= .zero, configuration.maximumBytes > 0 else {
            throw OptionError("preroll", "\(configuration.preroll)", "not a time of zero or more.")
        }
        let files = try SplitFiles(pattern)
        var number = files.nextNumber
        let path = try files.nextPath(&number, time: wallClockTime().components.seconds)
        model = try make(path)
        if case .frames = model.feed {
            throw OptionError(
                "output", pattern,
                "\(model.kind) holds frames that are not encoded, and such frames cannot wait for a trigger; choose webm "
                    + "or mp4.")
        }
        self.pattern = pattern
        self.configuration = configuration
        self.clock = clock
        let ring = PacketRing(
            duration: configuration.preroll + TriggeredOutput.margin, bytes: configuration.maximumBytes)
        state = Locked(ClipState(stream: PacketStream(ring: ring), firstPath: path))
        writer = ClipWriter(
            state,
            files: FileRetention(
                files: files, limits: configuration.keep, kind: model.kind, hasStills: configuration.keepsStills),
            number: number,
            clock: clock, make)
    }

    /// The path of a still of a clip, next to it: that of the clip with the extension `jpg`.
    public static func stillPath(of path: String) -> String {
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        let dot = path[slash...].lastIndex(of: ".") ?? path.endIndex
        return path[..<dot] + ".jpg"
    }

    /// The pattern.
    public var name: String { pattern }
    public var kind: String { model.kind }
    public var feed: OutputContext.Feed { model.feed }
    public var audioFeed: OutputContext.AudioFeed? { model.audioFeed }
    public var silenceReason: String? { model.silenceReason }
    /// That of the last clip; of the first one before it.
    public var path: String? { state.withLock { $0.lastPath ?? $0.firstPath } }

    // MARK: Life

    public func open(_ context: OutputContext) throws -> OutputContext.Destination {
        try writer.start(context)
        let number = context.recording.connect { [weak self] call in self?.handle(call) }
        connection.withLock { $0 = (context.recording, number) }
        return .sink(TriggeredSink(of: self))
    }

    /// Completes the clip that is being recorded, and waits until the files are written.
    ///
    /// - Throws: `stalled` when the disk does not answer.
    public func close(at end: MediaTime?) throws {
        if let (trigger, number) = connection.withLock({ $0.take() }) { trigger.disconnect(number) }
        state.withLock { state in
            state.isClosing = true
            state.completeAll()
        }
        state.wakeAll()
        let deadline = MonotonicClock().now + TriggeredOutput.diskTimeout
        guard state.wait(until: deadline, for: { $0.isWriting ? nil : () }) != nil else {
            throw CaptureError(
                .stalled, operation: "write", subject: state.withLock { $0.lastPath } ?? pattern,
                message: "The disk has not answered for \(TriggeredOutput.diskTimeout); the last clip is not whole. "
                    + "Check the disk.")
        }
    }

    /// Goes on in another file, where a clip is recorded.
    public func reopen() {
        let feedback = state.withLock { state in
            state.isReopening = true
            return state.feedback
        }
        feedback?.requestKeyFrame()
    }

    public func setWriteTimeout(_ timeout: Duration?) { writer.setWriteTimeout(timeout) }

    // MARK: Triggers

    /// Starts or extends a clip.
    private func handle(_ call: RecordingTrigger.Call) {
        let now = clock.now
        let wall = wallClockTime()
        let (feedback, warning) = state.withLock { state -> (PacketFeedback?, String?) in
            guard let context = state.context, !state.isClosing else { return (nil, nil) }
            let isRealTime = context.pacing == .realTime
            // Other frames have times of their own.
            let present = isRealTime ? now : state.newest ?? now
            let time = min(call.time ?? present, present)
            switch call.phase {
            case .moment: break
            case .begin: state.lasting.insert(call.reason)
            case .end: guard state.lasting.remove(call.reason) != nil else { return (nil, nil) }
            }
            let end = state.lasting.isEmpty ? time + configuration.postroll : nil
            if state.extend(to: end, call.phase == .end ? nil : call.reason) { return (nil, nil) }
            guard call.phase != .end else { return (nil, nil) }
            state.clipsMade += 1
            var clip = Clip(
                number: state.clipsMade, reason: call.reason, detail: call.detail, time: time,
                date: isRealTime ? wall - (now - time) : wall, end: end)
            clip.begin(with: state.stream.ring.packets(from: time - configuration.preroll), of: state.stream)
            state.clips.append(clip)
            return (clip.awaitsKeyFrame ? state.feedback : nil, state.takeWarning(configuration))
        }
        state.wakeAll()
        feedback?.requestKeyFrame()
        if let warning { state.withLock { $0.context }?.warn("\(pattern): \(warning)") }
    }

    // MARK: Packets

    fileprivate func begin(_ tracks: [TrackDescription]) {
        state.withLock { state in
            state.tracks = tracks
            state.stream.ring.begin(tracks)
            state.stream.trackCount = tracks.count
        }
    }

    fileprivate func connectFeedback(_ feedback: PacketFeedback?) { state.withLock { $0.feedback = feedback } }

    fileprivate func write(_ packet: MediaPacket) {
        let (isNews, feedback) = state.withLock { state -> (Bool, PacketFeedback?) in
            guard !state.isClosing else { return (false, nil) }
            let feedback = state.take(packet, configuration)
            return (!state.clips.isEmpty, feedback)
        }
        if isNews { state.wakeAll() }
        feedback?.requestKeyFrame()
    }

    fileprivate func finish() {
        state.withLock { $0.completeAll() }
        state.wakeAll()
    }

    // MARK: Statistics

    public var outputStatistics: OutputStatistics {
        let (counts, current, isRecording, covered, ringBytes, lastPath) = state.withLock { state in
            let ring = state.stream.ring
            return (
                state.counts, state.current, state.clips.contains { !$0.isComplete }, ring.coveredDuration, ring.bytes,
                state.lastPath
            )
        }
        var result = OutputStatistics(bytes: counts.bytes &+ (current?.outputStatistics.bytes ?? 0))
        result.status =
            isRecording ? "recording" : "waiting, \(fixed(covered.seconds, 1)) s of before are kept"
        result.details = [
            ("clips", .count(counts.written)), ("clipsFailed", .count(counts.failed)),
            ("filesDeleted", .count(counts.deleted)), ("recording", .bool(isRecording)),
            ("prerollSeconds", .number(covered.seconds)), ("prerollBytes", .count(ringBytes)),
        ]
        let shown = printable(pattern, limit: 200)
        switch counts.written {
        case 0: result.summary = "\(shown): no clip was recorded."
        case 1: result.summary = "\(printable(lastPath ?? pattern, limit: 200)): 1 clip"
        default: result.summary = "\(shown): \(counts.written) clips"
        }
        if counts.written > 0 { result.summary += ", \(scaled(Double(result.bytes), "B"))." }
        if counts.failed > 0 {
            result.summary += " \(counts.failed) \(counts.failed == 1 ? "clip is" : "clips are") not whole."
        }
        if counts.deleted > 0 {
            result.summary += " \(counts.deleted) of the oldest \(counts.deleted == 1 ? "was" : "were") deleted."
        }
        return result
    }
}

/// Takes the packets of a ``TriggeredOutput``. Called by one thread at a time, as every sink is.
private final class TriggeredSink: FeedbackSink {
    private let output: TriggeredOutput

    init(of output: TriggeredOutput) { self.output = output }

    func connectFeedback(_ feedback: PacketFeedback?) { output.connectFeedback(feedback) }
    func begin(_ tracks: [TrackDescription]) { output.begin(tracks) }
    func write(_ packet: MediaPacket) { output.write(packet) }
    func finish() { output.finish() }
}
