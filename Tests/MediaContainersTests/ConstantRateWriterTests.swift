import MediaContainers
import TestTools
import Testing
import VideoCapturing

@Suite struct ConstantRateWriterTests {
    /// What a writer was given: the first sample of each frame.
    private final class Log: FrameWriter {
        struct State {
            var rate: FrameRate?
            var seeds: [UInt8] = []
            var finishes = 0
            var failsAt: Int?
        }
        let state = Locked(State())
        var bytesWritten: Int64 { Int64(state.withLock { $0.seeds.count }) }

        func writeFrame(_ frame: VideoFrame) throws {
            try state.withLock { state in
                if state.seeds.count == state.failsAt {
                    throw MediaFileError(.noSpace, operation: "write a frame", subject: "log", message: "It is full.")
                }
                state.seeds.append(samples(of: frame.buffer)[0])
            }
        }
        func finish() { state.withLock { $0.finishes += 1 } }
    }

    private let log = Log()

    private func make(_ rate: FrameRate, maximumDuration: Duration? = nil) -> ConstantRateWriter {
        ConstantRateWriter(rate: rate, maximumDuration: maximumDuration) { [log] rate in
            log.state.withLock { $0.rate = rate }
            return log
        }
    }

    private func measuring(stated: FrameRate? = nil) -> ConstantRateWriter {
        ConstantRateWriter(measuringWithStatedRate: stated) { [log] rate in
            log.state.withLock { $0.rate = rate }
            return log
        }
    }

    private func time(_ milliseconds: Double) -> MediaTime {
        MediaTime(nanoseconds: 3_000_000_000 + Int64(milliseconds * 1e6))
    }

    private func frame(_ milliseconds: Double, seed: Int = 0, isRepeat: Bool = false) throws -> VideoFrame {
        VideoFrame(buffer: try makeFrame(seed: seed).buffer, timestamp: time(milliseconds), isRepeat: isRepeat)
    }

    @Test func framesAreRepeatedAndDropped() throws {
        let writer = make(10)
        for (seed, time) in [0, 110, 130, 420, 480].enumerated() {
            try writer.writeFrame(frame(Double(time), seed: seed * 10))
        }
        try writer.finish(at: time(800))
        #expect(log.state.withLock { $0.seeds } == [0, 10, 20, 20, 30, 40, 40, 40])
        let statistics = writer.statistics
        #expect(statistics.rate == 10)
        #expect(statistics.framesWritten == 8)
        #expect(statistics.framesRepeated == 3)
        #expect(statistics.framesDropped == 0)
        #expect(statistics.duration == .milliseconds(800))
        #expect(writer.bytesWritten == 8)
    }

    @Test func whatIsDroppedIsCounted() throws {
        let writer = make(10)
        for index in 0...20 { try writer.writeFrame(frame(Double(index) * 50)) }
        try writer.finish()
        #expect(writer.statistics.framesWritten == 11)
        #expect(writer.statistics.framesDropped == 10)
        #expect(writer.statistics.framesRepeated == 0)
    }

    /// A screen at rest, of which the publisher gives a repeat each two seconds: all of it shows one image.
    @Test func aRepeatIsNoOtherImage() throws {
        let writer = make(30, maximumDuration: .seconds(8))
        try writer.writeFrame(frame(0))
        for time in [2000, 4000, 6000, 6001, 8100] { try writer.writeFrame(frame(Double(time), isRepeat: true)) }
        try writer.finish(at: time(8250))
        #expect(writer.statistics.framesWritten == 240)
        #expect(writer.statistics.framesRepeated == 239)
        #expect(writer.statistics.framesDropped == 0)
        #expect(writer.statistics.duration == .seconds(8))
    }

    /// A network camera states no rate. Its frames come unevenly, the first at once, and one is lost.
    @Test(arguments: [5, 10, 15, 20, 24, 25, 30, 50, 60] as [Int32])
    func theRateIsMeasured(_ rate: Int32) throws {
        let writer = measuring()
        let interval = 1000 / Double(rate)
        try writer.writeFrame(frame(0))
        for index in 0..<60 where index != 4 {
            let jitter = [0, 1, -1, 0.5, -0.5][index % 5] * min(10, 0.2 * interval)
            try writer.writeFrame(frame(Double(index) * interval + 0.3 * interval + jitter))
        }
        try writer.finish()
        #expect(log.state.withLock { $0.rate } == FrameRate(integerLiteral: rate))
        #expect(writer.statistics.framesWritten == 60 || writer.statistics.framesWritten == 61)
    }

    @Test func framesAreHeldUntilTheRateIsKnown() throws {
        let writer = measuring()
        for index in 0..<31 {
            try writer.writeFrame(frame(Double(index) * 40))
            #expect(writer.statistics.rate == nil)
        }
        try writer.writeFrame(frame(31 * 40))
        #expect(writer.statistics.rate == 25)
        #expect(log.state.withLock { $0.seeds.count } == 31, "all but the newest")
        try writer.finish()
        #expect(log.state.withLock { $0.seeds.count } == 32)
    }

