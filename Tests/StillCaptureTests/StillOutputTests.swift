import FileOutput
import MediaContainers
import MediaPublishing
import NoiseCapturer
import TestTools
import Testing
import VideoCapturing

@testable import StillCapture

/// Stills as an output of a publisher: files, completion, failures, and the end of the capture in mid-burst.
@Suite struct StillOutputTests {
    private let folder = TemporaryFolder()

    /// White noise of 64x48, at a rate or as fast as it is taken.
    private func noise(
        rate: FrameRate? = nil, frames: UInt64? = nil
    ) -> (publisher: MediaPublisher, log: EventLog) {
        var settings = MediaPublisher.Settings()
        settings.maximumFrames = frames
        settings.pacing = rate == nil ? .onDemand : .realTime
        let publisher = MediaPublisher(
            video: NoiseCapturer(format: .nv12(width: 64, height: 48), frameRate: rate), settings: settings)
        return (publisher, EventLog(publisher))
    }

    private func stills(
        _ name: String, _ count: Int, interval: Duration? = nil, overwrites: Bool = false
    ) throws -> StillOutput {
        var settings = Still.Settings()
        settings.format = name.hasSuffix("nv12") ? .nv12 : name.hasSuffix("png") ? .png : .jpeg
        return try StillOutput(
            folder.file(name), configuration: .init(count: count, interval: interval, settings: settings),
            overwrites: overwrites)
    }

    private var names: [String] {
        get throws { try run("ls", "-A", folder.path).split(separator: "\n").map(String.init) }
    }

    // MARK: Bursts

    @Test func aBurstIsWrittenAndThenComplete() throws {
        let (publisher, log) = noise(rate: 100)
        let output = try stills("shot-%d.jpg", 5)
        let id = try publisher.add(output)
        try publisher.start()
        try log.waitForCompletion(of: id)
        #expect(!publisher.isActive && log.failures.isEmpty)
        try publisher.stop()
        #expect(try names == (1...5).map { "shot-\($0).jpg" })
        for number in 1...5 {
            let bytes = try folder.read("shot-\(number).jpg")
            #expect(bytes.starts(with: [0xFF, 0xD8]) && bytes.suffix(2) == [0xFF, 0xD9])
        }
        let statistics = output.outputStatistics
        #expect(statistics.status == "5/5 stills")
        #expect(statistics.summary.contains("5 of 5 stills") && statistics.summary.contains("ms at most"))
        #expect(statistics.bytes > 5 * 1000)
    }

    /// The film beside it has the very same frames, and goes on.
    @Test func everyFrameOfASourceWithoutARate() throws {
        let (publisher, log) = noise(frames: 60)
        let id = try publisher.add(try stills("shot-%02d.nv12", 30))
        try publisher.add(FileOutput(folder.file("film.nv12")))
        try publisher.start()
        try log.waitForCompletion(of: id)
        #expect(publisher.isActive, "the film goes on")
        try log.waitForEnd()
        try publisher.stop()
        #expect(log.failures.isEmpty)
        let film = try folder.read("film.nv12")
        let size = 64 * 48 * 3 / 2
        #expect(film.count == 60 * size)
        for number in 1...30 {
            let still = try folder.read(number < 10 ? "shot-0\(number).nv12" : "shot-\(number).nv12")
            #expect(still == Array(film[(number - 1) * size..<number * size]), "frame \(number)")
        }
    }

    /// Frames of a film that is read as fast as possible lie at their own times.
    @Test func anIntervalInAFilmsOwnTime() throws {
        let output = try stills("shot-%d.nv12", 3, interval: .milliseconds(100))
        let reports = Reports()
        let consumer = try open(output, reports, .playback(isPaced: false))
        let start = MonotonicClock().now
        for number in 0..<8 {
            consumer.consumeFrame(
                VideoFrame(
                    buffer: try flatPicture(UInt8(number)), timestamp: start.advanced(by: .milliseconds(40 * number)),
                    sequenceNumber: UInt64(number)))
        }
        #expect(reports.waitForCompletion())
        #expect(try (1...3).map { try folder.read("shot-\($0).nv12")[0] } == [0, 3, 5])
        try output.close(at: nil)
    }

