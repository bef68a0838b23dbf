public import AudioCapturing
public import VideoCapturing

/// Somewhere a capture goes: a file, a server, a network peer, a window. A ``MediaPublisher`` opens it, feeds it with
/// frames or packets, and closes it.
///
/// **Order.** open → frames or packets → close. ``open(_:)`` comes once, before the first frame; ``close(at:)`` comes once
/// after a successful ``open(_:)``, after the last frame; ``discard()`` comes in place of it when the run has not begun, and
/// after it when nothing was written.
///
/// **Threads.** open, close and discard come from the threads that use the publisher, one at a time; frames and packets
/// from a thread of the publisher, or those threads; all else from any thread.
public protocol MediaOutput: AnyObject, Sendable {
    /// The name for messages and statistics: a path, or a URL without its secrets.
    var name: String { get }

    /// The format or the protocol, in a word: `webm`, `rtmp`.
    var kind: String { get }

    /// What it takes of the pictures, known before it is opened.
    var feed: OutputContext.Feed { get }

    /// What it takes of the sound, known before it is opened; nil, the default, for an output without sound.
    var audioFeed: OutputContext.AudioFeed? { get }

    /// The reason why it takes no sound, such as `AVI carries no sound`. The user is warned with it where the capture has
    /// sound. Nil for outputs that take sound, and for outputs without an expectation of sound, such as stills.
    var silenceReason: String? { get }

    /// Opens the file or the connection. May block until a reader is there, as long as ``OutputContext/isStopRequested`` is
    /// false.
    ///
    /// - Throws: a typed error; nothing is left behind then.
    func open(_ context: OutputContext) throws -> OutputContext.Destination

    /// Completes the output. A packet sink has been finished before.
    ///
    /// - Parameter end: the end of the last frame on the frames' time line; nil when it follows from the frames.
    /// - Throws: the error of closing, or the first error of writing when it was not reported by
    ///   ``OutputContext/fail``.
    func close(at end: MediaTime?) throws

    /// Closes, and removes what ``open(_:)`` has created: the run did not begin, or gave nothing.
    func discard()

    /// The state of the capture, for outputs that show why nothing comes.
    func sourceStateChanged(to state: CaptureState)

    /// Limits how long a write may wait for a reader that takes nothing; nil for indefinitely. Thread-safe, and effective
    /// for a write that waits already.
    func setWriteTimeout(_ timeout: Duration?)

    /// Whether each of its waits ends by the write timeout, so that its queue needs no timeout. Known once it is open.
    var limitsOwnWaits: Bool { get }

    /// The path of the file that it writes, `-` for standard output; nil for other outputs.
    var path: String? { get }

    /// The paths of all files that it is to write, where these are known before it is opened; ``path`` for most.
    var paths: [String] { get }

    /// Why it cannot take packets of these tracks as they come, in a sentence; nil where it can. Known before it is opened.
    func problem(passing tracks: [TrackDescription]) -> String?

    /// An output that belongs to this one, such as the packets of a server that takes frames; nil for most. It is added,
    /// opened, completed and removed with it.
    var companion: (any MediaOutput)? { get }

    /// Takes a still of this moment, where the output is one that does so on request. It must not wait.
    func takeStill()

    /// Ends its file and goes on in another one, where it writes files that follow each other; does nothing otherwise. It must
    /// not wait.
    func reopen()

    /// Whether it only serves the others, as one that takes stills when a key asks for them: a run whose other outputs have
    /// ended is over.
    var isAuxiliary: Bool { get }

    /// What it has done so far.
    var outputStatistics: OutputStatistics { get }
}

extension MediaOutput {
    public var audioFeed: OutputContext.AudioFeed? { nil }
    /// For outputs of packets that take no sound.
    public var silenceReason: String? {
        guard case .packets = feed, audioFeed == nil else { return nil }
        return "\(kind) carries pictures only"
    }
    public func close(at end: MediaTime?) throws {}
    public func discard() { try? close(at: nil) }
    public func sourceStateChanged(to state: CaptureState) {}
    public func setWriteTimeout(_ timeout: Duration?) {}
    public var limitsOwnWaits: Bool { false }
    public var path: String? { nil }
    public var companion: (any MediaOutput)? { nil }
    public func takeStill() {}
    public func reopen() {}
    public var isAuxiliary: Bool { false }
    public var paths: [String] { path.map { [$0] } ?? [] }
}

