import NoiseCapturer
import VideoCapturing

/// A number of frames of noise to nowhere, for a comparison with other programs; 8 buffers rotate.
func makeNoise(_ arguments: inout Arguments) throws {
    let (width, height) = try arguments.size()
    let name = try arguments.required("format")
    guard let format = PixelFormat.allCases.first(where: { "\($0)".lowercased() == name.lowercased() }) else {
        throw UsageError("no format \(name)")
    }
    let frames = try arguments.count("frames", default: 300)
    let capture = NoiseCapturer(format: VideoFormat(format, width: width, height: height), frameRate: nil)
    let consumer = WindowConsumer(skip: 0, count: frames, holding: 7)
    capture.videoCaptureConsumer = consumer
    try capture.initCapture()
    try capture.startCapture()
    _ = consumer.usagePerFrame()
    try capture.stopCapture()
    capture.releaseCapture()
}