    @Test func aCaptureThatEndsEndsTheBurst() throws {
        let (publisher, log) = noise(frames: 3)
        let output = try stills("shot-%d.png", 10)
        try publisher.add(output)
        try publisher.start()
        try log.waitForEnd()
        try publisher.stop()
        #expect(log.failures.isEmpty && log.completed.isEmpty)
        #expect(try names == (1...3).map { "shot-\($0).png" })
        #expect(output.outputStatistics.status == "3/10 stills")
        #expect(output.outputStatistics.summary.contains("3 of 10 stills"))
    }

    @Test func anEndBeforeTheFirstFrame() throws {
        let output = try stills("shot-%d.jpg", 10)
        let reports = Reports()
        _ = try open(output, reports)
        try output.close(at: nil)
        #expect(output.outputStatistics.summary.contains("no still"))
        #expect(try names == [] && !reports.hasCompleted && reports.failures.isEmpty)
    }

    /// While a camera is away no still is taken, and none of an old frame afterwards.
    @Test func anInterruptionIsSkipped() throws {
        // More than may be outstanding.
        let output = try stills("shot-%d.nv12", 15, interval: .milliseconds(20))
        let reports = Reports()
        let consumer = try open(output, reports)
        func feed(_ value: UInt8) throws {
            consumer.consumeFrame(
                VideoFrame(
                    buffer: try flatPicture(value), timestamp: MonotonicClock().now, sequenceNumber: UInt64(value),
                    estimatedFrameRate: 50))
        }
        try feed(1)
        #expect(blocksUntil { output.outputStatistics.status == "1/15 stills" })
        output.sourceStateChanged(to: .interrupted(.deviceDisconnected))
        #expect(blocksUntil { output.skipped >= 5 })
        #expect(output.outputStatistics.status == "1/15 stills")
        var value: UInt8 = 100
        while !reports.hasCompleted, value < 250 {
            try feed(value)
            value += 1
            ManualResetEvent().wait(until: MonotonicClock().now.advanced(by: .milliseconds(20)))
        }
        #expect(reports.waitForCompletion())
        #expect(try (2...15).allSatisfy { try folder.read("shot-\($0).nv12")[0] >= 100 })
        try output.close(at: nil)
    }

    // MARK: Failures

    @Test func aDamagedFrameIsTakenAgain() throws {
        let output = try stills("shot-%d.png", 2)
        let reports = Reports()
        let consumer = try open(output, reports, .onDemand)
        for number in 1...4 {
            let buffer =
                try number > 2
                ? flatPicture(UInt8(number))
                : [UInt8](repeating: 7, count: 100).withUnsafeBytes {
                    try PixelBuffer.compressed($0, as: .mjpeg, width: 16, height: 8)
                }
            consumer.consumeFrame(
                VideoFrame(
                    buffer: buffer, timestamp: MonotonicClock().now, sequenceNumber: UInt64(number)))
        }
        #expect(reports.waitForCompletion())
        #expect(reports.warnings.count == 1, "a word, and not one for each")
        #expect(output.outputStatistics.summary.contains("2 of 2 stills"))
        #expect(output.outputStatistics.summary.contains("2 failed"))
        try output.close(at: nil)
    }

    /// A file that appears meanwhile stays, and so do those of before.
    @Test func aFileThatExistsFails() throws {
        let (publisher, log) = noise(rate: 100)
        let output = try stills("shot-%d.jpg", 5)
        try publisher.add(output)
        try publisher.add(FileOutput("", format: .null))
        try publisher.open()
        try folder.write([9], to: "shot-3.jpg")
        try publisher.start()
        let failure = try log.waitForFailure()
        #expect(isError(.fileExists, failure) && "\(failure)".contains("shot-3.jpg"))
        #expect(publisher.isActive, "the other goes on")
        try publisher.stop()
        #expect(try names == ["shot-1.jpg", "shot-2.jpg", "shot-3.jpg"])
        #expect(try folder.read("shot-3.jpg") == [9])
        #expect(log.completed.isEmpty && output.outputStatistics.status == "2/5 stills")
    }

