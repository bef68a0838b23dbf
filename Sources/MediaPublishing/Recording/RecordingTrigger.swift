public import VideoCapturing

/// What starts the clips of ``TriggeredOutput``s, and reports them: any code may fire it, at any time and on any thread.
///
/// ```swift
/// let publisher = MediaPublisher(video: capture, settings: settings)
/// try publisher.add(TriggeredOutput("door-%Y%m%d-%H%M%S.webm") { try FileOutput($0) })
/// publisher.recording.setEventHandler { print($0.phase, $0.path) }
/// try publisher.start()
/// publisher.recording.fire("doorbell")          // one moment
/// publisher.recording.begin(.motion)            // something that lasts …
/// publisher.recording.end(.motion)              // … up to now
/// ```
/// No call waits for a file.
public final class RecordingTrigger: Sendable {
    /// Why a clip is recorded: a word.
    public struct Reason: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The word.
        public let rawValue: String

        /// A reason by its word.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// A reason by its word.
        public init(stringLiteral value: String) { rawValue = value }

        /// A signal to the process.
        public static let signal: Reason = "signal"
        /// A key of the user.
        public static let key: Reason = "key"
        /// A request over HTTP.
        public static let http: Reason = "http"
        /// Sound above the noise; see ``SoundTrigger``.
        public static let sound: Reason = "sound"
        /// Something that moves in the picture.
        public static let motion: Reason = "motion"

        /// The word.
        public var description: String { rawValue }
    }

    /// A call of the trigger, for the outputs.
    struct Call: Sendable {
        enum Phase: Sendable { case moment, begin, end }

        var phase: Phase
        var reason: Reason
        var time: MediaTime?
        var detail: String?
    }

    private struct State {
        var receivers: [Int: @Sendable (Call) -> Void] = [:]
        var receiversMade = 0
        var accepted: Set<Reason>?
        var handler: (@Sendable (RecordingEvent) -> Void)?
        var index: RecordingIndex?
    }

    private let state = Locked(State())

    /// A trigger that records nothing yet.
    public init() {}

    // MARK: Firing

    /// Records from before a moment until after it. A clip that is being recorded is extended.
    ///
    /// - Parameters:
    ///   - reason: why.
    ///   - time: the moment, on the time line of the frames; nil for now.
    ///   - detail: the finding, such as an area, for the event; nil for nothing.
    /// - Returns: whether an output records for this reason.
    @discardableResult
    public func fire(_ reason: Reason, at time: MediaTime? = nil, detail: String? = nil) -> Bool {
        call(Call(phase: .moment, reason: reason, time: time, detail: detail))
    }

    /// Records from before a moment for as long as the reason lasts, which ``end(_:at:)`` ends. A reason that lasts already is
    /// not begun again.
    ///
    /// - Parameters:
    ///   - reason: why.
    ///   - time: the moment, on the time line of the frames; nil for now.
    ///   - detail: the finding, such as an area, for the event; nil for nothing.
    /// - Returns: whether an output records for this reason.
    @discardableResult
    public func begin(_ reason: Reason, at time: MediaTime? = nil, detail: String? = nil) -> Bool {
        call(Call(phase: .begin, reason: reason, time: time, detail: detail))
    }

    /// Ends a reason: the clip goes on for the outputs' post-roll, or as long as another reason lasts.
    ///
    /// - Parameters:
    ///   - reason: why.
    ///   - time: the moment, on the time line of the frames; nil for now.
    public func end(_ reason: Reason, at time: MediaTime? = nil) {
        call(Call(phase: .end, reason: reason, time: time))
    }

    @discardableResult
    private func call(_ call: Call) -> Bool {
        let receivers = state.withLock { state in
            state.accepted?.contains(call.reason) ?? true ? Array(state.receivers.values) : []
        }
        for receiver in receivers { receiver(call) }
        return !receivers.isEmpty
    }

    /// Whether a reason starts clips: an output is there that records, and the reason is accepted.
    public func isAccepted(_ reason: Reason) -> Bool {
        state.withLock { !$0.receivers.isEmpty && $0.accepted?.contains(reason) ?? true }
    }

    /// Limits the reasons that start clips.
    ///
    /// - Parameter reasons: those that do; nil, as in the beginning, for all.
    public func setAccepted(_ reasons: Set<Reason>?) { state.withLock { $0.accepted = reasons } }

    // MARK: Events

    /// Sets the handler that is called with the begin and the end of each clip, on a thread that writes clips: what it takes
    /// delays the next clip, but no capture.
    public func setEventHandler(_ handler: @escaping @Sendable (RecordingEvent) -> Void) {
        state.withLock { $0.handler = handler }
    }

    /// Sets the index to which outputs report their files, and from which a server plays them; nil, as in the beginning, for
    /// none.
    public func setIndex(_ index: RecordingIndex?) { state.withLock { $0.index = index } }

    /// The index of the recordings; see ``setIndex(_:)``.
    public var index: RecordingIndex? { state.withLock { $0.index } }

    func post(_ event: RecordingEvent) { state.withLock { $0.handler }?(event) }

    // MARK: Outputs

    /// Connects an output.
    ///
    /// - Parameter receiver: called on any thread; must not wait.
    /// - Returns: the number by which to disconnect it.
    func connect(_ receiver: @escaping @Sendable (Call) -> Void) -> Int {
        state.withLock { state in
            state.receiversMade += 1
            state.receivers[state.receiversMade] = receiver
            return state.receiversMade
        }
    }

    func disconnect(_ number: Int) { state.withLock { _ = $0.receivers.removeValue(forKey: number) } }
}

/// The begin or the end of a clip.
public struct RecordingEvent: Sendable {
    /// Which of the two.
    public enum Phase: String, Sendable, Hashable {
        /// The file has been opened.
        case begin
        /// The file is complete, or lost.
        case end
    }

    /// Which of the two.
    public var phase: Phase
    /// The number of the clip at its output, from 1.
    public var clip: Int
    /// Why it is recorded, the first reason first. At the end those that have extended it as well.
    public var reasons: [RecordingTrigger.Reason]
    /// What the first trigger has found; nil for nothing.
    public var detail: String?
    /// The path of the file.
    public var path: String
    /// When the first trigger came, or the clip ended, by the wall clock: the time since 1970.
    public var date: Duration
    /// How much time the file holds, by its pictures; zero at the begin.
    public var duration: Duration
    /// The bytes of the file.
    public var bytes: Int64
    /// Why the file is not whole, or not there; nil for success.
    public var error: (any Error)?
    /// The path of a still of its begin; nil without one. The outputs take none: a handler may.
    public var still: String?

    /// An event; see the properties.
    public init(
        phase: Phase, clip: Int, reasons: [RecordingTrigger.Reason], detail: String? = nil, path: String,
        date: Duration, duration: Duration = .zero, bytes: Int64 = 0, error: (any Error)? = nil
    ) {
        self.phase = phase
        self.clip = clip
        self.reasons = reasons
        self.detail = detail
        self.path = path
        self.date = date
        self.duration = duration
        self.bytes = bytes
        self.error = error
    }
}