extension OutputContext {
    /// What an output takes.
    public enum Feed: Sendable, Hashable {
        /// Frames.
        case frames(FrameFeed)
        /// Encoded packets.
        case packets(PacketFeed)
        /// Nothing: it is for sound alone; see ``MediaOutput/audioFeed``.
        case noVideo

        /// Frames as an output needs them.
        public struct FrameFeed: Sendable, Hashable {
            /// The pixel format; nil for that of the capture.
            public var pixelFormat: PixelFormat?
            /// Whether frames are to be rotated for display, and to keep the size of the first one. Otherwise they come as they
            /// are, on the capture's thread where the consumer allows that.
            public var isConverted: Bool
            /// The queue; nil for that of a file, which gets every frame.
            public var queue: VideoPublisher.QueueSettings?

            /// Frames; see the properties.
            public init(
                pixelFormat: PixelFormat? = nil, isConverted: Bool = true, queue: VideoPublisher.QueueSettings? = nil
            ) {
                self.pixelFormat = pixelFormat
                self.isConverted = isConverted
                self.queue = queue
            }
        }

        /// Packets as an output needs them.
        public struct PacketFeed: Sendable, Hashable {
            /// The codecs that it can carry, the preferred one first.
            public var codecs: [Codec]
            /// Whether they go to a file, or to somebody who waits for them.
            public var purpose: EncodingSettings.Purpose
            /// Whether it has a bandwidth of its own, and so needs an encoder of its own. Its sink is to be a `FeedbackSink`: key
            /// frames are made when it asks for them, rate and size of the frames follow the bitrate that it asks for, and
            /// VP8 has three temporal layers, unless the settings say otherwise. Packets that are passed on to it keep their bitrate.
            public var needsOwnEncoder: Bool
            /// The codecs with which players learn the shape of the pixels. With others the output gets square ones. H.264
            /// has a field for it that players obey, but not browsers that receive WebRTC; VP8 has none, and needs a container's.
            public var pixelAspectCodecs: [Codec]
            /// Whether a live output needs no key frame on request when a receiver comes, as a server that gets the whole stream,
            /// or keeps the packets since the last key frame. A program may pass packets of a live capture on to it by default.
            public var takesKeyFramesAsTheyCome = false
            /// Whether players learn how to rotate and mirror pictures that are passed on.
            public var statesOrientation = false
            /// Whether players show pictures that are decoded in another order than they are shown in (B-frames).
            public var takesReorderedPictures = true
            /// Whether its packets go to receivers that come and go, each with a separate bandwidth; see
            /// ``OutputContext/addReceiver``. The encoder works only while there are any. Where the settings choose an encoder that
            /// makes none of ``codecs``, it has the first one that does.
            public var servesReceivers = false
            /// The maximum bitrate, in bits per second; nil for that of the settings.
            public var maximumBitrate: Int?
            /// The rate at which it gets frames at least, also while the capture gives none: the last one again, in real time.
            package var minimumFrameRate: FrameRate?

            /// Packets; see the properties.
            public init(
                codecs: [Codec], purpose: EncodingSettings.Purpose = .file, needsOwnEncoder: Bool = false,
                pixelAspectCodecs: [Codec] = [.h264]
            ) {
                self.codecs = codecs
                self.pixelAspectCodecs = pixelAspectCodecs
                self.purpose = purpose
                self.needsOwnEncoder = needsOwnEncoder
            }
        }
    }
}

extension OutputContext {
    /// What an output takes of the sound: 48 kHz by the clock of the pictures, without a gap, beginning and ending with
    /// them; silence where there is none.
    public enum AudioFeed: Sendable, Hashable {
        /// Samples, `float32`, mono or stereo as the capture; see ``OutputContext/audioFormat``.
        case samples
        /// Packets of one of these codecs, the preferred one first, to the same sink as those of the pictures.
        case packets([Codec])
    }

    /// Where the frames or packets of an open output go.
    public enum Destination: Sendable {
        /// Frames, for a ``OutputContext/Feed/frames(_:)``.
        case consumer(any VideoCaptureConsumer)
        /// Packets, for a ``OutputContext/Feed/packets(_:)``, and for those of the sound.
        case sink(any PacketSink)
        /// Packets, for the sinks of receivers; see ``OutputContext/addReceiver``.
        case receivers
        /// Samples, for a ``OutputContext/AudioFeed/samples``.
        case audioConsumer(any AudioCaptureConsumer)
    }
}

