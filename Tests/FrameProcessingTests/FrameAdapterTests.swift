import CapturerTestKit
import Testing
import VideoCapturing

@testable import FrameProcessing

/// Keeps what comes.
private final class Collector: VideoCaptureConsumer {
    private let kept = Locked<[VideoFrame]>([])
    var frames: [VideoFrame] { kept.withLock { $0 } }
    func consumeFrame(_ frame: VideoFrame) { kept.withLock { $0.append(frame) } }
}

@Suite struct FrameRateLimiterTests {
    /// The numbers of the frames of a stream at `rate` that pass a limit.
    private func passed(
        _ count: Int64, at rate: FrameRate, limit: FrameRate, jitter: (Int64) -> Int64 = { _ in 0 }
    ) -> [Int64] {
        var limiter = FrameRateLimiter()
        return (0..<count).filter { index in
            let time = MediaTime(nanoseconds: 5_000_000_000 + rate.time(ofFrame: index).nanoseconds + jitter(index))
            return limiter.shouldPass(time, sequenceNumber: UInt64(index), at: limit)
        }
    }

    private let ntsc = FrameRate(30000, per: 1001)!

    @Test func halvesExactly() {
        #expect(passed(600, at: 60, limit: 30) == (0..<300).map { $0 * 2 })
        #expect(passed(600, at: 30, limit: 10) == (0..<200).map { $0 * 3 })
    }

    @Test func leavesOneInAThousandOut() {
        #expect(passed(30030, at: 30, limit: ntsc).count == 30000)
    }

    @Test func passesSlowerAndEqualStreamsWhole() {
        #expect(passed(500, at: 25, limit: 30).count == 500)
        #expect(passed(500, at: 30, limit: 30).count == 500)
        #expect(passed(500, at: ntsc, limit: ntsc).count == 500)
        #expect(passed(500, at: ntsc, limit: 30).count == 500)
    }

    @Test func choosesTheNearestOfOtherRates() {
        let frames = passed(300, at: 30, limit: 20)
        #expect(frames.count == 200)
        // Two of three, so the distances are one and two frames in turn, and never three.
        #expect(zip(frames, frames.dropFirst()).allSatisfy { (1...2).contains($1 - $0) })
        #expect(passed(2400, at: 24, limit: 10).count == 1000)
    }

    /// A quarter of a frame of jitter neither loses nor bunches frames.
    @Test func bearsJitter() {
        func jitter(_ amount: Int64) -> (Int64) -> Int64 { { $0 % 7 * amount / 3 - amount } }
        #expect(passed(600, at: 30, limit: 30, jitter: jitter(7_000_000)).count == 600)
        let halved = passed(600, at: 60, limit: 30, jitter: jitter(3_000_000))
        #expect(halved == (0..<300).map { $0 * 2 })
    }

    @Test func doesNotMakeUpForAPause() {
        var limiter = FrameRateLimiter()
        var times = (0..<60).map { Int64($0) * 16_666_667 }
        times += (0..<60).map { 60_000_000_000 + Int64($0) * 16_666_667 }
        let passes = times.enumerated().filter {
            limiter.shouldPass(MediaTime(nanoseconds: $0.element), sequenceNumber: UInt64($0.offset), at: 30)
        }
        #expect((59...61).contains(passes.count))
        for (first, second) in zip(passes, passes.dropFirst()) {
            #expect(second.element - first.element > 16_000_000)
        }
    }

    @Test func startsAnewWhenTimeGoesBack() {
        var limiter = FrameRateLimiter()
        let times: [Int64] = [.max, .min, 0, 0, 1]
        let passes = times.map { limiter.shouldPass(MediaTime(nanoseconds: $0), sequenceNumber: 0, at: 30) }
        #expect(passes == [true, true, true, true, false])
    }

    @Test func takesANewRateFromTheLastFrameOn() {
        var limiter = FrameRateLimiter()
        var passes: [Int] = []
        for index in 0..<120 {
            let time = MediaTime(nanoseconds: Int64(index) * 16_666_667)
            let limit: FrameRate? = index < 40 ? 30 : index < 80 ? 15 : nil
            if limiter.shouldPass(time, sequenceNumber: UInt64(index), at: limit) { passes.append(index) }
        }
        #expect(
            passes == Array(stride(from: 0, to: 40, by: 2)) + Array(stride(from: 42, to: 80, by: 4)) + Array(80..<120))
    }
}

@Suite struct FrameAdapterTests {
    private func frame(
        _ index: Int, _ buffer: PixelBuffer, damage: [PixelRect]? = nil, isRepeat: Bool = false
    ) -> VideoFrame {
        VideoFrame(
            buffer: buffer, timestamp: MediaTime(nanoseconds: Int64(index) * 16_666_667),
            sequenceNumber: UInt64(index), orientation: .right, estimatedFrameRate: 60, damage: damage,
            isRepeat: isRepeat)
    }

    @Test func passesAllWhenNothingIsAsked() throws {
        let collector = Collector()
        let adapter = FrameAdapter(to: collector)
        let buffer = try noise(.yuy2, 9, 9)
        for index in 0..<10 { adapter.consumeFrame(frame(index, buffer)) }
        #expect(collector.frames.count == 10 && collector.frames.allSatisfy { $0.buffer === buffer })
        #expect(adapter.statistics.framesIn == 10 && adapter.statistics.framesOut == 10)
    }

