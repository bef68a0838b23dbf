import TestTools
import Testing
import VideoCapturing

@testable import CaptureTool

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct OutputCheckTests {
    private let folder = TemporaryFolder()

    private func check(
        _ paths: String..., input: String? = nil, overwrites: Bool = false,
        streams: OutputCheck.Streams = OutputCheck.Streams(input: -1, output: STDOUT_FILENO, error: -1)
    ) -> ExitError? {
        error { () throws(ExitError) in
            try OutputCheck.run(
                paths.map { OutputCheck.Place(path: $0) }, input: input, overwrites: overwrites,
                streams: streams)
        }
    }

    /// Opens a file of the folder, as a shell does for `<`, `>` and `>>`.
    private func open(_ name: String, _ mode: Int32, _ body: (Int32) -> Void) throws {
        let descriptor = openFile("\(folder.path)/\(name)", mode)
        try #require(descriptor >= 0)
        body(descriptor)
        close(descriptor)
    }

    @Test func standardInputIsNotOverwritten() throws {
        try folder.write(Array("dear".utf8), to: "a.y4m")
        symlink("a.y4m", "\(folder.path)/b.webm")
        try open("a.y4m", O_RDONLY) { input in
            let streams = OutputCheck.Streams(input: input, output: STDOUT_FILENO, error: -1)
            for name in ["a.y4m", "b.webm"] {
                let error = check("\(folder.path)/\(name)", input: "-", overwrites: true, streams: streams)
                #expect(error?.status == .usage)
                #expect(error?.message.contains("is the input") == true)
            }
            #expect(check("\(folder.path)/a.y4m", overwrites: true, streams: streams) == nil, "it is not read")
        }
    }

    @Test func theInputIsNotAppendedTo() throws {
        try folder.write(Array("dear".utf8), to: "a.y4m")
        try open("a.y4m", O_WRONLY | O_APPEND) { output in
            let streams = OutputCheck.Streams(input: -1, output: output, error: -1)
            #expect(check("-", input: "\(folder.path)/a.y4m", streams: streams)?.status == .usage)
            #expect(check("-", streams: streams) == nil)
        }
    }

    @Test(arguments: ["%d", "%02d", "100%% %d"]) func numberedPicturesAreNotOverwritten(pattern: String) throws {
        let names = [7, 8, 9, 10].map { number in
            pattern.contains("02")
                ? "\(number < 10 ? "0" : "")\(number)"
                : pattern.replacing("%%", with: "%").replacing("%d", with: "\(number)")
        }
        for name in names { try folder.write(Array("dear".utf8), to: "i\(name).png") }
        link("\(folder.path)/i\(names[3]).png", "\(folder.path)/a.webm")
        try folder.write([], to: "i12.png")
        let input = "\(folder.path)/i\(pattern).png"
        for name in names {
            #expect(check("\(folder.path)/i\(name).png", input: input, overwrites: true)?.status == .usage)
        }
        #expect(check("\(folder.path)/a.webm", input: input, overwrites: true)?.status == .usage)
        #expect(check("\(folder.path)/b.webm", input: input, overwrites: true) == nil)
    }

    @Test func standardOutputMustBeOpenForWriting() throws {
        try folder.write(Array("dear".utf8), to: "a")
        try open("a", O_RDONLY) { descriptor in
            let streams = OutputCheck.Streams(input: -1, output: descriptor, error: -1)
            #expect(check("-", streams: streams)?.status == .inputOutput)
        }
        let closed = OutputCheck.Streams(input: -1, output: -1, error: -1)
        #expect(check("-", streams: closed)?.status == .inputOutput)
        #expect(check("\(folder.path)/b.webm", streams: closed) == nil)
    }

    @Test func messagesDoNotGoIntoAnOutput() throws {
        try folder.write([], to: "a.webm")
        try open("a.webm", O_WRONLY) { descriptor in
            let streams = OutputCheck.Streams(input: -1, output: descriptor, error: descriptor)
            #expect(check("-", streams: streams)?.status == .usage)
            #expect(check("\(folder.path)/a.webm", overwrites: true, streams: streams)?.status == .usage)
        }
    }

    @Test func aNewFileIsFine() {
        #expect(check("\(folder.path)/a.webm", "\(folder.path)/b.webm", "-") == nil)
        #expect(check("/dev/null") == nil)
    }

    @Test func anExistingFileNeedsForce() throws {
        try folder.write(Array("dear".utf8), to: "a.webm")
        let error = try #require(check("\(folder.path)/a.webm"))
        #expect(error.status == .usage)
        #expect(error.message.contains("--force"))
        #expect(check("\(folder.path)/a.webm", overwrites: true) == nil)
    }

    @Test func placesThatCannotBeWritten() throws {
        #expect(check("\(folder.path)/no/a.webm")?.status == .noInput)
        try folder.write([], to: "file")
        #expect(check("\(folder.path)/file/a.webm")?.status == .noInput)
        #expect(check(folder.path, overwrites: true)?.status == .inputOutput)
    }

    @Test func theSameFileTwiceHoweverItIsSpelled() throws {
        #expect(check("\(folder.path)/a.webm", "\(folder.path)/./a.webm")?.status == .usage)
        try folder.write([], to: "b.webm")
        symlink("b.webm", "\(folder.path)/c.webm")
        #expect(check("\(folder.path)/b.webm", "\(folder.path)/c.webm", overwrites: true)?.status == .usage)
    }

    /// What a link leads to is made by writing to it.
    @Test func linksToWhatDoesNotExist() throws {
        symlink("target", folder.file("a.webm"))
        symlink("a.webm", folder.file("b.webm"))
        symlink(folder.file("loop"), folder.file("loop"))
        let error = try #require(check(folder.file("a.webm")))
        #expect(error.status == .usage && error.message.contains("link to target"))
        #expect(check(folder.file("a.webm"), overwrites: true) == nil)
        #expect(check(folder.file("a.webm"), folder.file("b.webm"), overwrites: true)?.status == .usage)
        #expect(check(folder.file("a.webm"), folder.file("target"), overwrites: true)?.status == .usage)
        #expect(check(folder.file("loop"), overwrites: true)?.status == .inputOutput)
    }

    @Test func theStatisticsAreAnOutput() throws {
        try folder.write(Array("dear".utf8), to: "a.y4m")
        func check(_ path: String, overwrites: Bool) -> ExitError? {
            error { () throws(ExitError) in
                try OutputCheck.run(
                    [
                        OutputCheck.Place(path: folder.file("new.webm")),
                        OutputCheck.Place(path: path, isText: true, option: "stats-file"),
                    ], input: folder.file("a.y4m"), overwrites: overwrites)
            }
        }
        #expect(check(folder.file("a.y4m"), overwrites: true)?.message.contains("--stats-file") == true)
        #expect(check(folder.file("new.webm"), overwrites: true)?.message.contains("--stats-file") == true)
        #expect(check(folder.file("s-%03d.json"), overwrites: false) == nil)
        #expect(check("/dev/full", overwrites: false) == nil)
        try folder.write(Array("old".utf8), to: "s.json")
        #expect(check(folder.file("s.json"), overwrites: false)?.message.contains("--force") == true)
        #expect(check(folder.file("s.json"), overwrites: true) == nil)
    }

    @Test func theInputIsNotOverwritten() throws {
        try folder.write(Array("dear".utf8), to: "a.y4m")
        link("\(folder.path)/a.y4m", "\(folder.path)/b.webm")
        #expect(check("\(folder.path)/b.webm", input: "\(folder.path)/a.y4m", overwrites: true)?.status == .usage)
    }
}

/// `open`, under a name that the suite's own does not hide.
private func openFile(_ path: String, _ mode: Int32) -> Int32 { open(path, mode) }