/// What an output learns of the capture when it is opened, and how it reports problems. Safe to use from any thread.
public struct OutputContext: Sendable {
    /// The format of the capture's frames, before the orientation is applied.
    public var format: VideoFormat
    /// The format of the sound that the output gets; nil for none.
    public var audioFormat: AudioFormat?
    /// The name of the capture's source, such as a camera; nil where it has none.
    public var sourceName: String?
    /// The clockwise rotation of the frames to apply for display.
    public var orientation: VideoOrientation
    /// How the capture's frames are timed.
    public var pacing: MediaPublisher.Pacing
    /// The duration after which the run ends; nil for no limit.
    public var maximumDuration: Duration?
    /// Sets the capture's device differently for some frames; nil where it cannot.
    public var adjustable: (any AdjustableCapture)?
    /// Whether a network peer that cannot be reached at the start is tried again, in place of failing its output; see
    /// ``MediaPublisher/Settings/retriesPeers``.
    public var retriesPeers = false
    /// Whether a stop was requested, which ends any wait.
    public var isStopRequested: @Sendable () -> Bool
    /// Reports that the output has failed and takes nothing more; the first error counts.
    public var fail: @Sendable (any Error) -> Void
    /// Reports a problem that loses no data, in a sentence for the user.
    public var warn: @Sendable (String) -> Void
    /// Reports that the output has all that it was to get, and takes nothing more. It is closed with the others.
    public var complete: @Sendable () -> Void
    /// Asks for a still, as a key of a preview does; see ``MediaPublisher/takeStill()``.
    public var requestStill: @Sendable () -> Void
    /// What starts the clips of ``TriggeredOutput``s.
    public var recording = RecordingTrigger()
    /// The tracks that are passed on to the output as they come; empty where it has an encoder, or gets frames.
    public var passedTracks: [TrackDescription] = []
    /// Whether frames are decoded from packets for those who want them, so that many of them cost much.
    package var areFramesDecoded = false
    /// The codec of the packets, and the bitrate that their encoder is configured for; nil where none is made for the output.
    public var encoder: (codec: Codec, bitrate: Int)?
    /// Adds a sink for one receiver, by a name that is unique at the output: it gets packets of pictures and sound from a key
    /// frame on. False where the output gets nothing, or nothing more. Never waits.
    public var addReceiver: @Sendable (_ sink: any PacketSink, _ name: String) -> Bool = { _, _ in false }
    /// Removes a receiver, whose sink is finished soon. Does not wait for a frame that is being encoded.
    public var removeReceiver: @Sendable (_ name: String) -> Void = { _ in }

    /// A context; see the properties.
    public init(
        format: VideoFormat, audioFormat: AudioFormat? = nil, sourceName: String? = nil,
        orientation: VideoOrientation = .up, pacing: MediaPublisher.Pacing = .realTime,
        maximumDuration: Duration? = nil,
        adjustable: (any AdjustableCapture)? = nil,
        isStopRequested: @escaping @Sendable () -> Bool = { false },
        fail: @escaping @Sendable (any Error) -> Void = { _ in },
        warn: @escaping @Sendable (String) -> Void = { _ in }, complete: @escaping @Sendable () -> Void = {},
        requestStill: @escaping @Sendable () -> Void = {}
    ) {
        self.format = format
        self.audioFormat = audioFormat
        self.sourceName = sourceName
        self.orientation = orientation
        self.pacing = pacing
        self.maximumDuration = maximumDuration
        self.adjustable = adjustable
        self.isStopRequested = isStopRequested
        self.fail = fail
        self.warn = warn
        self.complete = complete
        self.requestStill = requestStill
    }
}

extension OutputContext {
    /// The warning of an output whose peer cannot be reached.
    package static func warning(_ name: String, _ reason: String, isLost: Bool) -> String {
        isLost
            ? "\(name): the connection was lost, and is made again. \(reason)"
            : "\(name): there is no connection yet, and it is tried again. \(reason)"
    }
}

/// What an output has done so far, for people and for programs.
public struct OutputStatistics: Sendable {
    /// The bytes written or sent.
    public var bytes: Int64
    /// The present state in a few words, such as `3 viewers`; nil for none.
    public var status: String?
    /// What became of it, in sentences for the user: what was written and how to play it.
    public var summary: String
    /// The address at which it is to be seen, in a sentence for the user; nil for none.
    public var announcement: String?
    /// Further members for programs.
    public var details: [(name: String, value: JSONValue)]

    /// Statistics; see the properties.
    public init(
        bytes: Int64, status: String? = nil, summary: String = "", announcement: String? = nil,
        details: [(name: String, value: JSONValue)] = []
    ) {
        self.bytes = bytes
        self.status = status
        self.summary = summary
        self.announcement = announcement
        self.details = details
    }
}
