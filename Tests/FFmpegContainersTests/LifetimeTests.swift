import FFmpegContainers
import Glibc
import MediaContainers
import TestTools
import Testing
import VideoCapturing

@Suite struct LifetimeTests {
    @Test func framesOutliveTheirReader() throws {
        let folder = try MediaFolder()
        let path = try folder.make("a.mp4", frames: 30, "-c:v libx264 -g 10")
        var reader: FFmpegReader? = try openReader(path, threads: 3)
        weak let gone = reader
        let frames = try readAll(reader!)
        reader = nil
        #expect(gone == nil)
        let wanted = try ffmpegFrames(path, as: "yuv420p", size: 64 * 48 * 3 / 2)
        expectEqual(frames.flatMap { samples(of: $0.buffer) }, wanted.flatMap { $0 })
    }

    /// Lent pictures are not written to while they are held, and given back when they are not.
    @Test func memoryStaysFlat() throws {
        let folder = try MediaFolder()
        let path = try folder.make("a.webm", size: "320x240", frames: 20, "-c:v libvpx")
        let reader = try openReader(path)
        var before = 0
        for round in 0..<60 {
            #expect(try readAll(reader).count == 20)
            try reader.rewind()
            if round == 10 { before = residentMemory() }
        }
        // A leak of the pictures would be 100 MB.
        #expect(residentMemory() - before < 40 << 20)
    }

    @Test func standardOutputOfTheLibraryIsSilent() throws {
        let folder = try MediaFolder()
        let path = try folder.make("a.mp4", "-c:v libx264")
        var bytes = try readBytes(path)
        for place in stride(from: 200, to: bytes.count / 2, by: 40) { bytes[place] ^= 0x55 }
        try writeBytes(bytes, to: path)
        var ends: [Int32] = [0, 0]
        try #require(closingPipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        let standardError = dup(STDERR_FILENO)
        dup2(ends[1], STDERR_FILENO)
        _ = try? readAll(try openReader(path))
        dup2(standardError, STDERR_FILENO)
        close(standardError)
        var block = [UInt8](repeating: 0, count: 4096)
        let count = max(0, read(ends[0], &block, block.count))
        #expect(!String(decoding: block.prefix(count), as: UTF8.self).contains("h264"))
    }
}
