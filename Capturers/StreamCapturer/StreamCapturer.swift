import StreamTransport
import VideoCapturing

/// A capture of encoded video from the network: H.264 over TCP, as it is or in Matroska or MPEG-TS, and with a demuxer that
/// the program links what it reads besides, as RTSP, SRT and RTMP.
///
/// ```swift
/// let capture = StreamCapturer(url: "tcp://0.0.0.0:9000?listen", decoders: [.h264], demuxers: [.ffmpeg])
/// capture.videoCaptureConsumer = window
/// try capture.initCapture()
/// try capture.startCapture()
/// ```
/// **Formats.** Over TCP, raw Annex B, NAL units behind lengths, Matroska, MPEG-TS and FLV are told apart by their first
/// bytes, unless the address (`?format=h264`) or the configuration names one. The raw ones need no demuxer.
///
/// **Frames** are shown as soon as their last byte has come: where the sender ends a picture with the next one's access unit
/// delimiter, or pauses after it, without waiting for the next picture. A stream that is joined in its middle shows nothing
/// until a key frame; see ``StreamCapturer/Event/awaitingKeyFrame``. Their timestamps are those of the stream, where it has
/// any, placed on the time of arrival; else the time of arrival. Frames that are missing by the numbers in the stream, and
/// damaged ones, are counted.
///
/// **Slow consumers** hold the sender back: little is buffered here, and the sender decides what it drops.
///
/// **Errors.** `initCapture` connects, or listens, and waits for the first frame, and throws `invalidConfiguration` for an
/// invalid address, `deviceNotFound` for an unknown host or when nothing listens there, `deviceBusy` for a port in use,
/// `formatUnsupported` for a stream that is not readable video, `stalled`, `permissionDenied`. When a sender is gone later,
/// the state is `interrupted`, and the capture goes on when it is back. When listening, it waits for a sender indefinitely,
/// and connections without a picture end nothing.
public final class StreamCapturer: ForwardingVideoCapture {
    public let forwardedCapture: SourceCapturer

    /// The configuration of the stream.
    public let configuration: StreamCapturer.Configuration
    private let status = StreamStatus()

    /// Creates a capture without connecting or listening; `initCapture` does that.
    ///
    /// - Parameters:
    ///   - url: `tcp://host:port` to connect, `tcp://address:port?listen` to be connected to, at a port or 0 for one that the
    ///     system chooses, with `format=` among the options; or an address that one of the demuxers opens, as in
    ///     `rtsp://camera/1`.
    ///   - decoders: the codecs that the program links.
    ///   - demuxers: what reads containers, and addresses other than `tcp`; the first is used.
    ///   - configuration: the configuration of the stream.
    ///   - clock: the clock of timestamps and of the delays before reconnecting.
    public init(
        url: String, decoders: [VideoDecoderFactory], demuxers: [StreamDemuxerFactory] = [],
        configuration: StreamCapturer.Configuration = StreamCapturer.Configuration(),
        clock: any CaptureClock = MonotonicClock()
    ) {
        self.configuration = configuration
        let source = StreamSource(
            url: url, decoders: decoders, demuxer: demuxers.first, configuration: configuration, status: status)
        let timeout = Duration.seconds(10) + configuration.connectTimeout + configuration.stallTimeout * 2
        // A sender may connect at any time.
        forwardedCapture = SourceCapturer(
            source, name: "stream", clock: clock, timeout: timeout, openTimeout: .seconds(366 * 86_400))
    }

    /// The port at which it listens; nil when it connects, or is not initialized. Known before `initCapture` returns, which
    /// waits for a sender; see ``StreamCapturer/Event/listening(port:)``.
    public var port: Int? { status.contents.withLock { $0.port } }

    /// Statistics of the stream, in addition to `VideoCapture.statistics`.
    public var streamStatistics: StreamCapturer.Statistics { status.contents.withLock { $0.statistics } }

