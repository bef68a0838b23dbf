import TestTools
import Testing
import VideoCapturing

@testable import MediaPublishing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct RetentionTests {
    private let folder = TemporaryFolder()

    /// Files of 100 bytes, each a day older than the last; the first one is an hour old.
    private func makeFiles(_ count: Int) throws -> Int64 {
        let now = wallClockTime().nanoseconds
        for number in 1...count {
            let path = try folder.write(Array("DKIF".utf8) + [UInt8](repeating: 0, count: 96), to: "a-00\(number).ivf")
            let age = 3600 + (number - 1) * 86_400
            let time = timespec(tv_sec: time_t(now / 1_000_000_000) - age, tv_nsec: 0)
            _ = [time, time].withUnsafeBufferPointer { utimensat(AT_FDCWD, path, $0.baseAddress!, 0) }
        }
        return now
    }

    private func left(_ limits: [SplitOutput.Limit], besides: [String] = [], _ now: Int64) throws -> [Int] {
        let retention = FileRetention(files: try SplitFiles(folder.file("a-%03d.ivf")), limits: limits, kind: "ivf")
        let before = retention.files.existingFiles().count
        let deleted = retention.deleteOldest(besides: besides, now: now)
        let after = retention.files.existingFiles().compactMap(\.number).sorted()
        #expect(before - after.count == deleted)
        return after
    }

    @Test func filesAreDeletedByAge() throws {
        let now = try makeFiles(5)
        #expect(try left([.age(.seconds(3 * 86_400))], now) == [1, 2, 3])
        #expect(try left([.age(.seconds(60))], besides: [folder.file("a-002.ivf")], now) == [2])
    }

    @Test func eachOfSeveralLimitsHolds() throws {
        let now = try makeFiles(5)
        #expect(try left([.files(5), .bytes(10_000)], now) == [1, 2, 3, 4])
        #expect(try left([.bytes(250), .age(.seconds(3 * 86_400))], now) == [1, 2])
        #expect(try left([], now) == [1, 2])
    }

    @Test func spaceIsKeptFree() throws {
        let now = try makeFiles(4)
        #expect(try left([.free(1), .freeFraction(0)], now) == [1, 2, 3, 4])
        // Other files stay, however full the disk is.
        try folder.write(Array("mine".utf8), to: "a-009.ivf")
        try folder.write(Array("DKIF".utf8), to: "b-001.ivf")
        #expect(try left([.free(.max)], besides: [folder.file("a-001.ivf")], now) == [1, 9])
        #expect(try readBytes(folder.file("b-001.ivf")).count == 4)
        #expect(try left([.freeFraction(1)], now) == [9])
        #expect(try SplitFiles("/no/such/folder/a.ivf").space == nil)
    }

    /// The still of a clip goes with it; a file of the same name that is not a JPEG stays, and so does that of a recorder
    /// without stills.
    @Test(arguments: [true, false]) func stillsAreDeletedWithTheirClips(hasStills: Bool) throws {
        let now = try makeFiles(4)
        for number in 2...4 { try folder.write(number == 4 ? [1] : [0xFF, 0xD8, 0xFF], to: "a-00\(number).jpg") }
        var retention = FileRetention(
            files: try SplitFiles(folder.file("a-%03d.ivf")), limits: [.files(3)], kind: "ivf")
        retention.hasStills = hasStills
        #expect(retention.deleteOldest(besides: [], now: now) == 2)
        let left = (2...4).filter { (try? readBytes(folder.file("a-00\($0).jpg"))) != nil }
        #expect(left == (hasStills ? [2, 4] : [2, 3, 4]))
    }

    /// 1 March 2026 by the clock of the machine.
    private func date(_ hour: Int, _ minute: Int, _ second: Double) -> Duration {
        var fields = tm()
        fields.tm_year = 126
        fields.tm_mon = 2
        fields.tm_mday = 1
        fields.tm_hour = Int32(hour)
        fields.tm_min = Int32(minute)
        fields.tm_isdst = -1
        return .seconds(Int64(mktime(&fields))) + .seconds(second)
    }

    @Test func boundariesAreThoseOfTheLocalClock() {
        let time = date(14, 5, 9.25)
        let cases: [(interval: Int, seconds: Double)] = [
            (3600, 3290.75), (600, 290.75), (7 * 3600, 24_890.75), (86_400, 35_690.75), (10, 0.75 + 10),
            (1_000_000, 35_690.75),
        ]
        for (interval, expected) in cases {
            #expect(timeToBoundary(.seconds(interval), from: time) == .seconds(expected), "\(interval)")
        }
        // The day ends, whatever divides it.
        #expect(timeToBoundary(.seconds(5 * 3600), from: date(23, 50, 0)) == .seconds(600))
        // Slightly before a boundary, which the last file has ended at.
        #expect(timeToBoundary(.seconds(3600), from: date(13, 59, 59.5)) == .seconds(3600.5))
        #expect(timeToBoundary(.seconds(3600), from: date(23, 59, 59.5)) == .seconds(3600.5))
        #expect(timeToBoundary(.seconds(3600), from: date(14, 0, 0)) == .seconds(3600))
    }

    /// Files end at full hours, also the first.
    @Test func filesEndAtFullHours() throws {
        let log = ClipLog()
        let wall = Locked(date(13, 59, 56))
        let make: @Sendable (String) throws -> any MediaOutput = { LoggedFile($0, log) }
        let output = try SplitOutput(
            folder.file("h-%03d.webm"), every: .clock(.seconds(3600)), wallClock: { wall.withLock { $0 } }, make)
        guard case .sink(let sink) = try output.open(OutputContext(format: .i420(width: 16, height: 8))) else {
            throw TestFailure()
        }
        try sink.begin([ClipStream.tracks[0]])
        for time in stride(from: 0, to: 3_610_000, by: 1000) {
            wall.withLock { $0 = date(13, 59, 56) + .milliseconds(time) }
            try sink.write(ClipStream.picture(time))
        }
        try sink.finish()
        try output.close(at: nil)
        let files = log.wait { _ in true }.packets
        #expect(files.count == 3)
        let starts = files.sorted { $0.key < $1.key }.map { ClipStream.milliseconds($0.value[0].timestamp) }
        #expect(starts == [0, 4000, 3_604_000])
    }

    private struct TestFailure: Error {}
}
