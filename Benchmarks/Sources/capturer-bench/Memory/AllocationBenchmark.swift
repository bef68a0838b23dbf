import CAllocationCount
import NoiseCapturer
import VideoCapturing

/// Heap allocations of the whole process, libraries included, while frames flow.
struct AllocationBenchmark {
    private let effort: Effort
    private let printsStacks: Bool
    private let first = 200
    private let frames = 1000

    init(_ effort: Effort, printsStacks: Bool) {
        self.effort = effort
        self.printsStacks = printsStacks
    }

    func run() throws {
        Report.title("Heap allocations in steady state")
        Report.text(
            """
            Every malloc, calloc, realloc, posix_memalign, aligned_alloc and memalign of the process, libvpx and the
            Swift runtime included, from frame \(first) to frame \(first + frames), or from one chunk of 20 ms of sound to
            another.
            """)
        let pictures: [(String, () throws -> allocation_counts)] = [
            ("noise → consumer", { try noiseToConsumer() }),
            ("noise → publisher → queue → consumer", { try noiseToQueue(policy: .block) }),
            ("the same, the newest frame wins", { try noiseToQueue(policy: .dropOldest) }),
            ("noise → publisher → queue → VP8 → consumer", { try noiseToVP8() }),
        ]
        let paths = pictures + SoundAllocations(first: first, chunks: frames).paths
        var total: Int64 = 0
        var rows: [[String]] = []
        for (name, measure) in paths {
            let counts = try measure()
            total += counts.allocations
            rows.append(
                [
                    name, "\(counts.allocations)", "\(counts.bytes)",
                    (Double(counts.allocations) / Double(frames)).fixed(3),
                ])
            if printsStacks, counts.allocations > 0 { allocation_count_print_stacks(2) }
        }
        Report.table(["path", "allocations", "bytes", "per frame"], rows)
        Report.goal("No allocation per frame, or per chunk of sound", isMet: total == 0)
    }

    private func noiseToConsumer() throws -> allocation_counts {
        let counter = Counter()
        let window = makeWindow(counter)
        let capture = makeCapture()
        capture.videoCaptureConsumer = window
        try capture.initCapture()
        try capture.startCapture()
        _ = window.usagePerFrame()
        capture.releaseCapture()
        return counter.counts
    }

    private func noiseToQueue(policy: QueuePolicy) throws -> allocation_counts {
        let counter = Counter()
        let window = makeWindow(counter)
        let publisher = VideoPublisher(makeCapture())
        try publisher.add(window, name: "window", queue: .init(capacity: 4, policy: policy))
        try publisher.start()
        _ = window.usagePerFrame()
        publisher.close()
        return counter.counts
    }

    private func noiseToVP8() throws -> allocation_counts {
        let counter = Counter()
        let window = PacketWindow(
            skip: first, count: frames, pauseAt: first / 2, atBegin: { allocation_count_begin() },
            atEnd: { counter.counts = allocation_count_end() })
        let publisher = VideoPublisher(makeCapture())
        let encoding = try makeEncodingConsumer(bitrate: 2_000_000, to: window)
        try publisher.add(encoding, name: "vp8", queue: .init(capacity: 4, policy: .block))
        try publisher.start()
        window.awaitEnd()
        publisher.close()
        encoding.finish()
        return counter.counts
    }

    private func makeCapture() -> NoiseCapturer {
        NoiseCapturer(format: .nv12(width: 320, height: 240), frameRate: nil)
    }

    private func makeWindow(_ counter: Counter) -> WindowConsumer {
        WindowConsumer(
            skip: first, count: frames, pauseAt: first / 2, atBegin: { allocation_count_begin() },
            atEnd: { counter.counts = allocation_count_end() })
    }

    /// Where the window leaves its result; read after the window has closed.
    private final class Counter {
        var counts = allocation_counts()
    }
}