    /// Sets the handler that is called with the events of the stream: on the capture thread, so it must return soon and
    /// must not start, stop or release the capture.
    ///
    /// - Parameter handler: the handler; nil for none.
    public func setEventHandler(_ handler: (@Sendable (StreamCapturer.Event) -> Void)?) {
        status.contents.withLock { $0.handler = handler }
    }
}

extension StreamCapturer {
    /// Statistics of a stream since the capture was initialized, in addition to `CaptureStatistics`.
    public struct Statistics: Sendable, Hashable {
        /// Bytes received over TCP.
        public var bytesReceived: UInt64 = 0
        /// Encoded pictures received.
        public var picturesReceived: UInt64 = 0
        /// Encoded pictures skipped before the first key frame of a connection.
        public var picturesSkipped: UInt64 = 0
        /// Frames decoded.
        public var framesDecoded: UInt64 = 0
        /// Frames missing by the numbers in the stream.
        public var framesLost: UInt64 = 0
        /// Encoded pictures that were damaged or too large.
        public var framesDamaged: UInt64 = 0
        /// Connections that delivered a frame.
        public var connections: UInt64 = 0
        /// Connections that delivered a frame after a loss.
        public var reconnects: UInt64 = 0
        /// The reason of the last interruption, in a sentence; nil when there was none.
        public var lastInterruption: String?

        /// Statistics with all counters zero.
        public init() {}
    }
}

extension StreamCapturer {
    /// An event of a ``StreamCapturer``. Its description is one sentence for the user.
    public enum Event: Sendable, Hashable {
        /// It listens, and waits for a sender.
        case listening(port: Int)
        /// A connection with a sender is made.
        case connected(address: String)
        /// The stream was joined in its middle: nothing can be shown until a key frame comes.
        case awaitingKeyFrame
        /// The first frame of a connection.
        case began(format: String, width: Int, height: Int)
        /// A connection to the port at which it listens has ended without a picture, for the given reason.
        case rejected(reason: String)
        /// The connection is lost, for the given reason.
        case disconnected(reason: String)
        /// Connecting again after the given time; `attempt` counts from 1 since the loss.
        case waiting(Duration, attempt: Int)
        /// An attempt to connect again has failed, for the given reason.
        case attemptFailed(reason: String, attempt: Int)
        /// The frames have two fields, and are deinterlaced; see ``Configuration/deinterlaces``.
        case interlaced
    }
}

extension StreamCapturer.Event: CustomStringConvertible {
    public var description: String {
        switch self {
        case .listening(let port): "Waiting for a sender at port \(port)."
        case .connected(let address): "Connected with \(address)."
        case .awaitingKeyFrame: "The stream was joined between two key frames; it is shown from the next one on."
        case .began(let format, let width, let height):
            "The stream has begun: \(format), pictures of \(width)x\(height)."
        case .rejected(let reason): "A connection brought no picture: \(reason)"
        case .disconnected(let reason): "The stream is interrupted: \(reason)"
        case .waiting(let time, let attempt):
            "Trying to connect again in \(time.inSeconds) (attempt \(attempt))."
        case .attemptFailed(let reason, let attempt): "Attempt \(attempt) to connect again failed: \(reason)"
        case .interlaced: "The stream is interlaced; \(OptionDescription.deinterlacingNotice)"
        }
    }
}

/// The statistics and handlers that the capture thread shares with all others.
final class StreamStatus: Sendable {
    struct Contents {
        var statistics = StreamCapturer.Statistics()
        var handler: (@Sendable (StreamCapturer.Event) -> Void)?
        var port: Int?
    }

    let contents = Locked(Contents())

    func count(_ change: (inout StreamCapturer.Statistics) -> Void) {
        contents.withLock { change(&$0.statistics) }
    }

    /// Calls the handler, without the lock.
    func report(_ event: StreamCapturer.Event) { contents.withLock { $0.handler }?(event) }
}
