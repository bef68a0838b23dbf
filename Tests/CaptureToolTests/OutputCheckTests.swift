import MediaContainers
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

    private func check(_ paths: String..., input: String? = nil, overwrites: Bool = false) -> Refusal? {
        error { () throws(Refusal) in
            try OutputCheck.run(
                paths.map { OutputName(format: .webm, path: $0) }, input: input, overwrites: overwrites)
        }
    }

    @Test func aNewFileIsFine() {
        #expect(check("\(folder.path)/a.webm", "\(folder.path)/b.webm", "-") == nil)
        #expect(check("/dev/null") == nil)
    }

    @Test func anExistingFileNeedsForce() throws {
        try folder.write(Array("dear".utf8), to: "a.webm")
        let refusal = try #require(check("\(folder.path)/a.webm"))
        #expect(refusal.status == .usage)
        #expect(refusal.message.contains("--force"))
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

    @Test func theInputIsNotOverwritten() throws {
        try folder.write(Array("dear".utf8), to: "a.y4m")
        link("\(folder.path)/a.y4m", "\(folder.path)/b.webm")
        #expect(check("\(folder.path)/b.webm", input: "\(folder.path)/a.y4m", overwrites: true)?.status == .usage)
    }

    /// A fault in the last output leaves nothing of the first behind.
    @Test func allOutputsAreOpenedOrNone() throws {
        let outputs = [
            OutputName(format: .webm, path: "\(folder.path)/good.webm"),
            OutputName(format: .y4m, path: "\(folder.path)/no/bad.y4m"),
        ]
        let failure = error { () throws(MediaFileError) in
            try OutputWriter.open(outputs, overwrites: false, rate: 30)
        }
        #expect(failure?.code == .notFound)
        #expect(access("\(folder.path)/good.webm", F_OK) != 0)
    }
}
