import TestTools
import Testing
import VideoCapturing

@testable import MediaPublishing

/// A disk that fails while files follow each other, and files that are reopened.
@Suite struct SplitOutageTests {
    private struct DiskFull: Error {}

    private let folder = TemporaryFolder()
    private let log = ClipLog()
    private let isFull = Locked(false)

    private func open(
        pacing: MediaPublisher.Pacing = .realTime, retryInterval: Duration = .zero
    ) throws -> (output: SplitOutput, sink: any PacketSink) {
        let make: @Sendable (String) throws -> any MediaOutput = { [log, isFull] path in
            LoggedFile(path, log) { _ in if isFull.withLock({ $0 }) { throw DiskFull() } }
        }
        let output = try SplitOutput(
            folder.file("c-%03d.webm"), every: .duration(.seconds(60)), retryInterval: retryInterval,
            wallClock: { wallClockTime() }, make)
        let context = OutputContext(
            format: .i420(width: 16, height: 8), pacing: pacing,
            warn: { [log] warning in log.update { $0.warnings.append(warning) } })
        guard case .sink(let sink) = try output.open(context) else { throw DiskFull() }
        try sink.begin(ClipStream.tracks)
        return (output, sink)
    }

    private func send(_ range: Range<Int>, to sink: any PacketSink) throws {
        for packet in ClipStream.packets(range) { try sink.write(packet) }
    }

    /// The times of the pictures of each file.
    private var pictures: [[Int]] {
        log.wait { _ in true }.packets.sorted { $0.key < $1.key }.map { _, packets in
            packets.filter { $0.track == ClipStream.pictures }.map { ClipStream.milliseconds($0.timestamp) }
        }
    }

    @Test func anOutageLosesOnlyItsTime() throws {
        let (output, sink) = try open()
        try send(0..<5000, to: sink)
        isFull.withLock { $0 = true }
        // Each key frame is tried.
        try send(5000..<9000, to: sink)
        isFull.withLock { $0 = false }
        try send(9000..<20_000, to: sink)
        try sink.finish()
        try output.close(at: nil)
        #expect(pictures.filter { !$0.isEmpty }.map { [$0[0], $0[$0.count - 1]] } == [[0, 4900], [10_000, 19_900]])
        let warnings = log.wait { _ in true }.warnings
        #expect(warnings.count == 2, "the failure, and that it goes on: \(warnings)")
        #expect(warnings.first?.contains("DiskFull") == true)
        #expect(warnings.last?.contains("5.0 s are lost") == true)
        let statistics = output.outputStatistics
        #expect(statistics.summary.contains("failed once; 5.0 s are lost"), "\(statistics.summary)")
    }

    /// A disk that takes the header of a file and no more is still full: one warning, however often it is tried.
    @Test func aDiskThatStaysFullIsOneOutage() throws {
        let (output, sink) = try open()
        for begin in stride(from: 0, to: 40_000, by: 2000) {
            isFull.withLock { $0 = false }
            try send(begin..<begin + 200, to: sink)
            isFull.withLock { $0 = true }
            try send(begin + 200..<begin + 2000, to: sink)
        }
        try sink.finish()
        #expect(throws: DiskFull.self, "the recording has no end") { try output.close(at: nil) }
        #expect(log.wait { _ in true }.warnings.count == 1)
    }

    @Test func aDiskIsLeftAloneForATime() throws {
        let (output, sink) = try open(retryInterval: .seconds(3600))
        try send(0..<1000, to: sink)
        isFull.withLock { $0 = true }
        try send(1000..<2000, to: sink)
        isFull.withLock { $0 = false }
        try send(2000..<9000, to: sink)
        try sink.finish()
        #expect(throws: DiskFull.self) { try output.close(at: nil) }
        #expect(pictures.count == 1)
        // Those of the outage that has no end.
        let summary = output.outputStatistics.summary
        #expect(summary.contains("failed once; 8.0 s are lost"), "\(summary)")
    }

    /// A file that is converted has no time to lose.
    @Test func aRecordingThatIsNotLiveEnds() throws {
        let (_, sink) = try open(pacing: .onDemand)
        try send(0..<1000, to: sink)
        isFull.withLock { $0 = true }
        #expect(throws: DiskFull.self) { try send(1000..<2000, to: sink) }
    }

    @Test func filesAreReopenedWithAKeyFrame() throws {
        let (output, sink) = try open()
        let requests = Locked(0)
        let feedback = PacketFeedback(onKeyFrame: { requests.withLock { $0 += 1 } }, onBitrate: { _ in })
        (sink as? any FeedbackSink)?.connectFeedback(feedback)
        try send(0..<3000, to: sink)
        output.reopen()
        try send(3000..<9000, to: sink)
        try sink.finish()
        try output.close(at: nil)
        #expect(pictures.map { [$0[0], $0[$0.count - 1]] } == [[0, 3900], [4000, 8900]])
        #expect(requests.withLock { $0 } == 1)
    }
}
