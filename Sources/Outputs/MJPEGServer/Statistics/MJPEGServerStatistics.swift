/// What a server has counted since it was made.
public struct MJPEGServerStatistics: Sendable, Hashable {
    /// One viewer of the stream.
    public struct Viewer: Sendable, Hashable {
        /// A random number, found again in `/state` and in the viewer's cookie.
        public var id: UInt64
        /// The name that he gave himself, as it is written in addresses; nil without one.
        public var key: String?
        /// The IP address that he connects from.
        public var peer: String
        /// Frames that were sent, repeats included.
        public var framesSent: UInt64 = 0
        /// Frames that were left out since the one before was still on its way.
        public var framesSkipped: UInt64 = 0
        /// Bytes that were sent, heads included.
        public var bytesSent: UInt64 = 0
        /// Frames per second over the last two seconds.
        public var frameRate: Double = 0
    }

    /// Who watches now.
    public var viewers: [Viewer] = []
    /// Connections that are open now.
    public var connections = 0
    /// Connections that were accepted.
    public var connectionsAccepted: UInt64 = 0
    /// Connections that were turned away since there were too many.
    public var connectionsRefused: UInt64 = 0
    /// Bytes that wait in memory for slow clients; see ``MJPEGServerLimits/waitingBytes``.
    public var bytesWaiting = 0
    /// Clients that were disconnected since too many bytes waited.
    public var slowClientsDisconnected: UInt64 = 0
    /// How often each HTTP status was answered.
    public var answers: [Int: UInt64] = [:]

    /// Frames that came.
    public var framesCaptured: UInt64 = 0
    /// Frames that were encoded here.
    public var framesEncoded: UInt64 = 0
    /// Frames whose own JPEG was passed on.
    public var framesPassedThrough: UInt64 = 0
    /// Frames that were left out since they show the same as the one before.
    public var framesUnchanged: UInt64 = 0
    /// Frames that could not be encoded.
    public var framesFailed: UInt64 = 0
    /// Pictures that say why there is none of the source.
    public var notices: UInt64 = 0

    /// Frames that were sent, of all viewers, repeats included.
    public var framesSent: UInt64 = 0
    /// Frames that were skipped for slow viewers.
    public var framesSkipped: UInt64 = 0
    /// Bytes that were sent to viewers of the stream.
    public var bytesSent: UInt64 = 0
    /// The time from a frame's timestamp until the kernel has taken it for a viewer, that half did not exceed.
    public var medianLatency: Duration?
    /// The same, that 99 of 100 did not exceed.
    public var latencyOf99Percent: Duration?
    /// Frames per second that came, over the last two seconds.
    public var captureRate: Double = 0
    /// Frames per second that were made for viewers, over the last two seconds.
    public var streamRate: Double = 0

    /// Nothing counted.
    public init() {}
}