    @Test func keepsToTheRate() throws {
        let collector = Collector()
        let adapter = FrameAdapter(to: collector, wants: CaptureWants(maximumFrameRate: 30))
        let buffer = try noise(.nv12, 2, 2)
        for index in 0..<60 { adapter.consumeFrame(frame(index, buffer)) }
        #expect(collector.frames.map(\.sequenceNumber) == (0..<30).map { $0 * 2 })
        #expect(collector.frames.allSatisfy { $0.estimatedFrameRate == 30 && $0.orientation == .right })
        #expect(adapter.statistics.framesDroppedForRate == 30)
    }

    @Test func scalesToPixelsAndAlignment() throws {
        let collector = Collector()
        let adapter = FrameAdapter(to: collector, wants: CaptureWants(maximumPixelCount: 64 * 36, sizeAlignment: 4))
        adapter.consumeFrame(frame(0, try flat(.i420, 128, 72, (50, 60, 70))))
        let result = try #require(collector.frames.first)
        #expect(result.width == 64 && result.height == 36)
        #expect(Samples(result.buffer).isEqual(to: Samples(try flat(.i420, 64, 36, (50, 60, 70)))))
        adapter.adapt(to: CaptureWants())
        adapter.consumeFrame(frame(1, try noise(.i420, 128, 72)))
        #expect(collector.frames.last?.width == 128)
        #expect(adapter.statistics.framesScaled == 1 && adapter.statistics.framesOut == 2)
        #expect(adapter.wants == CaptureWants())
    }

    @Test func givesBlackWhereThatIsEnough() throws {
        let collector = Collector()
        let adapter = FrameAdapter(to: collector, wants: CaptureWants(acceptsBlack: true))
        for index in 0..<3 { adapter.consumeFrame(frame(index, try noise(.nv12, 8, 6, seed: 3), damage: [])) }
        #expect(collector.frames.count == 3 && adapter.statistics.framesBlackened == 3)
        #expect(collector.frames[0].buffer === collector.frames[2].buffer)
        #expect(Samples(collector.frames[0].buffer).isEqual(to: Samples(try flat(.nv12, 8, 6, (16, 128, 128)))))
        adapter.adapt(to: CaptureWants())
        adapter.consumeFrame(frame(3, try noise(.nv12, 8, 6, seed: 3), damage: [], isRepeat: true))
        // The picture after black is new all over, whatever the capture thought.
        #expect(collector.frames[3].damage == nil && !collector.frames[3].isRepeat)
    }

    @Test func carriesDamageOverDroppedFrames() throws {
        let collector = Collector()
        let adapter = FrameAdapter(to: collector, wants: CaptureWants(maximumFrameRate: 30))
        let buffer = try noise(.nv12, 32, 32)
        let spots = (0..<8).map { PixelRect(x: $0, y: 0, width: 1, height: 1) }
        for index in 0..<4 { adapter.consumeFrame(frame(index, buffer, damage: [spots[index]])) }
        adapter.consumeFrame(frame(4, buffer, damage: []))
        adapter.consumeFrame(frame(5, buffer, damage: nil))
        adapter.consumeFrame(frame(6, buffer, damage: [], isRepeat: true))
        adapter.consumeFrame(frame(7, buffer, damage: [], isRepeat: true))
        adapter.consumeFrame(frame(8, buffer, damage: [], isRepeat: true))
        let frames = collector.frames
        #expect(frames.map(\.sequenceNumber) == [0, 2, 4, 6, 8])
        #expect(frames.map(\.damage) == [[spots[0]], [spots[1], spots[2]], [spots[3]], nil, []])
        #expect(frames.map(\.isRepeat) == [false, false, false, false, true])
    }

    @Test func countsFramesThatCannotBeScaled() throws {
        let collector = Collector()
        let adapter = FrameAdapter(to: collector, wants: CaptureWants(maximumPixelCount: 20))
        let garbage = try [UInt8](repeating: 7, count: 100).withUnsafeBytes {
            try PixelBuffer.compressed($0, as: .mjpeg, width: 19, height: 9)
        }
        adapter.consumeFrame(frame(0, garbage))
        #expect(collector.frames.isEmpty && adapter.statistics.framesFailed == 1)
        #expect(adapter.lastError?.code == .corruptData)
        let whole = try TestJPEG.yuv422.bytes.withUnsafeBytes {
            try PixelBuffer.compressed($0, as: .mjpeg, width: 19, height: 9)
        }
        adapter.consumeFrame(frame(1, whole))
        #expect(collector.frames.first?.pixelFormat == .nv12 && collector.frames.first?.color == .jpeg)
    }

    @Test func takesNewWantsFromOtherThreads() async throws {
        let collector = Collector()
        let adapter = FrameAdapter(to: collector)
        let buffer = try noise(.nv12, 16, 16)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for index in 0..<200 { adapter.adapt(to: CaptureWants(maximumPixelCount: index % 2 == 0 ? 64 : nil)) }
            }
            group.addTask { for index in 0..<200 { adapter.consumeFrame(self.frame(index, buffer)) } }
        }
        let statistics = adapter.statistics
        #expect(statistics.framesOut == 200 && collector.frames.count == 200)
        #expect(collector.frames.allSatisfy { $0.width == 16 || $0.width == 8 })
        #expect(UInt64(collector.frames.filter { $0.width == 8 }.count) == statistics.framesScaled)
    }
}
