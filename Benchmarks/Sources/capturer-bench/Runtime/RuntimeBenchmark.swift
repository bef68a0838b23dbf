import VideoCapturing

/// What a frame costs besides its pixels, and what consumers add.
struct RuntimeBenchmark {
    private let effort: Effort

    init(_ effort: Effort) {
        self.effort = effort
    }

    private struct Case {
        var name: String
        var width: Int
        var height: Int
        /// nil for a capture without a publisher.
        var consumers: Int?
        var frames: Int
    }

    func run() throws {
        Report.title("A frame through the runtime")
        Report.text(
            """
            A source that writes no pixels, as fast as it is taken; consumers that do nothing. With a publisher each
            consumer has a thread of its own behind a queue of 4 frames that waits, so every frame reaches every
            consumer, and the kernel's waking of threads is nearly all of the cost. *Bare queue* is the same
            hand-over without this project: a counter behind a POSIX mutex and a condition variable, between two
            threads. CPU is that of all threads.
            """)
        let cases = [(2, 2), (1280, 720)].flatMap { width, height in
            [
                Case(name: "SourceCapturer", width: width, height: height, consumers: nil, frames: 500_000),
                Case(name: "VideoPublisher, 1 consumer", width: width, height: height, consumers: 1, frames: 200_000),
                Case(name: "VideoPublisher, 8 consumers", width: width, height: height, consumers: 8, frames: 40_000),
                Case(name: "VideoPublisher, 64 consumers", width: width, height: height, consumers: 64, frames: 5_000),
            ]
        }
        let handOvers = effort.frames(200_000)
        let results = try inTurns(
            rounds: effort.rounds,
            cases.map { one in { try measure(one) } } + [{ BareQueue.usage(handingOver: handOvers) }])
        let bare = results[cases.count]
        Report.table(
            ["through", "size", "frames/s", "wall ns/frame", "CPU ns/frame", "CPU ns/delivery"],
            zip(cases, results).map { one, usage in
                [
                    one.name, "\(one.width)×\(one.height)", (1e9 / usage.medianWall).fixed(0),
                    usage.medianWall.fixed(0), usage.medianCPU.fixed(0),
                    (usage.medianCPU / Double(one.consumers ?? 1)).fixed(0),
                ]
            } + [
                [
                    "Bare queue", "", (1e9 / bare.medianWall).fixed(0), bare.medianWall.fixed(0),
                    bare.medianCPU.fixed(0), bare.medianCPU.fixed(0),
                ]
            ])
        let worst = zip(cases, results).filter { $0.0.consumers == nil }.map { $0.1.medianCPU }.max()!
        Report.goal(
            "At most 2 µs of CPU to a null consumer (worst: \((worst / 1000).fixed(2)) µs)", isMet: worst <= 2000)
    }

    private func measure(_ one: Case) throws -> Usage {
        let capture = SourceCapturer(BlankSource(width: one.width, height: one.height), name: "blank")
        let frames = effort.frames(one.frames)
        let window = WindowConsumer(skip: frames / 10 + 1, count: frames)
        guard let consumers = one.consumers else {
            capture.videoCaptureConsumer = window
            try capture.initCapture()
            try capture.startCapture()
            defer { capture.releaseCapture() }
            return window.usagePerFrame()
        }
        let publisher = VideoPublisher(capture)
        defer { publisher.close() }
        for number in 0..<consumers {
            let consumer: any VideoCaptureConsumer = number == 0 ? window : NullConsumer()
            try publisher.add(consumer, name: "null \(number)", queue: .init(capacity: 4, policy: .block))
        }
        try publisher.start()
        return window.usagePerFrame()
    }
}
