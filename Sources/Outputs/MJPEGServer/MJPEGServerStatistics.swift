extension MJPEGServer {
    /// The statistics of a server since it was made.
    public struct Statistics: Sendable, Hashable {
        /// One viewer of the stream.
        public struct Viewer: Sendable, Hashable {
            /// A random number, found again in `/state` and in the viewer's cookie.
            public var id: UInt64
            /// The name that the viewer chose, percent-encoded; nil without one.
            public var key: String?
            /// The IP address that the viewer connects from; `local` without one.
            public var peer: String
            /// Frames that were sent, repeats included.
            public var framesSent: UInt64 = 0
            /// Frames that were left out since the previous one was still in flight.
            public var framesSkipped: UInt64 = 0
            /// Bytes that were sent, heads included.
            public var bytesSent: UInt64 = 0
            /// Frames per second over the last two seconds.
            public var frameRate: Double = 0
        }

        /// The viewers of the stream that are connected now.
        public var viewers: [Viewer] = []
        /// What viewers are shown in another way than MJPEG, by a ``LiveViewing``.
        public var live = LiveViewingStatistics()
        /// Connections that are open now.
        public var connections = 0
        /// Connections that were accepted.
        public var connectionsAccepted: UInt64 = 0
        /// Connections that were refused since there were too many.
        public var connectionsRefused: UInt64 = 0
        /// Bytes that wait in memory for slow clients; see ``MJPEGServer/Configuration/Limits/waitingBytes``.
        public var bytesWaiting = 0
        /// Clients that were disconnected since too many bytes waited.
        public var slowClientsDisconnected: UInt64 = 0
        /// The number of responses with each HTTP status.
        public var answers: [Int: UInt64] = [:]

        /// Frames that were received from the capture.
        public var framesCaptured: UInt64 = 0
        /// Frames that were encoded here.
        public var framesEncoded: UInt64 = 0
        /// Frames whose own JPEG was passed on.
        public var framesPassedThrough: UInt64 = 0
        /// Frames that were left out since they show the same as the previous one.
        public var framesUnchanged: UInt64 = 0
        /// Frames that could not be encoded.
        public var framesFailed: UInt64 = 0
        /// Placeholders that were shown: images that say why the source gives no frames.
        public var notices: UInt64 = 0

        /// Frames that were sent to all viewers, repeats included.
        public var framesSent: UInt64 = 0
        /// Snapshots that were answered with a frame.
        public var snapshotsSent: UInt64 = 0
        /// Frames that were skipped for slow viewers.
        public var framesSkipped: UInt64 = 0
        /// Bytes that were sent to viewers of the stream.
        public var bytesSent: UInt64 = 0
        /// The median of the time from a frame's timestamp until the kernel has taken it for a viewer.
        public var p50Latency: Duration?
        /// The 99th percentile of the same time.
        public var p99Latency: Duration?
        /// Frames per second that were received from the capture, over the last two seconds.
        public var captureRate: Double = 0
        /// Frames per second that were made for viewers, over the last two seconds.
        public var streamRate: Double = 0

        /// Statistics that are all zero.
        public init() {}
    }
}
