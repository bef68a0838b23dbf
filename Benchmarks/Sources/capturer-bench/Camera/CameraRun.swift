import CameraCapturer
import VideoCapturing

/// A camera, the mode that it is to have, and where its frames go.
struct CameraRun {
    var configuration: CameraCapturer.Configuration
    /// Whether frames are encoded.
    var isEncoded: Bool
    /// Whether frames come as NV12, rather than in the camera's own format; encoded ones do.
    var isConverted: Bool
    /// Thousands of bits per second.
    var bitrate: Int
    /// When the run ends.
    var frames: Int
    /// Whether to measure the time to the consumer; costs a look at the clock for each frame.
    var measuresLatency: Bool

    init(_ arguments: inout Arguments) throws {
        let name = try arguments.required("format")
        guard let format = FourCC(name) else { throw UsageError("no format \(name)") }
        let (width, height) = try arguments.size()
        guard let rate = FrameRate(Int32(clamping: try arguments.count("fps", default: 30)), per: 1) else {
            throw UsageError("--fps is a rate")
        }
        configuration = CameraCapturer.Configuration(
            device: try arguments.required("device"), preset: PixelSize(width: width, height: height),
            desiredFrameRate: rate, captureFormat: format, reconnects: false)
        switch try arguments.required("to") {
        case "null": (isEncoded, isConverted) = (false, false)
        case "nv12": (isEncoded, isConverted) = (false, true)
        case "vp8": (isEncoded, isConverted) = (true, true)
        default: throw UsageError("--to is null, nv12 or vp8")
        }
        bitrate = try arguments.count("bitrate", default: 1000)
        frames = try arguments.count("frames", default: .max)
        measuresLatency = arguments.flag("latency")
    }
}
