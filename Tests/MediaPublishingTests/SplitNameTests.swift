import TestTools
import Testing
import VideoCapturing

@testable import MediaPublishing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct SplitNameTests {
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
        ("a.webm", "a-007.webm"), ("a", "a-007"), ("x/a.tar.y4m", "x/a.tar-007.y4m"), ("a-%d.webm", "a-01.webm"),
        ("a%5d.webm", "a00007.webm"), ("%Y%m%d-%H%M%S.webm", "20260301-140509.webm"), ("100%%-%02d.ivf", "100%-07.ivf"),
        ("%F_%02d.mp4", "2026-03-01_07.mp4"),
    ]) func names(pattern: String, name: String) throws {
        #expect(try SplitName(pattern).path(number: 7, time: time) == name)
    }

    @Test(arguments: ["a-%q.webm", "a%", "a%3", "%Y/a.webm", "a-%03H.webm"]) func whatIsNoField(pattern: String) {
        #expect(throws: OptionError.self) { try SplitName(pattern) }
    }

    @Test func filesOfThePatternAreFound() throws {
        for name in ["a-001.webm", "a-12.webm", "a-x.webm", "a-3.webm.bak", "b-004.webm", "a-.webm"] {
            try folder.write([1, 2, 3], to: name)
        }
        mkdir("\(folder.path)/a-9.webm", 0o700)
        let files = try SplitName("\(folder.path)/a.webm").existingFiles()
        #expect(Set(files.compactMap(\.number)) == [1, 12])
        #expect(files.allSatisfy { $0.bytes == 3 })
        let times = try SplitName("\(folder.path)/a-%H.webm").existingFiles()
        #expect(Set(times.map(\.path)) == Set(["001", "12", "x"].map { "\(folder.path)/a-\($0).webm" }))
        #expect(try SplitName("/no/such/folder/a.webm").existingFiles().isEmpty)
    }
}
