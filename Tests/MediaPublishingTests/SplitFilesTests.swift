import TestTools
import Testing
import VideoCapturing

@testable import MediaPublishing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct SplitFilesTests {
    private let folder = TemporaryFolder()

    /// 1 March 2026, 14:05:09 in the time zone of the machine.
    private var time: Int64 {
        var fields = tm()
        fields.tm_year = 126
        fields.tm_mon = 2
        fields.tm_mday = 1
        fields.tm_hour = 14
        fields.tm_min = 5
        fields.tm_sec = 9
        fields.tm_isdst = -1
        return Int64(mktime(&fields))
    }

    @Test(arguments: [
        ("a.webm", "a-007.webm"), ("a", "a-007"), ("x/a.tar.y4m", "x/a.tar-007.y4m"), ("a-%m%d.webm", "a-0301.webm"),
        ("a%5d.webm", "a00007.webm"), ("%Y%m%d-%H%M%S.webm", "20260301-140509.webm"), ("100%%-%02d.ivf", "100%-07.ivf"),
        ("%F_%02d.mp4", "2026-03-01_07.mp4"), ("100%%.ivf", "100%-007.ivf"), ("%T-%b-%e", "14:05:09-Mar- 1"),
    ]) func names(pattern: String, name: String) throws {
        #expect(try SplitFiles(pattern).path(number: 7, time: time) == name)
    }

    @Test(arguments: [
        ("a-%q.webm", "such a field"), ("a%", "such a field"), ("a%3", "such a field"), ("%Y/a.webm", "folder"),
        ("a-%03H.webm", "such a field"), ("a-%D.webm", "such a field"), ("a-%02d-%02d.webm", "two numbers"),
        ("s-%d.ts", "%03d"), ("s-%d%H.ts", "%03d"), ("s-%99d.ts", "15 digits"),
    ]) func patternsThatAreRefused(pattern: String, words: String) {
        #expect { try SplitFiles(pattern) } throws: { "\($0)".contains(words) }
    }

    /// What each field writes is recognized, whatever the time and the number.
    @Test func ownNamesAreRecognized() throws {
        var random = SystemRandomNumberGenerator()
        for field in TimeField.allCases {
            let pattern = try FileNamePattern("a%m-%\(field == .day ? "d" : String(field.rawValue))-%03d.webm")
            for _ in 0..<50 {
                let number = Int.random(in: 0..<1_000_000_000_000_000, using: &random) >> Int.random(in: 0..<50)
                let time = Int64.random(in: 1_000_000_000..<4_000_000_000)
                let name = pattern.name(number: number, time: time)
                #expect(pattern.number(in: Array(name.utf8)[...]) == number, "\(name)")
            }
        }
    }

    @Test(arguments: [
        (
            "cam-%Y%m%d-%H%M%S.webm",
            ["cam-20260301-140509.webm", "cam-20260301-140509-2.webm", "cam-20260301-140509-9999.webm"]
        ),
        ("film-%03d.webm", ["film-001.webm", "film-1000.webm", "film-999999999999999.webm"]),
        ("%H", ["13", "13-2"]), ("%03d%H.mp4", ["00113.mp4", "100013.mp4"]), ("é-%02d", ["é-01"]),
    ]) func namesThatMatch(pattern: String, names: [String]) throws {
        let files = try SplitFiles(pattern)
        for name in names { #expect(files.number(in: Array(name.utf8)) != nil, "\(name)") }
    }

    /// Names that a user may have given.
    @Test(arguments: [
        (
            "cam-%Y%m%d-%H%M%S.webm",
            [
                "cam-garden-party.webm", "cam-wedding2019-final.webm", "cam-2026031-140509.webm",
                "cam-20261301-140509.webm",
                "cam-20260301-140509-1.webm", "cam-20260301-140509-02.webm", "cam-20260301-140509-10000.webm",
                "cam-20260301-140509.webm.bak", "cam-20260301-240509.webm", "cam-20260301-140509-.webm", "-2.webm",
                ".webm",
                "cam-2026-03-01-14:05:09.webm", "cam-20260301-140509-a.webm", "",
            ]
        ),
        (
            "film-%03d.webm",
            [
                "film-7.webm", "film-0001.webm", "film-01000.webm", "film-001-2.webm", "film-1234567890123456.webm",
                "film-9223372036854775807.webm", "film--01.webm", "film-+01.webm", "film-.webm", "film-١٢٣.webm",
            ]
        ),
        ("%03d%H.mp4", ["00124.mp4", "0113.mp4"]), ("e\u{301}-%02d", ["é-01"]), ("a-%s", ["a-1", "a-99999999999"]),
    ]) func namesThatDoNot(pattern: String, names: [String]) throws {
        let files = try SplitFiles(pattern)
        for name in names { #expect(files.number(in: Array(name.utf8)) == nil, "\(name)") }
    }

    /// A pattern whose fields might be of any length would try each of them: minutes, for one name of 255 bytes.
    @Test func aNameCostsOnePassForEachLength() throws {
        let files = try SplitFiles("cam-%Y%m%d-%H%M%S%03d%H%M%S%y%y%y.webm")
        let watch = Stopwatch()
        for digit in "0123456789" {
            let name = Array("cam-\(String(repeating: digit, count: 110))-\(String(repeating: digit, count: 140))".utf8)
            #expect(files.number(in: name) == nil)
        }
        #expect(watch.time < .milliseconds(500))
    }

    @Test func filesOfThePatternAreFound() throws {
        for name in ["a-001.webm", "a-012.webm", "a-12.webm", "a-x.webm", "a-003.webm.bak", "b-004.webm", "a-.webm"] {
            try folder.write([1, 2, 3], to: name)
        }
        mkdir(folder.file("a-009.webm"), 0o700)
        symlink("a-001.webm", folder.file("a-010.webm"))
        let files = try SplitFiles(folder.file("a.webm")).existingFiles()
        #expect(Set(files.compactMap(\.number)) == [1, 12])
        #expect(files.allSatisfy { $0.bytes == 3 })
        let times = try SplitFiles(folder.file("a-%H.webm")).existingFiles()
        #expect(times.map(\.path) == [folder.file("a-12.webm")])
        #expect(try SplitFiles("/no/such/folder/a.webm").existingFiles().isEmpty)
    }

    /// Not even one of a dangling link, or one beyond the numbers that are understood.
    @Test func theNextFileHasAFreeName() throws {
        for name in ["a-001.webm", "a-002.webm", "a-1000000000000000.webm", "h.webm"] { try folder.write([], to: name) }
        symlink("nowhere", folder.file("a-003.webm"))
        let numbered = try SplitFiles(folder.file("a.webm"))
        var number = 2
        #expect(numbered.freePath(&number, time: time) == folder.file("a-004.webm") && number == 4)
        number = 1_000_000_000_000_000
        #expect(numbered.freePath(&number, time: time) == folder.file("a-1000000000000001.webm"))
        let timed = try SplitFiles(folder.file("%H.webm"))
        #expect(timed.freePath(&number, time: time) == folder.file("14.webm"))
        try folder.write([], to: "14.webm")
        try folder.write([], to: "14-2.webm")
        #expect(timed.freePath(&number, time: time) == folder.file("14-3.webm"))
    }

    @Test func filesBeginAsTheirKind() throws {
        let path = try folder.write(Array("mine, all mine".utf8), to: "a.webm")
        for kind in ["webm", "ivf", "y4m", "wav", "h264", "mp4", "mov", "matroska", "mpegts"] {
            #expect(!FileSignature.isFile(path, of: kind), "\(kind)")
        }
        #expect(FileSignature.isFile(path, of: "yuv"))
        #expect(FileSignature.isFile(try folder.write(Array("DKIF\0\0".utf8), to: "b.ivf"), of: "ivf"))
        #expect(FileSignature.isFile(try folder.write([0, 0, 0, 9] + Array("ftyp".utf8), to: "c"), of: "mp4"))
        var packets = [UInt8](repeating: 0, count: 376)
        packets[0] = 0x47
        packets[188] = 0x47
        #expect(FileSignature.isFile(try folder.write(packets, to: "d.ts"), of: "mpegts"))
        #expect(!FileSignature.isFile(folder.file("none"), of: "webm"))
    }
}
