import AudioCapturing
public import AudioRendering
import Loudspeaker
public import MediaPublishing

/// The sound of a publisher, heard: an output in addition to others, or alone.
///
/// ```swift
/// let publisher = MediaPublisher(video: capture, audio: MicrophoneCapturer(), settings: settings)
/// try publisher.add(FileOutput("av.webm"))
/// try publisher.add(LoudspeakerOutput())
/// ```
/// A device that is not there is an error at the beginning; one that is unplugged later is waited for, with a warning, and the
/// other outputs go on.
public final class LoudspeakerOutput: MediaOutput {
    private let makeRenderer: @Sendable () -> any AudioRenderer
    private let latency: Duration
    private let playback = Locked<AudioPlayback?>(nil)

    public let name: String
    public let kind = "loudspeaker"
    public let feed = OutputContext.Feed.noVideo
    public let audioFeed: OutputContext.AudioFeed? = .samples

    /// An output that opens nothing yet.
    ///
    /// - Parameters:
    ///   - device: a name of ALSA: `default`, `hw:0`, `plughw:CARD=Headset`.
    ///   - latency: how much sound is held between the capture and the ear.
    public convenience init(_ device: String = "default", latency: Duration = .milliseconds(150)) {
        self.init(name: device, latency: latency) { Loudspeaker(device) }
    }

    /// An output that opens nothing yet, to any renderer.
    ///
    /// - Parameters:
    ///   - name: for messages and statistics.
    ///   - latency: how much sound is held between the capture and the ear.
    ///   - makeRenderer: makes the renderer when the output is opened.
    public init(
        name: String, latency: Duration = .milliseconds(150), makeRenderer: @escaping @Sendable () -> any AudioRenderer
    ) {
        self.name = name
        self.latency = latency
        self.makeRenderer = makeRenderer
    }

    public func open(_ context: OutputContext) throws -> OutputContext.Destination {
        let made = AudioPlayback(makeRenderer(), latency: latency) { error in
            context.warn("\(error) It is opened again when it is back.")
        }
        try made.open(context.audioFormat ?? .float48kStereo)
        playback.withLock { $0 = made }
        return .audioConsumer(made)
    }

    public func close(at end: MediaTime?) { playback.withLock { $0 }?.close() }

    /// What was played.
    public var statistics: AudioPlayback.Statistics { playback.withLock { $0 }?.statistics ?? .init() }

    public var outputStatistics: OutputStatistics {
        let played = statistics
        var result = OutputStatistics(bytes: 0)
        let underruns =
            switch played.underruns {
            case 0: "without an underrun"
            case 1: "with 1 underrun"
            case let count: "with \(count) underruns"
            }
        result.summary = "Played on the loudspeaker \(name), \(underruns)."
        result.details = [
            ("framesPlayed", .integer(played.framesPlayed)), ("framesDropped", .integer(played.framesDropped)),
            ("underruns", .count(played.underruns)), ("failures", .count(played.failures)),
            ("levelMilliseconds", .number(played.level.seconds * 1000)),
            ("rateCorrection", .number(played.rateCorrection)),
        ]
        return result
    }
}

extension OutputEntry {
    /// A loudspeaker, as `-o loudspeaker` and `-o loudspeaker:DEVICE`.
    public static let loudspeaker = OutputEntry(
        name: "loudspeaker", summary: "plays the sound; loudspeaker:DEVICE selects an ALSA device",
        needsTarget: false, defaultTarget: "default",
        make: { request in LoudspeakerOutput(request.target) })
}
