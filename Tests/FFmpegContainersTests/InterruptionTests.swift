import FFmpegContainers
import Glibc
import MediaContainers
import TestTools
import Testing
import VideoCapturing

/// Waits for a pipe and searches in files that are ended by a descriptor, as by the stop of a capture.
@Suite struct InterruptionTests {
    private let folder: MediaFolder
    private let interrupt: (read: Int32, write: Int32)

    init() throws {
        folder = try MediaFolder()
        var ends: [Int32] = [0, 0]
        try #require(closingPipe(&ends) == 0)
        interrupt = (ends[0], ends[1])
    }

    private func raise() { #expect(write(interrupt.write, "x", 1) == 1) }

    private func clear() {
        var byte: UInt8 = 0
        #expect(read(interrupt.read, &byte, 1) == 1)
    }

    /// The wait in the middle of the file is ended, twice; what follows is read. A picture may be damaged.
    @Test(
        arguments: [
            ("a.ts", "-c:v libx264 -pix_fmt yuv420p -g 5 -bf 0"), ("a.avi", "-c:v mjpeg"),
            ("a.h264", "-c:v libx264 -pix_fmt yuv420p -g 5"),
        ])
    func aPipeGoesOn(_ name: String, _ options: String) throws {
        let (reader, given, rest) = try interrupted(name, options)
        let error = mediaFileError { try reader.nextFrame() }
        #expect(error?.code == .interrupted)
        try rest()
        let count = try given + readAll(reader).count
        #expect((395...400).contains(count), "\(count) pictures, \(reader.damagedPackets) damaged")
    }

    /// The library's demuxer of Matroska cannot go on; that is not to look like the end of the file.
    @Test func aFormatThatCannotGoOnSaysSo() throws {
        let (reader, given, rest) = try interrupted("a.webm", "-c:v libvpx -g 5")
        try rest()
        var count = given
        let error = mediaFileError { while try reader.nextFrame() != nil { count += 1 } }
        #expect(error?.code == .corruptData, "\(count) pictures")
        #expect(error?.message.contains("stopped") == true)
    }

    /// A reader of a pipe whose wait in the last quarter of 400 pictures was interrupted, the number of pictures that it
    /// has given, and what brings the rest of the file.
    private func interrupted(_ name: String, _ options: String) throws -> (FFmpegReader, Int, () throws -> Void) {
        // Longer than what is read of a transport stream to learn what is in it.
        let bytes = try readBytes(try folder.make(name, frames: 400, options))
        var ends: [Int32] = [0, 0]
        try #require(closingPipe(&ends) == 0)
        let writer = ends[1]
        // F_SETPIPE_SZ, which Swift does not import.
        try #require(fcntl(writer, 1031, 1 << 20) > 0)
        let file = InputFile(descriptor: ends[0], name: "pipe", closing: true)
        let part = bytes.count * 3 / 4
        try #require(bytes.withUnsafeBytes { write(writer, $0.baseAddress!, part) } == part)
        let reader = try FFmpegReader(FrameReaderFactory.Request(path: "-", file: file, threads: 1))
        file.interruptDescriptor = interrupt.read
        raise()
        var count = 0
        #expect(mediaFileError { while try reader.nextFrame() != nil { count += 1 } }?.code == .interrupted)
        #expect(count > 200)
        return (
            reader, count,
            {
                clear()
                #expect(
                    bytes[part...].withUnsafeBytes { write(writer, $0.baseAddress!, $0.count) } == bytes.count - part)
                close(writer)
            }
        )
    }

    /// A file without an index is searched from its beginning, which a stop ends; the next search is whole.
    @Test func aSearchIsEnded() throws {
        let path = try folder.make("a.ts", frames: 40, "-c:v libx264 -pix_fmt yuv420p -g 12")
        let times = try readAll(try openReader(path)).map(\.timestamp)
        let file = try InputFile(path: path)
        let reader = try FFmpegReader(FrameReaderFactory.Request(path: path, file: file, threads: 1))
        file.interruptDescriptor = interrupt.read
        raise()
        #expect(mediaFileError { try reader.seek(to: times[30]) }?.code == .interrupted)
        clear()
        try reader.seek(to: times[30])
        #expect(try readAll(reader).map(\.timestamp) == Array(times[30...]))
    }
}
