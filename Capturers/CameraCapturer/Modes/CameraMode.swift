import VideoCapturing

/// A mode of a camera: the format, size and rate to set with `VIDIOC_S_FMT` and `VIDIOC_S_PARM`.
public struct CameraMode: Sendable, Hashable {
    /// The camera's pixel format.
    public var fourCC: FourCC
    /// The width in pixels.
    public var width: Int
    /// The height in pixels.
    public var height: Int
    /// The frames per second; nil when the driver does not report a rate.
    public var rate: FrameRate?
    /// Whether the driver lists the rate for this format and size; otherwise it is the rate that was set when the modes
    /// were listed, and the actual one may differ.
    public var isRateVerified: Bool
    /// The cost of converting to NV12.
    public var cost: CameraMode.ConversionCost
    /// The approximate bus traffic in bytes per second; for JPEG a rough estimate.
    public var bytesPerSecond: Int
    /// The position in the driver's lists, from 0.
    public var index: Int
    private let bitsPerPixel: Int

    /// The size in pixels.
    public var size: PixelSize { PixelSize(width: width, height: height) }

    init(
        _ format: CaptureFormat, _ size: PixelSize, rate: FrameRate?, isRateVerified: Bool, index: Int,
        for request: CameraMode.Request
    ) {
        fourCC = format.fourCC
        width = size.width
        height = size.height
        self.rate = rate
        self.isRateVerified = isRateVerified
        cost = format.cost
        bitsPerPixel = format.bitsPerPixel
        bytesPerSecond = format.bytesPerSecond(size, rate: rate ?? request.rate)
        self.index = index
    }

    /// Takes the rate that the driver has confirmed.
    mutating func setRate(_ rate: FrameRate?, for request: CameraMode.Request) {
        self.rate = rate
        bytesPerSecond = CaptureFormat.bytesPerSecond(size, bitsPerPixel: bitsPerPixel, rate: rate ?? request.rate)
    }
}

extension CameraMode: CustomStringConvertible {
    /// `YUYV 640x480 at 30 fps`.
    public var description: String {
        guard let rate else { return "\(fourCC) \(size) at an unknown rate" }
        return "\(fourCC) \(size) at \(rate.text) fps\(isRateVerified ? "" : " (not listed by the driver)")"
    }
}
