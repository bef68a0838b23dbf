/// Takes the packets of one video track out of a container or a protocol, as they arrive: how a capture of a stream reads
/// what it does not read itself. Not to be used from two threads at once.
public protocol StreamDemuxer: AnyObject {
    /// The name of container or protocol for display, as in `MPEG-TS`.
    var name: String { get }

    /// The track of the packets.
    ///
    /// H.264 is a byte stream (annex B), unless there is an `avcC` record in `decoderConfiguration`: then the packets have
    /// the form that it states (ISO/IEC 14496-15), which is what containers hold.
    var track: TrackDescription { get }

    /// Waits for the next packet and hands it to `body`; false at the end of the stream.
    ///
    /// - Parameter body: takes the bytes, which are valid during the call, and the time on the stream's own scale, nil
    ///   where it states none.
    /// - Throws: `CaptureError`: `deviceLost` for a lost connection, `stalled` when nothing arrives, `corruptData`,
    ///   `invalidState` once the capture is being stopped.
    func nextPacket(
        _ body: (_ bytes: UnsafeRawBufferPointer, _ timestamp: Duration?) throws(CaptureError) -> Void
    ) throws(CaptureError) -> Bool
}

/// A way to make demuxers: how a program gives a capture of streams the library that it links.
public struct StreamDemuxerFactory: Sendable {
    /// The name of the library for display, as in `FFmpeg`.
    public let name: String

    private let make: @Sendable (StreamDemuxerFactory.Request) throws(CaptureError) -> any StreamDemuxer

    /// Creates a factory.
    ///
    /// - Parameters:
    ///   - name: the name for display.
    ///   - open: opens the stream and waits for its first bytes.
    public init(
        name: String,
        open: @escaping @Sendable (_ request: StreamDemuxerFactory.Request) throws(CaptureError) -> any StreamDemuxer
    ) {
        self.name = name
        make = open
    }

    /// Opens a stream, and waits until its track is known.
    ///
    /// - Throws: `CaptureError`: `deviceNotFound`, `permissionDenied`, `formatUnsupported`, `stalled`, `corruptData`,
    ///   `invalidState` once the capture is being stopped.
    public func open(_ request: StreamDemuxerFactory.Request) throws(CaptureError) -> any StreamDemuxer {
        try make(request)
    }
}

extension StreamDemuxerFactory {
    /// The stream for which a ``StreamDemuxerFactory`` is to make a demuxer.
    public struct Request {
        /// Where the bytes come from.
        public enum Source {
            /// An address that the library opens, as in `rtsp://camera/1`.
            case address
            /// A function that waits for bytes and writes them to the memory. Returns their number, 0 at the end or when it is
            /// given up.
            case bytes((UnsafeMutableRawBufferPointer) -> Int)
        }

        /// The address, for messages where the bytes are handed over.
        public var url: String
        /// Where the bytes come from.
        public var source: Source
        /// The library's name of the format; nil to look at the first bytes.
        public var format: String?
        /// How long the stream may be silent.
        public var timeout: Duration
        /// How long it may take to connect, and to learn what the stream has; nil for ``timeout``.
        public var openingTimeout: Duration?
        /// Whether the capture is being stopped: asked for while it waits, and at least ten times per second.
        public var isInterrupted: @Sendable () -> Bool

        /// Creates a request; see the properties.
        public init(
            url: String, source: Source = .address, format: String? = nil, timeout: Duration,
            openingTimeout: Duration? = nil, isInterrupted: @escaping @Sendable () -> Bool
        ) {
            self.url = url
            self.source = source
            self.format = format
            self.timeout = timeout
            self.openingTimeout = openingTimeout
            self.isInterrupted = isInterrupted
        }
    }
}
