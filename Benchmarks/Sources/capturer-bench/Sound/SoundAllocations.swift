import AudioCapturing
import CAllocationCount
import MediaContainers
import MediaPublishing
import OpusCodec
import ToneCapturer

/// Heap allocations of the whole process while chunks of sound flow, as fast as they are taken.
struct SoundAllocations {
    let first: Int
    let chunks: Int

    var paths: [(String, () throws -> allocation_counts)] {
        [
            ("tone → consumer", { try toConsumer() }),
            ("tone → publisher → queue → Opus → consumer", { try toOpus() }),
            ("tone → MediaPublisher: time line → Opus → WebM", { try toWebM() }),
        ]
    }

    private func toConsumer() throws -> allocation_counts {
        let (window, counter) = makeWindow()
        let consumer = ChunkWindow(window)
        let capture = makeCapture()
        capture.audioCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        window.awaitEnd()
        capture.releaseCapture()
        return counter.counts
    }

    private func toOpus() throws -> allocation_counts {
        let (window, counter) = makeWindow()
        let publisher = AudioPublisher(makeCapture())
        let encoding = AudioEncodingConsumer(
            try OpusEncoder(), to: [(name: "window", sink: window)], onFailure: { fatalError("\($0.error)") })
        try publisher.add(encoding, name: "opus", queue: .init(capacity: 4, policy: .block))
        try publisher.start()
        window.awaitEnd()
        publisher.close()
        encoding.finish()
        return counter.counts
    }

    private func toWebM() throws -> allocation_counts {
        let (window, counter) = makeWindow(to: WebMWriter(try OutputFile(path: "/dev/null", overwrite: true)))
        let publisher = MediaPublisher(audio: makeCapture(), settings: .init(audioEncoders: [.opus]))
        try publisher.add(WindowOutput(window))
        try publisher.start()
        window.awaitEnd()
        try publisher.stop()
        publisher.close()
        return counter.counts
    }

    private func makeCapture() -> ToneCapturer { ToneCapturer(isPaced: false) }

    private func makeWindow(to next: (any PacketSink)? = nil) -> (PacketWindow, Counter) {
        let counter = Counter()
        let window = PacketWindow(
            skip: first, count: chunks, pauseAt: first / 2, to: next, atBegin: { allocation_count_begin() },
            atEnd: { counter.counts = allocation_count_end() })
        return (window, counter)
    }

    /// Where the window leaves its result; read after the window has closed.
    private final class Counter {
        var counts = allocation_counts()
    }

    /// The window as an output of a publisher.
    private final class WindowOutput: MediaOutput {
        let window: PacketWindow
        init(_ window: PacketWindow) { self.window = window }

        var name: String { "window" }
        var kind: String { "window" }
        var feed: OutputContext.Feed { .noVideo }
        var audioFeed: OutputContext.AudioFeed? { .packets([.opus]) }
        func open(_ context: OutputContext) -> OutputContext.Destination { .sink(window) }
        var outputStatistics: OutputStatistics { OutputStatistics(bytes: 0) }
    }
}
