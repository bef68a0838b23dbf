import TestTools
import Testing
import VideoCapturing

@testable import MediaPublishing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The index of recordings: what it keeps, and what it does with one that is lost, stale, cut or forged. The files have as many
/// seconds as bytes.
@Suite struct RecordingIndexTests {
    private struct Unreadable: Error {}

    private final class Reader: RecordingReader {
        let tracks = ClipStream.tracks
        let start = MediaTime.zero
        let path: String

        init(_ path: String) { self.path = path }

        func measureDuration() throws -> Duration {
            let bytes = try readBytes(path)
            if bytes.first == 0 { throw Unreadable() }
            return .seconds(bytes.count)
        }

        func seek(to time: MediaTime) {}
        func next() -> MediaPacket? { nil }
    }

    private let folder = TemporaryFolder()
    private let opened = Locked(0)

    private func index() throws -> RecordingIndex {
        try RecordingIndex(
            folder.file("c-%03d.webm"),
            access: RecordingAccess(
                open: { [opened] path in
                    opened.withLock { $0 += 1 }
                    return Reader(path)
                }, makeWriter: { _, _ in throw Unreadable() }))
    }

    private var indexPath: String { folder.file(".c-%03d.webm.index") }

    private func file(_ number: Int, seconds: Int, isReadable: Bool = true) throws -> String {
        try folder.write([UInt8](repeating: isReadable ? 1 : 0, count: seconds), to: "c-00\(number).webm")
    }

    private func note(
        _ index: RecordingIndex, _ path: String, at start: Int, _ seconds: Int,
        reasons: [RecordingTrigger.Reason] = ["motion"]
    ) {
        var recording = Recording(
            path: path, start: .seconds(start), duration: .zero, reasons: reasons, detail: "a\tb\n%", isOngoing: true)
        index.begin(recording)
        recording.isOngoing = false
        recording.duration = .seconds(seconds)
        index.end(recording)
    }

    @Test func whatOutputsReportIsKept() throws {
        let first = try index()
        note(first, try file(1, seconds: 10), at: 1000, 10)
        note(first, try file(2, seconds: 20), at: 2000, 20)
        // Of another pattern.
        note(first, try folder.write([1], to: "other.webm"), at: 1, 1)
        let second = try index()
        #expect(second.recordings() == first.recordings())
        let found = second.recordings()
        #expect(found.map(\.start) == [.seconds(1000), .seconds(2000)])
        #expect(found.map(\.duration) == [.seconds(10), .seconds(20)])
        #expect(found.map(\.bytes) == [10, 20])
        #expect(found.allSatisfy { $0.reasons == ["motion"] && $0.detail == "a\tb\n%" && !$0.isOngoing })
        #expect(opened.withLock { $0 } == 0, "nothing is opened again")
        #expect(second.recordings(from: .seconds(1005), to: .seconds(2000)).map(\.start) == [.seconds(1000)])
        #expect(second.recordings(from: .seconds(1010), to: .seconds(2001)).map(\.start) == [.seconds(2000)])
        #expect(second.recordings(from: .seconds(2020)).isEmpty)
    }

    @Test func aFileThatIsWrittenIsListed() throws {
        let index = try index()
        let path = try file(1, seconds: 3)
        index.begin(
            Recording(path: path, start: wallClockTime() - .seconds(5), duration: .zero, isOngoing: true))
        let found = try #require(index.recordings().first)
        #expect(found.isOngoing && found.bytes == 3)
        #expect(found.duration >= .seconds(5))
    }

    /// Without the index, and for files that have changed since, the files say it.
    @Test func aLostOrStaleIndexIsRebuilt() throws {
        let first = try index()
        note(first, try file(1, seconds: 10), at: 1000, 10)
        note(first, try file(2, seconds: 20), at: 2000, 20)
        unlink(indexPath)
        let now = wallClockTime()
        let second = try index()
        #expect(second.recordings().map(\.duration).sorted() == [.seconds(10), .seconds(20)])
        // It ends with its last change.
        #expect(second.recordings().allSatisfy { (now - $0.end).seconds.magnitude < 600 })
        #expect(opened.withLock { $0 } == 2)
        // It was written again.
        #expect(try index().recordings() == second.recordings())
        #expect(opened.withLock { $0 } == 2)
        _ = try file(2, seconds: 30)
        #expect(try index().recordings().map(\.duration).sorted() == [.seconds(10), .seconds(30)])
        #expect(opened.withLock { $0 } == 3)
        unlink(folder.file("c-001.webm"))
        #expect(try index().recordings().map(\.duration) == [.seconds(30)])
    }

