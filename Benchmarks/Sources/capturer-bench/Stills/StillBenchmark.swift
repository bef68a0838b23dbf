import Dispatch
import NoiseCapturer
import StillCapture
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// What stills cost a capture: the processor time of an idle one, and the memory of a ring of frames.
struct StillBenchmark {
    private let effort: Effort

    init(_ effort: Effort) { self.effort = effort }

    func run() throws {
        Report.title("An idle StillCapture")
        let frames = effort.frames(1_000_000)
        Report.text(
            """
            What a frame costs the capture's thread beside its delivery, with a StillCapture of the usual ring of 3 frames
            and no request: medians of \(effort.rounds) runs of \(frames) frames.
            """)
        let cost = try inTurns(rounds: effort.rounds, [{ try idle(frames: frames) / frames }])[0]
        Report.table(["", "CPU ns/frame"], [["StillCapture, idle", cost.medianCPU.fixed(0)]])
        Report.goal(
            "An idle StillCapture costs a frame at most 2 µs (\((cost.medianCPU / 1000).fixed(2)) µs)",
            isMet: cost.medianCPU <= 2000)

        Report.title("Memory of a ring of 30 frames, 1920×1080")
        let held = 30 * 1920 * 1080 * 3 / 2 / 1024
        let few = try ring(of: 3)
        let many = try ring(of: 30)
        Report.text("Resident memory in KiB after 300 frames of noise in NV12, of which 30 have \(held) KiB.")
        Report.table(
            ["ring", "resident"], [["3 frames", "\(few)"], ["30 frames", "\(many)"], ["27 more", "\(many - few)"]])
        Report.goal(
            "A ring of 30 frames takes their memory and no more, to 5 %",
            isMet: many - few <= held * 27 / 30 * 105 / 100)
    }

    private func idle(frames: Int) throws -> Usage {
        let stills = StillCapture()
        let buffers = try (0..<4).map { _ in
            try PixelBuffer.make(.nv12, width: 16, height: 16) { $0.fill(plane: 0, with: 128) }
        }
        let clock = MonotonicClock()
        return Usage.of {
            for number in 0..<frames {
                // Nothing of it is held back by what was computed before.
                let frame = VideoFrame(
                    buffer: buffers[number & 3], timestamp: clock.now, sequenceNumber: UInt64(number))
                _ = stills.consumeInline(frame)
            }
        }
    }

    private func ring(of capacity: Int) throws -> Int {
        let stills = StillCapture(configuration: .init(ringCapacity: capacity, ringByteLimit: 1 << 30))
        let publisher = VideoPublisher(NoiseCapturer(format: .nv12(width: 1920, height: 1080), frameRate: nil))
        try stills.attach(to: publisher)
        let window = WindowConsumer(skip: 300, count: 1, atBegin: {}, atEnd: {})
        try publisher.add(window, name: "window", queue: .init(capacity: 1, policy: .block))
        try publisher.start()
        _ = window.usagePerFrame()
        let resident = residentKiB()
        publisher.close()
        return resident
    }
}