    @Test func aFolderThatIsNotThereIsAnErrorBeforeTheFirst() throws {
        let (publisher, _) = noise()
        try publisher.add(try stills("no/shot.jpg", 1))
        #expect { try publisher.start() } throws: { isError(.folderNotFound, $0) }
    }

    @Test func existingFilesAreAnErrorBeforeTheFirst() throws {
        try folder.write([9], to: "shot-4.jpg")
        let (publisher, _) = noise()
        try publisher.add(try stills("shot-%d.jpg", 5))
        #expect { try publisher.start() } throws: { isError(.fileExists, $0) }
        let (other, log) = noise()
        let id = try other.add(try stills("shot-%d.jpg", 5, overwrites: true))
        try other.start()
        try log.waitForCompletion(of: id)
        try other.stop()
        #expect(try folder.read("shot-4.jpg").count > 1000)
    }

    // MARK: Options

    private func output(_ text: String, _ options: [String: String] = [:]) throws -> StillOutput {
        let values = OptionValues(options.mapValues { [$0] })
        return try #require(try OutputCatalog([.stills]).makeOutput(text, options: values) as? StillOutput)
    }

    @Test func optionsAreRead() throws {
        let burst = try output(
            "a/shot-%03d.JPEG",
            [
                "burst": "20", "burst-interval": "500ms", "still-quality": "75", "still-orientation": "applied",
                "still-exif": "no",
            ])
        #expect(burst.configuration.count == 20 && burst.configuration.interval == .milliseconds(500))
        let settings = burst.configuration.settings
        #expect(settings.format == .jpeg && settings.quality == 75)
        #expect(settings.orientation == .applied && !settings.writesEXIF)
        #expect(burst.paths.count == 20 && burst.paths[19] == "a/shot-020.JPEG")
        #expect(try output("shot.png").configuration.settings.format == .png)
        #expect(try output("shot.png").paths == ["shot.png"])
        #expect(try output("stills:shot-%d.nv12").configuration.settings.format == .nv12)
    }

    @Test(arguments: [
        ("shot.jpg", ["burst": "2"]), ("shot-%d.jpg", ["burst": "0"]), ("shot-%d.jpg", ["burst": "100001"]),
        ("shot-%d.jpg", ["burst": "many"]), ("shot-%d.jpg", ["burst": "3", "burst-interval": "0"]),
        ("shot.jpg", ["burst-interval": "1"]), ("shot.jpg", ["still-quality": "101"]),
        ("shot.jpg", ["still-orientation": "sideways"]), ("shot.jpg", ["still-exif": "perhaps"]),
        ("shot-%q.jpg", [:]), ("stills:-", [:]), ("stills:shot.webm", [:]), ("stills:", [:]),
    ])
    func badValuesAreRefused(text: String, options: [String: String]) {
        #expect(throws: OptionError.self) { try output(text, options) }
    }

    // MARK: Helpers

    /// Opens an output without a publisher, for frames of the test's own.
    private func open(
        _ output: StillOutput, _ reports: Reports, _ pacing: MediaPublisher.Pacing = .realTime
    ) throws -> any VideoCaptureConsumer {
        let context = OutputContext(
            format: .nv12(width: 16, height: 8), pacing: pacing, fail: { reports.fail($0) },
            warn: { reports.warn($0) }, complete: { reports.complete() })
        guard case .consumer(let consumer) = try output.open(context) else { throw BurstReader.Unexpected() }
        return consumer
    }
}

extension StillOutput {
    fileprivate var skipped: Int64 {
        guard case .object(let counts)? = outputStatistics.details.first(where: { $0.name == "stills" })?.value,
            case .integer(let count)? = counts.first(where: { $0.name == "skipped" })?.value
        else { return -1 }
        return count
    }
}

/// Waits until something is so, on a thread of its own.
private func blocksUntil(_ condition: () -> Bool) -> Bool {
    let limit = MonotonicClock().now.advanced(by: .seconds(60))
    while !condition() {
        if MonotonicClock().now > limit { return false }
        ManualResetEvent().wait(until: MonotonicClock().now.advanced(by: .milliseconds(2)))
    }
    return true
}
