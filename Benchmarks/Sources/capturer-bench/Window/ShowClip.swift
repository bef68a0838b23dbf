import Dispatch
import FileCapturer
import VideoCapturing
import WindowPreview

#if canImport(Glibc)
    import Glibc
#endif

/// A raw clip in a window, again and again, until the window is closed or a signal ends it; prints the window's counters
/// after each second.
///
/// From the file, as players do; or with `--from-memory` its first frames, made before.
func showClip(_ arguments: inout Arguments) throws {
    let input = try arguments.required("input")
    let (width, height) = try arguments.size()
    let rate = Int32(clamping: try arguments.count("fps", default: 30))
    let format = VideoFormat(.nv12, width: width, height: height, estimatedFramesPerSecond: FrameRate(rate, per: 1))
    let capture: any VideoCapture =
        arguments.flag("from-memory")
        ? SourceCapturer(try MemorySource(input, format), name: "memory")
        : FileCapturer(path: input, rawFormat: format, playback: FileCapturer.Playback(plays: nil))
    let end = DispatchSemaphore(value: 0)
    let preview = try WindowPreview { event in
        switch event {
        case .closed, .quit, .failed: end.signal()
        case .paused, .fullScreen, .statistics, .still: break
        }
    }
    let publisher = VideoPublisher(capture)
    try preview.attach(to: publisher)
    try publisher.start()
    while end.wait(timeout: .now() + 1) == .timedOut {
        let statistics = preview.statistics
        let latency = (statistics.p50Latency ?? .zero).seconds * 1e3
        print(statistics.framesShown, statistics.framesReplaced, latency)
        fflush(nil)
    }
    publisher.close()
}

/// The first second of a raw clip, held in memory.
private struct MemorySource: FrameSource {
    let settings: CaptureSettings
    private let buffers: [PixelBuffer]
    private var next = 0

    init(_ path: String, _ format: VideoFormat) throws {
        settings = CaptureSettings(format: format)
        guard let file = fopen(path, "re") else { throw UsageError("\(path) cannot be read") }
        defer { fclose(file) }
        var buffers: [PixelBuffer] = []
        for _ in 0..<30 {
            var isWhole = true
            let buffer = try PixelBuffer.make(.nv12, width: format.imageWidth, height: format.imageHeight) { pixels in
                for plane in 0..<2 {
                    for row in 0..<pixels.planes[plane].rows {
                        pixels.withRow(row, ofPlane: plane) { bytes in
                            if fread(bytes.baseAddress, 1, bytes.count, file) < bytes.count { isWhole = false }
                        }
                    }
                }
            }
            guard isWhole else { break }
            buffers.append(buffer)
        }
        guard !buffers.isEmpty else { throw UsageError("\(path) holds no frame of this size") }
        self.buffers = buffers
    }

    mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        defer { next = (next + 1) % buffers.count }
        return SourceFrame(buffers[next])
    }
}
