import MediaPublishing
import NoiseCapturer
import Testing
import VP8Codec
import VideoCapturing

/// What happens to a run, kept for a test that waits for it.
final class RunLog: Sendable {
    private struct State {
        var end: MediaPublisher.Event.End?
        var failures: [(outputs: [Int], error: any Error)] = []
        var completed: [Int] = []
        var warnings: [String] = []
    }

    private let state = Locked(State())

    init(_ publisher: MediaPublisher) {
        publisher.setEventHandler { [state] event in
            state.withLock { state in
                switch event {
                case .ended(let end): state.end = end
                case .outputsFailed(let outputs, let error): state.failures.append((outputs.map(\.index), error))
                case .outputCompleted(let output): state.completed.append(output.index)
                case .warning(let warning): state.warnings.append(warning)
                }
            }
            state.wakeAll()
        }
    }

    var end: MediaPublisher.Event.End? { state.withLock { $0.end } }
    var failures: [(outputs: [Int], error: any Error)] { state.withLock { $0.failures } }
    var completed: [Int] { state.withLock { $0.completed } }
    var warnings: [String] { state.withLock { $0.warnings } }

    /// The end, for which it waits.
    func waitForEnd() throws -> MediaPublisher.Event.End {
        try #require(state.wait(until: RunLog.limit) { $0.end }, "the run has not ended")
    }

    /// Waits for a number of failures.
    func waitForFailures(_ count: Int) throws {
        try #require(state.wait(until: RunLog.limit) { $0.failures.count >= count ? () : nil } != nil)
    }

    static var limit: MediaTime { MonotonicClock().now.advanced(by: .seconds(60)) }
}

/// A publisher of white noise of 16x8.
func noisePublisher(
    frames: UInt64? = nil, rate: FrameRate? = nil, _ change: (inout MediaPublisher.Settings) -> Void = { _ in }
) -> MediaPublisher {
    var settings = MediaPublisher.Settings(encoders: [.vp8])
    settings.maximumFrames = frames
    settings.pacing = rate == nil ? .onDemand : .realTime
    change(&settings)
    return MediaPublisher(
        video: NoiseCapturer(format: .i420(width: 16, height: 8), frameRate: rate), settings: settings)
}

/// An output of the test's own.
final class ProbeOutput: MediaOutput {
    let feed: OutputContext.Feed
    private let destination: OutputContext.Destination
    private let onOpen: @Sendable (OutputContext) throws -> Void
    private let calls = Locked<[String]>([])

    init(
        _ consumer: any VideoCaptureConsumer, _ feed: OutputContext.Feed.FrameFeed = .init(),
        onOpen: @escaping @Sendable (OutputContext) throws -> Void = { _ in }
    ) {
        destination = .consumer(consumer)
        self.feed = .frames(feed)
        self.onOpen = onOpen
    }

    init(
        _ sink: any PacketSink, _ feed: OutputContext.Feed.PacketFeed,
        onOpen: @escaping @Sendable (OutputContext) throws -> Void = { _ in }
    ) {
        destination = .sink(sink)
        self.feed = .packets(feed)
        self.onOpen = onOpen
    }

    var name: String { "probe" }
    var kind: String { "probe" }
    var log: [String] { calls.withLock { $0 } }

    func open(_ context: OutputContext) throws -> OutputContext.Destination {
        calls.withLock { $0.append("open") }
        try onOpen(context)
        return destination
    }
    func close(at end: MediaTime?) { calls.withLock { $0.append("close") } }
    func discard() { calls.withLock { $0.append("discard") } }
    var outputStatistics: OutputStatistics { OutputStatistics(bytes: 1) }
}

/// Keeps what it is given.
final class ProbeSink: PacketSink {
    private struct State {
        var tracks: [TrackDescription] = []
        var packets: [MediaPacket] = []
        var isFinished = false
    }

    private let state = Locked(State())

    var packets: [MediaPacket] { state.withLock { $0.packets } }
    var isFinished: Bool { state.withLock { $0.isFinished } }

    func waitForPackets(_ count: Int) throws {
        try #require(state.wait(until: RunLog.limit) { $0.packets.count >= count ? () : nil } != nil)
    }

    func begin(_ tracks: [TrackDescription]) { state.withLock { $0.tracks = tracks } }
    func write(_ packet: MediaPacket) {
        state.withLock { $0.packets.append(packet) }
        state.wakeAll()
    }
    func finish() { state.withLock { $0.isFinished = true } }
}

/// A receiver of an output, whose network carries a bitrate; keeps what it gets.
final class ReceiverSink: FeedbackSink {
    private struct State {
        var tracks: [TrackDescription] = []
        var packets: [MediaPacket] = []
        var feedback: PacketFeedback?
        var isFinished = false
    }

    private let state = Locked(State())
    private let bitrate: Int?

    init(bitrate: Int? = nil) { self.bitrate = bitrate }

    var packets: [MediaPacket] { state.withLock { $0.packets } }
    var tracks: [Codec] { state.withLock { $0.tracks.map(\.codec) } }

    func requestKeyFrame() { state.withLock { $0.feedback }?.requestKeyFrame() }
    func connectFeedback(_ feedback: PacketFeedback?) { state.withLock { $0.feedback = feedback } }
    func begin(_ tracks: [TrackDescription]) {
        let feedback = state.withLock { state in
            state.tracks = tracks
            return state.feedback
        }
        feedback?.requestBitrate(bitrate)
    }
    func write(_ packet: MediaPacket) {
        state.withLock { $0.packets.append(packet) }
        state.wakeAll()
    }
    func finish() {
        state.withLock { $0.isFinished = true }
        state.wakeAll()
    }

    func wait(for count: Int) throws {
        try #require(state.wait(until: RunLog.limit) { $0.packets.count >= count ? () : nil } != nil)
    }
    func waitForEnd() throws { try #require(state.wait(until: RunLog.limit) { $0.isFinished ? () : nil } != nil) }
}

/// Asks for a key frame with each packet.
final class AskingSink: FeedbackSink {
    private let state = Locked((feedback: PacketFeedback?.none, keyFrames: 0))

    func connectFeedback(_ feedback: PacketFeedback?) { state.withLock { $0.feedback = feedback } }

    func waitForKeyFrames(_ count: Int) -> Bool {
        state.wait(until: RunLog.limit) { $0.keyFrames >= count ? () : nil } != nil
    }

    func begin(_ tracks: [TrackDescription]) {}
    func write(_ packet: MediaPacket) {
        let feedback = state.withLock { state in
            if packet.isKeyFrame { state.keyFrames += 1 }
            return state.feedback
        }
        state.wakeAll()
        feedback?.requestKeyFrame()
    }
    func finish() {}
}
