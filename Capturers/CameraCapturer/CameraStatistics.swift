/// What a camera has counted since it was initialized, beside `CaptureStatistics`.
public struct CameraStatistics: Sendable, Hashable {
    /// Frames delivered in the driver's own memory.
    public var framesLent: UInt64 = 0
    /// Frames copied, since the driver needed its buffer back; JPEG that is taken as it is always is.
    public var framesCopied: UInt64 = 0
    /// Frames converted, scaled or decoded.
    public var framesConverted: UInt64 = 0
    /// Frames left out to keep to the desired rate.
    public var framesDecimated: UInt64 = 0
    /// Frames left out since newer ones were waiting already.
    public var framesSkipped: UInt64 = 0
    /// Damaged frames: marked by the driver, cut off, or no JPEG.
    public var framesDamaged: UInt64 = 0
    /// Frames whose driver's timestamp could not be trusted, and that have their time of arrival.
    public var timestampsReplaced: UInt64 = 0
    /// Times the stream was restarted or the camera opened anew since it had failed.
    public var restarts: UInt64 = 0
    /// Times the camera came back after it was unplugged.
    public var reconnects: UInt64 = 0

    public init() {}
}
