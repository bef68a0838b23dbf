import CNoiseKernelHeader
import NoiseCapturer
import VideoCapturing

/// Noise through the whole capturer, its kernel alone, and memset, over the same rotation of buffers.
struct NoiseBenchmark {
    private let effort: Effort
    private let width = 1280
    private let height = 720

    init(_ effort: Effort) {
        self.effort = effort
    }

    func run() throws {
        Report.title("Noise next to memset, \(width)×\(height)")
        Report.text(
            """
            CPU per frame in microseconds. Each writes into as many buffers in turn as the table says: 8 are what a
            pipeline keeps in flight, 32 are all that the capturer's pool recycles and more than a last-level cache
            of 32 MiB holds. *Capturer* is NoiseCapturer as a whole: thread, clock, pool, statistics, delivery to a
            consumer that holds the frames. *Kernel* is the loop that makes the noise.
            """)
        var rows: [[String]] = []
        var worst = 0.0
        for format in [PixelFormat.nv12, .argb] {
            for rotation in [8, 32] {
                let row = try measure(format, rotation: rotation)
                rows.append(row.cells)
                worst = max(worst, row.ratio)
            }
        }
        Report.table(
            ["format", "buffers", "MiB", "memset", "kernel", "capturer", "kernel / memset", "capturer / memset"], rows)
        Report.goal("At most 1.5 times memset (worst: \(worst.fixed(2)))", isMet: worst <= 1.5)
    }

    private func measure(_ format: PixelFormat, rotation: Int) throws -> (cells: [String], ratio: Double) {
        let frameBytes = format == .argb ? width * height * 4 : width * height * 3 / 2
        let frames = effort.frames(format == .argb ? 400 : 1000)
        var noise = noise_state()
        for lane in 0..<8 {
            withUnsafeMutableBytes(of: &noise) {
                $0.storeBytes(of: UInt64(lane), toByteOffset: 64 + lane * 8, as: UInt64.self)
            }
        }
        // Others in each round: by a quarter it depends on the pages that they happen to get how fast they are.
        func rotate(_ fill: (UnsafeMutableRawBufferPointer, Int) -> Void) -> Usage {
            let buffers = (0..<rotation).map { _ in
                UnsafeMutableRawBufferPointer.allocate(byteCount: frameBytes, alignment: 64)
            }
            defer { for buffer in buffers { buffer.deallocate() } }
            for index in 0..<2 * rotation { fill(buffers[index % rotation], index) }
            return Usage.of { for index in 0..<frames { fill(buffers[index % rotation], index) } } / frames
        }
        let results = try inTurns(
            rounds: effort.rounds,
            [
                {
                    rotate { buffer, index in
                        _ = buffer.initializeMemory(as: UInt8.self, repeating: UInt8(truncatingIfNeeded: index))
                    }
                },
                { rotate { buffer, _ in noise_fill(&noise, buffer.baseAddress!, buffer.count) } },
                {
                    let capture = NoiseCapturer(
                        format: VideoFormat(format, width: width, height: height), frameRate: nil)
                    try capture.initCapture()
                    defer { capture.releaseCapture() }
                    let consumer = WindowConsumer(skip: 2 * rotation, count: frames, holding: rotation - 1)
                    capture.videoCaptureConsumer = consumer
                    try capture.startCapture()
                    let usage = consumer.usagePerFrame()
                    try capture.stopCapture()
                    return usage
                },
            ])
        let ratio = results[2].medianCPURatio(to: results[0])
        return (
            [
                "\(format)", "\(rotation)", "\((Double(frameBytes * rotation) / 1_048_576).fixed(0))",
                (results[0].medianCPU / 1000).fixed(0), (results[1].medianCPU / 1000).fixed(0),
                (results[2].medianCPU / 1000).fixed(0), results[1].medianCPURatio(to: results[0]).fixed(2),
                ratio.fixed(2),
            ], ratio
        )
    }
}
