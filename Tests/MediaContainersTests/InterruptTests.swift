import MediaContainers
import TestTools
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// A wait for a pipe that is ended, and goes on later, loses no byte.
@Suite struct InterruptTests {
    private final class Pipe {
        let read: Int32
        let write: Int32
        init() throws {
            var ends: [Int32] = [0, 0]
            try #require(closingPipe(&ends) == 0)
            (read, write) = (ends[0], ends[1])
        }
        deinit { Glibc.close(write) }
        func put(_ bytes: [UInt8]) { _ = Glibc.write(write, bytes, bytes.count) }
        func take() {
            var byte: UInt8 = 0
            _ = Glibc.read(read, &byte, 1)
        }
    }

    private let data: Pipe
    private let interrupt: Pipe
    private let file: InputFile

    init() throws {
        data = try Pipe()
        interrupt = try Pipe()
        file = InputFile(descriptor: data.read, name: "pipe", closing: true)
        file.interruptDescriptor = interrupt.read
    }

    @Test func aWaitIsEnded() throws {
        interrupt.put([1])
        #expect(mediaFileError { try file.peek(1) { $0.count } }?.code == .interrupted)
        data.put([7])
        // What is there is read even so.
        #expect(try file.peek(1) { $0.first } == 7)
        #expect(mediaFileError { try file.peek(2) { $0.count } }?.code == .interrupted)
        interrupt.take()
        data.put([8])
        #expect(try file.peek(2) { Array($0) } == [7, 8])
    }

    /// Interrupted after every single byte of it, each picture comes whole.
    @Test(arguments: [(5, 3), (160, 120)]) func readersGoOn(size: (width: Int, height: Int)) throws {
        let pictures = (0..<2).map { packedSamples(.i420, size.width, size.height, seed: $0) }
        var bytes = Array("YUV4MPEG2 W\(size.width) H\(size.height) F10:1\n".utf8)
        data.put(bytes)
        let reader = try Y4MReader(file)
        bytes = pictures.flatMap { Array("FRAME\n".utf8) + $0 }
        interrupt.put([1])
        var step = 1
        var frames: [[UInt8]] = []
        while !bytes.isEmpty {
            data.put(Array(bytes.prefix(step)))
            bytes = Array(bytes.dropFirst(step))
            step = size.width == 5 ? 1 : step * 3 % 5000 + 1
            do {
                while let frame = try reader.nextFrame() { frames.append(samples(of: frame.buffer)) }
            } catch let error as MediaFileError {
                #expect(error.code == .interrupted)
            }
        }
        #expect(frames == pictures)
    }

    @Test func packetsGoOn() throws {
        let whole = ivf(packets: [(0, [0, 1, 2, 3]), (1, [1, 5, 6])])
        data.put(Array(whole.prefix(32)))
        let reader = try IVFReader(file)
        interrupt.put([1])
        var packets: [[UInt8]] = []
        for byte in whole.dropFirst(32) {
            data.put([byte])
            do {
                while let packet = try reader.nextPacket() { packets.append(packet.data.withUnsafeBytes { Array($0) }) }
            } catch let error as MediaFileError {
                #expect(error.code == .interrupted)
            }
        }
        #expect(packets == [[0, 1, 2, 3], [1, 5, 6]])
    }

    @Test func aFIFOWithoutAWriterIsWaitedFor() throws {
        let folder = TemporaryFolder()
        try #require(mkfifo(folder.file("a"), 0o600) == 0)
        let file = try InputFile(path: folder.file("a"))
        file.interruptDescriptor = interrupt.read
        interrupt.put([1])
        #expect(mediaFileError { try file.peek(1) { $0.count } }?.code == .interrupted)
        interrupt.take()
        let writer = open(folder.file("a"), O_WRONLY)
        try #require(writer >= 0)
        #expect(write(writer, "ab", 2) == 2)
        #expect(try file.peek(2) { Array($0) } == Array("ab".utf8))
        close(writer)
        #expect(try file.peek(3) { $0.count } == 2)
    }
}
