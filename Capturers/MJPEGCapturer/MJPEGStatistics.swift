/// What a stream has counted since the capture was initialized, beside `CaptureStatistics`.
public struct MJPEGStatistics: Sendable, Hashable {
    /// Whole pictures that came.
    public var framesReceived: UInt64 = 0
    /// Bytes of bodies that came, what stands between the pictures included.
    public var bytesReceived: UInt64 = 0
    /// Pictures decoded.
    public var framesDecoded: UInt64 = 0
    /// Pictures left out since they were cut off, damaged or none.
    public var framesDamaged: UInt64 = 0
    /// Pictures left out since they had more bytes than are allowed.
    public var framesOversized: UInt64 = 0
    /// Pictures left out since newer ones were there already.
    public var framesSkipped: UInt64 = 0
    /// Pictures left out, before they were decoded, to keep to the rate that consumers want.
    public var framesDecimated: UInt64 = 0
    /// Connections that gave a picture.
    public var connections: UInt64 = 0
    /// Those of them that followed a loss.
    public var reconnects: UInt64 = 0
    /// Requests for single pictures, where the address gives no stream.
    public var polls: UInt64 = 0
    /// Why frames were last interrupted, in a sentence; nil when they never were.
    public var lastInterruption: String?
    /// The last picture's `X-Timestamp`: since 1970, by the server's clock; nil where the server sends none.
    public var serverTime: Duration?

    public init() {}
}
