import TestTools
import Testing

@testable import CaptureTool

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct StatisticsFileTests {
    /// A pipe of one page and its reader.
    private func withPipe(_ body: (_ path: String, _ reader: Int32) throws -> Void) throws {
        let folder = TemporaryFolder()
        let path = folder.file("statistics")
        try #require(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        try #require(reader >= 0)
        defer { close(reader) }
        try #require(fcntl(reader, 1031, 4096) == 4096, "F_SETPIPE_SZ")
        try body(path, reader)
    }

    /// What is in the pipe.
    private func takeAll(_ reader: Int32) -> String {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = read(reader, &buffer, buffer.count), count > 0 { text += buffer[..<count] }
        return String(decoding: text, as: UTF8.self)
    }

    @Test func aFileIsReplacedOnlyWhenAskedTo() throws {
        let folder = TemporaryFolder()
        let path = try folder.write(Array("mine".utf8), to: "a")
        let error = error { () throws(ExitError) in try StatisticsFile(path: path) }
        #expect(error?.status == .usage && error?.message.contains("--force") == true)
        #expect(try folder.read("a") == Array("mine".utf8))
        #expect(try StatisticsFile(path: path, overwrites: true).write("x") == nil)
        #expect(try folder.read("a") == Array("x\n".utf8))
        // Nothing is left of a run that did not begin.
        let new = folder.file("new")
        do { _ = try StatisticsFile(path: new) }
        #expect(access(new, F_OK) != 0)
        #expect(try StatisticsFile(path: new).write("x") == nil)
        #expect(access(new, F_OK) == 0)
    }

    @Test func linesAreWrittenWholeOrNotAtAll() throws {
        try withPipe { path, reader in
            let file = try StatisticsFile(path: path)
            let long = String(repeating: "a", count: 6000)
            // More than the pipe holds, then one for which there is no room.
            #expect(file.write(long) == nil)
            #expect(file.write("dropped") == nil)
            var text = takeAll(reader)
            #expect(file.write("next") == nil)
            text += takeAll(reader)
            #expect(text == "\(long)\nnext\n")
            // Nothing of a line that found no room is written later.
            #expect(file.write(String(repeating: "b", count: 4000)) == nil)
            #expect(file.write(String(repeating: "c", count: 200)) == nil)
            #expect(takeAll(reader).allSatisfy { "b\n".contains($0) })
            #expect(file.write("last") == nil)
            #expect(takeAll(reader) == "last\n")
        }
    }
}
