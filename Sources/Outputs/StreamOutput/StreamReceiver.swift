import StreamTransport
import VideoCapturing

extension StreamOutput {
    /// A receiver of a ``StreamOutput``, as it is at the moment.
    public struct Receiver: Sendable, Hashable {
        /// What a receiver is doing.
        public enum State: Sendable, Hashable {
            /// The first connection is being made, or the next one after a loss; attempts count from 1 since then.
            case connecting(attempt: Int)
            /// The next attempt to connect follows after a delay.
            case waiting(Duration, attempt: Int)
            /// It is connected, and begins with the next key frame.
            case awaitingKeyFrame
            /// It is being sent to.
            case sending
            /// It takes nothing at the moment, so that packets wait for it.
            case stalled
        }

        /// Counts the connections of the output from 1; when connecting, the last one.
        public var id: UInt64
        /// Host and port, as in `192.168.1.5:41234`.
        public var address: String
        /// What it is doing.
        public var state: State
        /// Packets that were sent completely.
        public var packetsSent: UInt64 = 0
        /// Bytes that the system has taken, those of the format included.
        public var bytesSent: UInt64 = 0
        /// Packets that were dropped since it is too slow.
        public var packetsDropped: UInt64 = 0
        /// How often it had to begin again with a key frame, since packets were dropped.
        public var gaps: UInt64 = 0
        /// Packets that wait to be sent to it.
        public var packetsWaiting = 0
        /// Their encoded bytes.
        public var bytesWaiting = 0
        /// The bitrate that it can take, in bits per second, since it is slower than the encoder; nil when it is not.
        public var bitrateLimit: Int?
    }
}

extension StreamOutput {
    /// Statistics of a ``StreamOutput`` since it was opened.
    public struct Statistics: Sendable, Hashable {
        /// The receivers at the moment; when connecting, the one, also while it is not connected.
        public var receivers: [StreamOutput.Receiver] = []
        /// Connections that were made.
        public var connections: UInt64 = 0
        /// Connections that were made again after a loss, when connecting.
        public var reconnects: UInt64 = 0
        /// Receivers that were turned away since there were too many.
        public var receiversRejected: UInt64 = 0
        /// Packets that were sent completely, each as often as there were receivers.
        public var packetsSent: UInt64 = 0
        /// Bytes that the system has taken.
        public var bytesSent: UInt64 = 0
        /// Packets that were dropped since their receiver was too slow, or its connection was lost.
        public var packetsDropped: UInt64 = 0
        /// How often receivers had to begin again with a key frame, since packets were dropped.
        public var gaps: UInt64 = 0
        /// Key frames that were requested, for receivers that had joined or lost packets.
        public var keyFrameRequests: UInt64 = 0
        /// The bitrate that is asked of the encoder, in bits per second, since no receiver takes more; nil for the one of its
        /// configuration.
        public var bitrateLimit: Int?
        /// How often a receiver was found to take less than it is sent.
        public var bitrateReductions: UInt64 = 0
        /// Why the last receiver was lost, in a sentence; nil when there was none.
        public var lastLoss: String?

        /// Statistics with all counters zero.
        public init() {}
    }
}

extension StreamOutput {
    /// An event of a ``StreamOutput``. Its description is one sentence for the user.
    public enum Event: Sendable, Hashable {
        /// A receiver has connected, or was connected to.
        case connected(address: String)
        /// A receiver is gone, for the given reason.
        case disconnected(address: String, reason: String)
        /// A receiver was turned away since there are too many.
        case rejected(address: String)
        /// Connecting again after the given time; `attempt` counts from 1 since the loss.
        case waiting(Duration, attempt: Int)
        /// An attempt to connect has failed, for the given reason.
        case attemptFailed(reason: String, attempt: Int)
    }
}

extension StreamOutput.Event: CustomStringConvertible {
    public var description: String {
        switch self {
        case .connected(let address): "\(address) receives the stream."
        case .disconnected(let address, let reason): "\(address) no longer receives the stream: \(reason)"
        case .rejected(let address): "\(address) was turned away, since there are too many receivers."
        case .waiting(let time, let attempt): "Trying to connect in \(time.inSeconds) (attempt \(attempt))."
        case .attemptFailed(let reason, let attempt): "Attempt \(attempt) to connect failed: \(reason)"
        }
    }
}