    @Test func slowFramesAreNotWaitedForLonger() throws {
        let writer = measuring()
        for time in [0, 1000, 2000] { try writer.writeFrame(frame(Double(time))) }
        #expect(writer.statistics.rate == 1)
    }

    @Test func aRateThatNoCommonOneIsNear() throws {
        let writer = measuring()
        for index in 0..<40 { try writer.writeFrame(frame(Double(index) * 60)) }
        #expect(writer.statistics.rate == FrameRate("16.667"))
    }

    @Test func exactTimestampsTellTheRatesOfNTSC() throws {
        let writer = measuring()
        for index in 0..<40 { try writer.writeFrame(frame(Double(index) * 1001 / 30)) }
        #expect(writer.statistics.rate == FrameRate("29.97"))
    }

    /// What containers state, and what it should be.
    @Test(arguments: [("19001/317", "60000/1001"), ("2997/100", "30000/1001"), ("25", "25"), ("14.3", "14.3")])
    func aStatedRateIsTaken(_ stated: String, _ expected: String) throws {
        let rate = try #require(FrameRate(stated))
        let writer = measuring(stated: rate)
        for index in 0..<40 { try writer.writeFrame(frame((Double(index) / rate.framesPerSecond * 1000).rounded())) }
        #expect(writer.statistics.rate == FrameRate(expected))
    }

    @Test func aStatedRateThatTheFramesHaveIsNotWaitedFor() throws {
        let writer = measuring(stated: 25)
        for time in [0, 40, 81] { try writer.writeFrame(frame(Double(time))) }
        #expect(writer.statistics.rate == 25)
        #expect(log.state.withLock { $0.seeds.count } == 2)
    }

    /// A film of variable rate states its mean, at which frames that lie close together would be dropped.
    @Test func theMeanRateOfAFilmIsNotTaken() throws {
        let writer = measuring(stated: FrameRate("8.163"))
        let numbers = (0..<300).filter { $0 % 7 == 0 || $0 % 30 < 4 }
        for number in numbers { try writer.writeFrame(frame(Double(number) * 1000 / 30)) }
        try writer.finish(at: time(10_000))
        #expect(writer.statistics.rate == 30)
        #expect(writer.statistics.framesDropped == 0)
        #expect(writer.statistics.framesWritten == 300)
    }

    @Test(arguments: [0, 1, 2]) func aShortCapture(_ count: Int) throws {
        let writer = measuring()
        for index in 0..<count { try writer.writeFrame(frame(Double(index) * 40)) }
        try writer.finish()
        try writer.finish()
        try writer.writeFrame(frame(1000))
        #expect(log.state.withLock { $0.seeds.count } == count)
        #expect(log.state.withLock { $0.finishes } == 1)
        #expect(writer.statistics.rate == (count == 2 ? 25 : 30))
    }

    @Test func aFailureClosesTheFile() throws {
        log.state.withLock { $0.failsAt = 2 }
        let writer = make(10)
        for time in [0, 100, 200] { try writer.writeFrame(frame(Double(time))) }
        let error = mediaFileError { try writer.writeFrame(frame(300)) }
        #expect(error?.code == .noSpace)
        #expect(log.state.withLock { $0.finishes } == 1)
        try writer.finish()
        #expect(log.state.withLock { $0.finishes } == 1)
        #expect(writer.statistics.framesWritten == 2)
    }

    @Test func theHeaderHasTheMeasuredRate() throws {
        let folder = TemporaryFolder()
        let path = folder.file("a.y4m")
        let writer = try OutputFormat.y4m.makeFrameWriter(path: path, timing: .measured(stated: nil))
        let consumer = FrameWritingConsumer(writer)
        for index in 0..<10 { consumer.consumeFrame(try frame(Double(index) * 40)) }
        try consumer.finish(at: time(1000))
        let reader = try Y4MReader(InputFile(path: path))
        #expect(reader.format.estimatedFramesPerSecond == 25)
        var count = 0
        while try reader.nextFrame() != nil { count += 1 }
        #expect(count == 25)
    }

    @Test func everyFrameIsWrittenOnceWhereTimesMeanNothing() throws {
        let folder = TemporaryFolder()
        let path = folder.file("a.y4m")
        let writer = try OutputFormat.y4m.makeFrameWriter(path: path, timing: .everyFrame(rate: 30))
        for index in 0..<10 { try writer.writeFrame(frame(Double(index) / 100)) }
        try writer.finish()
        let reader = try Y4MReader(InputFile(path: path))
        var count = 0
        while try reader.nextFrame() != nil { count += 1 }
        #expect(count == 10)
    }
}
