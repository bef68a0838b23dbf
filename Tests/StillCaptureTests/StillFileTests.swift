import Glibc
import TestTools
import Testing
import VideoCapturing

@testable import StillCapture

@Suite struct StillFileTests {
    private let folder = TemporaryFolder()

    private func still(_ number: Int = 1, _ bytes: [UInt8] = [1, 2, 3]) -> Still {
        Still(
            id: 1, number: number, data: bytes.withUnsafeBytes { PacketBuffer(copying: $0) }, format: .jpeg,
            size: PixelSize(width: 1, height: 1), orientation: .up, color: .jpeg, timestamp: .zero, date: .zero,
            offset: .zero, sequenceNumber: 0, quality: nil, isQualityReduced: false, isPassedThrough: true,
            latency: .zero)
    }

    /// All names in the folder, those that shells do not show too.
    private var names: [String] {
        get throws { try run("ls", "-A", folder.path).split(separator: "\n").map(String.init) }
    }

    @Test(arguments: [
        ("shot-%03d.jpg", 7, "shot-007.jpg"), ("shot-%d.jpg", 7, "shot-7.jpg"), ("%3d", 7, "  7"),
        ("%03d", 12345, "12345"), ("100%%-%02d.png", 7, "100%-07.png"), ("plain.jpg", 1, "plain.jpg"),
        ("a%%", 1, "a%"), ("Größe-%d", 1, "Größe-1"), ("a%%%d", 1, "a%1"),
    ])
    func namesAreNumbered(pattern: String, number: Int, name: String) throws {
        #expect(try StillFile(folder.file(pattern)).path(number) == folder.file(name))
    }

    @Test(arguments: ["%q.jpg", "%", "a%", "%x", "%-3d", "%3", "%d-%d", "%123d", "%n", "", "a/", "a%03dx%d"])
    func otherFieldsAreRefused(pattern: String) {
        #expect { try StillFile(pattern) } throws: { isError(.invalidName, $0) }
    }

    /// Before the first is taken.
    @Test func severalStillsNeedANumber() throws {
        #expect { try StillFile(folder.file("shot.jpg"), count: 2) } throws: {
            isError(.invalidName, $0) && "\($0)".contains("%03d")
        }
        #expect { try StillFile(folder.file("100%%.jpg"), count: 2) } throws: { isError(.invalidName, $0) }
        _ = try StillFile(folder.file("shot.jpg"), count: 1)
    }

    @Test func filesAreWritten() throws {
        let file = try StillFile(folder.file("shot-%03d.jpg"), count: 3)
        for number in 1...3 {
            #expect(try file.write(still(number, [UInt8(number)])) == folder.file("shot-00\(number).jpg"))
        }
        #expect(try names == ["shot-001.jpg", "shot-002.jpg", "shot-003.jpg"])
        #expect(try folder.read("shot-002.jpg") == [2])
        let large = [UInt8](repeating: 5, count: 3_000_000)
        try StillFile(folder.file("large")).write(still(1, large))
        #expect(try folder.read("large") == large)
    }

    /// The outputs of a run write their stills at the same time, into the same folder.
    @Test func manyAreWrittenAtOnce() async throws {
        let patterns = (0..<4).map { folder.file("\($0)-%03d.jpg") }
        let pictures = (1...400).map { still($0, [UInt8(truncatingIfNeeded: $0)]) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for pattern in patterns {
                group.addTask {
                    let file = try StillFile(pattern, overwrites: true)
                    for picture in pictures { try file.write(picture) }
                }
            }
            try await group.waitForAll()
        }
        #expect(try names.count == 1600)
    }

    /// Whatever exists, and however many are taken in a second, none is replaced.
    @Test(arguments: [false, true]) func namesMayHaveTheTime(overwrites: Bool) throws {
        var fields = tm()
        fields.tm_year = 126
        fields.tm_mon = 2
        fields.tm_mday = 1
        fields.tm_hour = 14
        fields.tm_min = 5
        fields.tm_isdst = -1
        var picture = still()
        picture.date = .seconds(mktime(&fields))
        try folder.write([9], to: "shot-20260301-140500-2.jpg")
        let file = try StillFile(folder.file("shot-%Y%m%d-%H%M%S.jpg"), count: 3, overwrites: overwrites)
        for _ in 0..<3 { try file.write(picture) }
        #expect(
            try names == [3, 4, 2].sorted().map { "shot-20260301-140500-\($0).jpg" } + ["shot-20260301-140500.jpg"])
        #expect(try folder.read("shot-20260301-140500-2.jpg") == [9])
        picture.number = 7
        #expect(
            try StillFile(folder.file("%m%d-%02d"), overwrites: overwrites).write(picture) == folder.file("0301-07"))
    }

    @Test func filesThatExistAreKept() throws {
        try folder.write([9], to: "shot-002.jpg")
        #expect { try StillFile(folder.file("shot-%03d.jpg"), count: 3) } throws: {
            isError(.fileExists, $0) && "\($0)".contains("shot-002.jpg")
        }
        // Also one that appears meanwhile.
        let file = try StillFile(folder.file("new.jpg"))
        try folder.write([9], to: "new.jpg")
        #expect { try file.write(still()) } throws: { isError(.fileExists, $0) }
        #expect(try folder.read("new.jpg") == [9])
        #expect(try names == ["new.jpg", "shot-002.jpg"])
        let replacing = try StillFile(folder.file("new.jpg"), overwrites: true)
        try replacing.write(still())
        #expect(try folder.read("new.jpg") == [1, 2, 3])
        #expect(try names == ["new.jpg", "shot-002.jpg"])
    }

    @Test func failuresAreClear() throws {
        let missing = try StillFile(folder.file("none/a.jpg"))
        #expect { try missing.write(still()) } throws: { isError(.folderNotFound, $0) }
        try folder.write([], to: "plain")
        let inside = try StillFile(folder.file("plain/a.jpg"))
        #expect { try inside.write(still()) } throws: { isError(.folderNotFound, $0) }
        #expect { try StillFile(folder.path) } throws: { isError(.invalidName, $0) }
        let long = try StillFile(folder.file(String(repeating: "x", count: 300)))
        #expect { try long.write(still()) } throws: { isError(.invalidName, $0) }
        // Where nobody may write, root included.
        let forbidden = try StillFile("/proc/still.jpg")
        #expect { try forbidden.write(still()) } throws: {
            isError(.permissionDenied, $0) || isError(.folderNotFound, $0)
        }
        // Nothing is left behind.
        #expect(try names == ["plain"])
    }

    /// A device is written to, and not replaced by a file.
    @Test func aFullDiskIsTold() throws {
        let full = try StillFile("/dev/full", overwrites: true)
        #expect { try full.write(still()) } throws: {
            isError(.diskFull, $0) && ($0 as? StillCaptureError)?.systemError == ENOSPC
        }
        var status = stat()
        #expect(stat("/dev/full", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
    }
}