    /// The process was killed, or the power failed: the begin of the file says why it is there.
    @Test(arguments: [(5, true), (3600, false)]) func aFileThatWasCutKeepsItsReasons(age: Int, isKnown: Bool) throws {
        let start = wallClockTime() - .seconds(age)
        try index().begin(
            Recording(
                path: try file(1, seconds: 3), start: start, duration: .zero, reasons: ["motion"], detail: "a",
                isOngoing: true))
        for _ in 0..<2 {
            let found = try #require(try index().recordings().first)
            #expect(found.duration == .seconds(3) && !found.isOngoing)
            // Another file of that name has its own times.
            #expect((found.start == start) == isKnown)
            #expect(found.reasons == (isKnown ? ["motion"] : []))
            #expect(found.detail == (isKnown ? "a" : nil))
        }
        #expect(opened.withLock { $0 } == 1)
    }

    @Test func aFileThatCannotBeReadIsTriedOnce() throws {
        _ = try file(1, seconds: 4, isReadable: false)
        #expect(try index().recordings().isEmpty)
        #expect(try index().recordings().isEmpty)
        #expect(opened.withLock { $0 } == 1)
    }

    /// A line that a full disk has cut, and what others have written, describe nothing; the next line is whole.
    @Test func cutAndForgedLines() throws {
        let path = try file(1, seconds: 10)
        note(try index(), path, at: 1000, 10)
        let line = try readBytes(indexPath)
        let forged = [
            "..%2Fc-001.webm\t10\t10\t1\t1\t\t\t.", "c-001.webm\t-1\t0\t0\t0\t\t\t.", "c-002.webm\t1\t1\t1\t1\t\t\t.",
            "c-001.webm\t99999999999999999999\t1\t1\t1\t\t\t.", "c-001.webm\t10\t1\t9223372036854775807\t1\t\t\t.",
            "\u{0}\u{FFFD}", "c-001.webm\t1\t1\t1\t1\t\t",
        ]
        for text in forged {
            for cut in [line.count, line.count / 2, line.count - 1] {
                try folder.write(Array(text.utf8) + line.prefix(cut), to: ".c-%03d.webm.index")
                let index = try index()
                #expect(index.recordings().map(\.duration) == [.seconds(10)], "\(text) \(cut)")
                note(index, path, at: 500, 10)
                #expect(try self.index().recordings().map(\.start) == [.seconds(500)], "\(text) \(cut)")
            }
        }
        // A link of another user leads to no other file.
        let other = try folder.write([7], to: "other")
        unlink(indexPath)
        #expect(symlink(other, indexPath) == 0)
        note(try index(), path, at: 500, 10)
        #expect(try readBytes(other) == [7])
    }

    /// Many runs leave no more lines than there are files, and some hundreds.
    @Test func theFileStaysSmall() throws {
        let path = try file(1, seconds: 10)
        for _ in 0..<300 { note(try index(), path, at: 1000, 10) }
        #expect(try index().recordings().count == 1)
        let lines = try readBytes(indexPath).split(separator: UInt8(ascii: "\n"))
        #expect(lines.count == 1)
    }

    /// Also where files are deleted and the list is never read.
    @Test func theFileStaysSmallUnasked() throws {
        let index = try index()
        for _ in 0..<3000 {
            let path = try file(1, seconds: 10)
            note(index, path, at: 1000, 10, reasons: [])
            unlink(path)
            note(index, try file(2, seconds: 10), at: 2000, 10, reasons: [])
        }
        func lineCount() -> Int { (try? readBytes(indexPath).split(separator: UInt8(ascii: "\n")).count) ?? .max }
        #expect(eventually { lineCount() < 4000 })
        #expect(index.recordings().map(\.start) == [.seconds(2000)])
    }

    /// The entries stay while the disk of the recordings is away.
    @Test func aFolderThatCannotBeRead() throws {
        let away = folder.file("away")
        #expect(mkdir(folder.file("disk"), 0o755) == 0)
        let path = try folder.write([1, 1], to: "disk/c-001.webm")
        let index = try RecordingIndex(
            folder.file("disk/c-%03d.webm"),
            access: RecordingAccess(open: { _ in throw Unreadable() }, makeWriter: { _, _ in throw Unreadable() }))
        note(index, path, at: 1000, 2)
        #expect(index.recordings().count == 1)
        #expect(rename(folder.file("disk"), away) == 0)
        #expect(index.recordings().isEmpty)
        #expect(rename(away, folder.file("disk")) == 0)
        #expect(index.recordings().map(\.reasons) == [["motion"]])
    }

    @Test func timesThatMakeNoSense() throws {
        let index = try index()
        note(index, try file(1, seconds: 10), at: 1000, 10)
        for (start, duration) in [(-1, 5), (1000, 0), (1000, -5), (1000, 86_401)] {
            let error = #expect(throws: RecordingError.self) {
                try index.clip(from: .seconds(start), duration: .seconds(duration))
            }
            #expect(error?.code == .invalidRange)
        }
        let error = #expect(throws: RecordingError.self) { try index.clip(from: .seconds(2000), duration: .seconds(5)) }
        #expect(error?.code == .notRecorded)
    }
}
