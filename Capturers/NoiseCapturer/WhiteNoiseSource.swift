import VideoCapturing

/// Fills frames with noise.
struct WhiteNoiseSource: FrameSource {
    private(set) var settings: CaptureSettings
    private let requested: VideoFormat
    private let frameRate: FrameRate?
    private let seed: UInt64
    private var frameCount: UInt64 = 0

    init(format: VideoFormat, frameRate: FrameRate?, seed: UInt64) {
        var format = format
        format.estimatedFramesPerSecond = frameRate
        format.estimatedCaptureDelay = .zero
        requested = format
        settings = CaptureSettings(format: format, sourceName: "white noise")
        self.frameRate = frameRate
        self.seed = seed
    }

    var pacing: FramePacing { frameRate.map { .rate($0) } ?? .unpaced }

    func open() throws {
        try requested.validate()
        guard requested.imageWidth >= 2, requested.imageHeight >= 2 else {
            throw CaptureError(
                .invalidConfiguration, operation: "open", subject: "white noise",
                message: "Noise has at least 2x2 pixels; asked for \(requested.imageWidth)x\(requested.imageHeight).")
        }
        guard [.nv12, .i420, .argb].contains(requested.pixelFormat) else {
            throw CaptureError(
                .formatUnsupported, operation: "open", subject: "white noise",
                message: "Noise is NV12, I420 or ARGB, and not \(requested.pixelFormat).")
        }
    }

    mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        var generator = NoiseGenerator(seed: seed, stream: frameCount)
        frameCount += 1
        let format = settings.format
        var frame = try context.makeFrame(
            format.pixelFormat, width: format.imageWidth, height: format.imageHeight
        ) { pixels in
            for plane in 0..<format.pixelFormat.planeCount {
                pixels.withBytes(ofPlane: plane) { generator.fill($0) }
            }
        }
        frame.estimatedCaptureDelay = .zero
        return frame
    }

    mutating func adapt(to wants: CaptureWants) {
        let size = wants.adaptedSize(width: requested.imageWidth, height: requested.imageHeight)
        settings.format = requested.resized(width: max(2, size.width), height: max(2, size.height))
    }
}
