public import PacketCapturing
import StreamTransport

/// A capture of the packets of a network stream as they are, pictures and sound: RTSP, SRT, RTMP, RTP, MPEG-TS over UDP, HTTP,
/// and TCP. Nothing is decoded.
///
/// ```swift
/// let capture = PacketStreamCapturer(url: "rtsp://camera/1")
/// let publisher = MediaPublisher(packets: capture)
/// try publisher.add(FFmpegOutput("camera.mkv"))
/// try publisher.start()
/// ```
/// **One connection** is open from `initCapture` to `stopCapture`, and each start after a stop connects again. The packets
/// have the form that ``PacketFileCapturer`` describes.
///
/// **Times.** The first packet of a connection has the time of its arrival, and the intervals are those of the stream; a
/// stream that states no times, such as raw H.264, has those of arrival. A server that is asked for a stream may send at once what it
/// has kept: that has the times at which it was live, up to 20 s before. After a reconnection its pictures are repeated, a millisecond
/// each, and its sound is left out. Where the times of the stream go back by more than a second, or run ahead by more than ten, they go
/// on at the present.
///
/// **Losses.** When the connection is lost, the state is `interrupted`, and the capture connects again after
/// ``Configuration/reconnectDelays``. The tracks go on with a key frame. A sender that returns with another codec, another
/// sample rate or other channels ends the capture with `formatUnsupported`; one that returns without a track ends only that
/// track until the next connection. A frame that is missing by the numbers in H.264, or that FFmpeg marks as damaged, leaves
/// out the packets up to the next key frame.
///
/// **Errors.** `initCapture` connects, or listens, and waits for a key frame. It throws `invalidConfiguration`,
/// `deviceNotFound`, `deviceBusy`, `permissionDenied`, `formatUnsupported` or `stalled`.
public final class PacketStreamCapturer: ForwardingPacketCapture {
    public let forwardedCapture: PacketSourceCapturer
    private let status = Locked(PacketStreamStatus())

    /// Creates a capture without connecting or listening; `initCapture` does that.
    ///
    /// - Parameters:
    ///   - url: an address that FFmpeg opens, as in `rtsp://camera/1`; or `tcp://host:port` to connect, and
    ///     `tcp://address:port?listen` to be connected to, with H.264, H.265, Matroska, MPEG-TS or FLV.
    ///   - configuration: timeouts, and delays before reconnecting.
    ///   - clock: the clock of timestamps and of the delays before reconnecting.
    public init(
        url: String, configuration: PacketStreamCapturer.Configuration = Configuration(),
        clock: any CaptureClock = MonotonicClock()
    ) {
        let source = PacketStreamSource(url: url, configuration: configuration, status: status)
        // A sender may connect at any time.
        forwardedCapture = PacketSourceCapturer(
            source, name: "packets", clock: clock,
            timeout: .seconds(20) + configuration.connectTimeout * 2 + configuration.stallTimeout * 2,
            openTimeout: .seconds(366 * 86_400))
    }

    /// The port at which it listens; nil when it connects, or is not initialized. Known before `initCapture` returns, which
    /// waits for a sender.
    public var port: Int? { status.withLock { $0.port } }

    /// Sets the handler that is called with the events of the stream: on the capture thread, so it must return soon and
    /// must not start, stop or release the capture.
    ///
    /// - Parameter handler: the handler; nil for none.
    public func setEventHandler(_ handler: (@Sendable (PacketStreamCapturer.Event) -> Void)?) {
        status.withLock { $0.handler = handler }
    }
}

extension PacketStreamCapturer {
    /// The configuration of a ``PacketStreamCapturer``.
    public struct Configuration: Sendable, Hashable {
        /// The timeout of a connection attempt, including name resolution.
        public var connectTimeout: Duration = .seconds(10)
        /// How long a stream may be silent before the connection counts as lost. A key frame is waited for twice as long.
        public var stallTimeout: Duration = .seconds(10)
        /// The delays before the attempts to restore a lost connection; the last one is repeated. Empty for no attempt: the
        /// capture ends with the stream. When listening, another sender is waited for at once, and the delays do not count.
        public var reconnectDelays: [Duration] = [1, 2, 4, 8, 16, 30].map { .seconds($0) }

        /// Creates the default configuration.
        public init() {}

        func validate() throws(CaptureError) {
            guard connectTimeout > .zero, stallTimeout > .zero, reconnectDelays.allSatisfy({ $0 >= .zero }) else {
                throw CaptureError(
                    .invalidConfiguration, operation: "configure the stream",
                    message: "Timeouts must be longer than nothing, and delays must not be negative.")
            }
        }
    }

    /// An event of a ``PacketStreamCapturer``. Its description is one sentence for the user.
    public enum Event: Sendable, Hashable, CustomStringConvertible {
        /// It listens, and waits for a sender.
        case listening(port: Int)
        /// A connection has brought its first key frame; the tracks are of these codecs.
        case began(codecs: [Codec])
        /// A connection to the port at which it listens has ended without a stream, for the given reason.
        case rejected(reason: String)
        /// The connection is lost, for the given reason.
        case disconnected(reason: String)
        /// An attempt to connect again has failed, for the given reason. `attempt` counts from 1 since the loss.
        case attemptFailed(reason: String, attempt: Int)

        public var description: String {
            switch self {
            case .listening(let port): "Waiting for a sender at port \(port)."
            case .began(let codecs):
                "The stream has begun, and its packets are passed on: \(codecs.map(\.rawValue).joined(separator: ", "))."
            case .rejected(let reason): "A connection brought no stream: \(reason)"
            case .disconnected(let reason): "The stream is interrupted: \(reason)"
            case .attemptFailed(let reason, let attempt): "Attempt \(attempt) to connect again failed: \(reason)"
            }
        }
    }
}

/// What the capture thread shares with all others.
struct PacketStreamStatus {
    var handler: (@Sendable (PacketStreamCapturer.Event) -> Void)?
    var port: Int?
}
