import Glibc
import MediaContainers
import TestTools
import Testing
import VideoCapturing

@Suite struct OutputFileTests {
    @Test func keepsAnExistingFileUnlessToldOtherwise() throws {
        let folder = TemporaryFolder()
        let path = folder.file("a")
        try writeBytes([1, 2, 3], to: path)
        let error = mediaFileError { try OutputFile(path: path) }
        #expect(error?.code == .fileExists)
        #expect(error?.subject == path)
        #expect(error?.systemError == EEXIST)
        #expect(try readBytes(path) == [1, 2, 3])
        let file = try OutputFile(path: path, overwrite: true)
        try [9].withUnsafeBytes { try file.write(UnsafeRawBufferPointer(rebasing: $0[..<1])) }
        try file.close()
        #expect(try readBytes(path) == [9])
    }

    /// Not one of the user, whatever it holds, nor one that has the name by now.
    @Test func onlyAFileOfItsOwnIsRemoved() throws {
        let folder = TemporaryFolder()
        let path = folder.file("a")
        #expect(try OutputFile(path: path).removeIfCreated())
        try writeBytes([1], to: path)
        #expect(try !OutputFile(path: path, overwrite: true).removeIfCreated())
        unlink(path)
        let file = try OutputFile(path: path)
        unlink(path)
        try writeBytes([1], to: path)
        #expect(!file.removeIfCreated())
        #expect(try readBytes(path) == [1])
        // The file that a dangling link leads to is made, and the link stays.
        symlink("target", folder.file("link"))
        #expect(try !OutputFile(path: folder.file("link"), overwrite: true).removeIfCreated())
        #expect(try folder.read("target") == [])
    }

    @Test func aMissingFolderAndAFolderAreTold() throws {
        let folder = TemporaryFolder()
        #expect(mediaFileError { try OutputFile(path: folder.file("none/a")) }?.code == .notFound)
        #expect(mediaFileError { try OutputFile(path: folder.path, overwrite: true) }?.systemError == EISDIR)
        #expect(mediaFileError { try OutputFile(path: folder.path) }?.systemError == EISDIR)
    }

    @Test func aReadOnlyFolderIsDenied() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            chmod(folder.path, 0o555)
            if getuid() == 0 { try #require(seteuid(65534) == 0) }
            let error = mediaFileError { try OutputFile(path: folder.file("a")) }
            if getuid() == 0 { try #require(seteuid(0) == 0) }
            try #require(error?.code == .permissionDenied)
        }
    }

    @Test func aFullDiskIsTold() throws {
        let file = try OutputFile(path: "/dev/full")
        #expect(!file.isSeekable)
        let writer = RawFrameWriter(file, pixelFormat: .i420)
        let error = mediaFileError { try writer.writeFrame(makeFrame()) }
        #expect(error?.code == .noSpace)
        #expect(error?.subject == "/dev/full")
        #expect(mediaFileError { try writer.writeFrame(makeFrame()) }?.code == .noSpace)
        #expect(mediaFileError { try writer.finish() }?.code == .noSpace)
    }

    @Test func aPipeWithoutAReaderIsTold() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_IGN)
            var ends: [Int32] = [0, 0]
            try #require(closingPipe(&ends) == 0)
            close(ends[0])
            let writer = IVFWriter(OutputFile(descriptor: ends[1], name: "pipe", closing: true))
            try writer.begin([makeTrack()])
            let error = mediaFileError { try writer.write(makePacket([1], at: .zero, isKeyFrame: true)) }
            try #require(error?.code == .closedPipe)
        }
    }

    @Test func aPipeThatDoesNotBlockIsWaitedFor() throws {
        var ends: [Int32] = [0, 0]
        try #require(closingPipe(&ends) == 0)
        try #require(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0)
        let file = OutputFile(descriptor: ends[1], name: "pipe", closing: true)
        // Four times what a pipe holds, in pieces that go through the block and past it.
        let bytes = (0..<262_144).map { UInt8(truncatingIfNeeded: $0 / 7) }
        let reading = ends[0]
        let received = Locked<[UInt8]>([])
        let thread = try CaptureThread(name: "reader") {
            var block = [UInt8](repeating: 0, count: 5000)
            while case let count = read(reading, &block, block.count), count > 0 {
                received.withLock { $0 += block[..<count] }
            }
        }
        try bytes.withUnsafeBytes { all in
            try file.write(UnsafeRawBufferPointer(rebasing: all[..<1000]))
            try file.write(UnsafeRawBufferPointer(rebasing: all[1000..<200_000]))
            try file.write(UnsafeRawBufferPointer(rebasing: all[200_000...]))
        }
        #expect(file.bytesWritten == 262_144)
        try file.close()
        thread.join()
        close(reading)
        #expect(received.withLock { $0 == bytes })
    }

    /// The ends of a pipe that is not read, and how many bytes it holds.
    private func fullPipe() throws -> (ends: [Int32], capacity: Int) {
        var ends: [Int32] = [0, 0]
        try #require(closingPipe(&ends) == 0)
        return (ends, Int(fcntl(ends[1], 1032)))  // F_GETPIPE_SZ
    }

    @Test func aPipeThatIsNotReadIsGivenUp() throws {
        let (ends, capacity) = try fullPipe()
        let file = OutputFile(descriptor: ends[1], name: "pipe", closing: true)
        file.stallTimeout = .milliseconds(50)
        #expect(file.waitsForReader)
        let bytes = [UInt8](repeating: 7, count: 3 * capacity)
        let error = mediaFileError { try bytes.withUnsafeBytes { try file.write($0) } }
        #expect(error?.code == .stalled)
        #expect(error?.subject == "pipe")
        #expect(error?.message.contains("\(2 * capacity) bytes") == true)
        #expect(mediaFileError { try file.close() } == error)
        // Whoever shares the pipe finds it as it was.
        var rest = bytes
        #expect(read(ends[0], &rest, rest.count) == capacity)
        #expect(read(ends[0], &rest, rest.count) == 0, "it is closed")
        close(ends[0])
    }

    @Test func theFlagsOfASharedPipeStay() throws {
        let (ends, _) = try fullPipe()
        let flags = fcntl(ends[1], F_GETFL)
        let file = OutputFile(descriptor: ends[1], name: "pipe", closing: false)
        try [1, 2, 3].withUnsafeBytes { try file.write($0) }
        #expect(fcntl(ends[1], F_GETFL) == flags)
        try file.close()
        #expect(fcntl(ends[1], F_GETFL) == flags)
        for end in ends { close(end) }
    }

    /// As a stop does it: the write waits already.
    @Test func aTimeoutEndsAWriteThatWaits() throws {
        let (ends, capacity) = try fullPipe()
        let file = OutputFile(descriptor: ends[1], name: "pipe", closing: true)
        let error = Locked<MediaFileError?>(nil)
        let isWriting = ManualResetEvent()
        let thread = try CaptureThread(name: "writer") {
            let bytes = [UInt8](repeating: 7, count: 2 * capacity)
            isWriting.raise()
            let thrown = mediaFileError { try bytes.withUnsafeBytes { try file.write($0) } }
            error.withLock { $0 = thrown }
        }
        isWriting.wait()
        file.stallTimeout = .milliseconds(20)
        thread.join()
        #expect(error.withLock { $0?.code } == .stalled)
        close(ends[0])
    }

    /// A socket cannot be opened once more.
    @Test func aSocketIsWrittenInParts() throws {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let file = OutputFile(descriptor: ends[1], name: "socket", closing: true)
        #expect(file.waitsForReader)
        let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 11) }
        let received = Locked<[UInt8]>([])
        let reader = ends[0]
        let thread = try CaptureThread(name: "reader") {
            var block = [UInt8](repeating: 0, count: 50_000)
            while case let count = read(reader, &block, block.count), count > 0 {
                received.withLock { $0 += block[..<count] }
                if received.withLock({ $0.count }) >= 1_000_000 { break }
            }
        }
        try bytes.withUnsafeBytes { try file.write($0) }
        try file.endRecord()
        thread.join()
        #expect(received.withLock { $0 == bytes })
        file.stallTimeout = .milliseconds(50)
        let error = mediaFileError {
            for _ in 0..<10 { try bytes.withUnsafeBytes { try file.write($0) } }
        }
        #expect(error?.code == .stalled)
        close(ends[0])
    }

    @Test func aFIFOIsWaitedForAsLongAsItIsWanted() throws {
        let folder = TemporaryFolder()
        let path = folder.file("fifo")
        try #require(mkfifo(path, 0o600) == 0)
        var asked = 0
        let error = mediaFileError {
            try OutputFile(path: path) {
                asked += 1
                return asked < 3
            }
        }
        #expect(error?.code == .interrupted)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        let file = try OutputFile(path: path)
        try [1, 2, 3].withUnsafeBytes { try file.write(UnsafeRawBufferPointer(rebasing: $0[..<3])) }
        try file.close()
        var bytes = [UInt8](repeating: 0, count: 10)
        #expect(read(reader, &bytes, 10) == 3)
        close(reader)
    }

    @Test func patchesCountFromOurFirstByte() throws {
        let folder = TemporaryFolder()
        let path = folder.file("a")
        let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
        try #require(write(descriptor, "shell", 5) == 5)
        let file = OutputFile(descriptor: descriptor, name: path, closing: true)
        #expect(file.isSeekable)
        try Array("abcdef".utf8).withUnsafeBytes { try file.write($0) }
        try file.endRecord()
        try Array("XY".utf8).withUnsafeBytes { try file.patch($0, at: 2) }
        try Array("!".utf8).withUnsafeBytes { try file.write($0) }
        try file.close()
        try file.close()
        #expect(try readBytes(path) == Array("shellabXYef!".utf8))
    }

    @Test func aFileOpenedForAppendingIsNotPatched() throws {
        let folder = TemporaryFolder()
        let descriptor = open(folder.file("a"), O_WRONLY | O_CREAT | O_APPEND, 0o600)
        #expect(!OutputFile(descriptor: descriptor, name: "a", closing: true).isSeekable)
    }

    /// The size limit stands for a full disk: the write that reaches it is short, the next one fails.
    @Test func afterAFailureTheFileHoldsWholeRecords() async {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 100_000, rlim_max: rlim_t.max)
            try #require(setrlimit(__rlimit_resource_t(1), &limit) == 0)
            let folder = TemporaryFolder()
            let path = folder.file("a.webm")
            let writer = WebMWriter(try OutputFile(path: path))
            try writer.begin([makeTrack()])
            var written: Int64 = 0
            var error: MediaFileError?
            while error == nil, written < 1000 {
                let bytes = [UInt8](repeating: 7, count: 3000)
                error = mediaFileError {
                    try writer.write(
                        makePacket(bytes, at: .milliseconds(written * 40), isKeyFrame: written % 10 == 0))
                }
                written += 1
            }
            try #require(error?.code == .limitExceeded)
            try #require(mediaFileError { try writer.finish() } == error)
            let bytes = try readBytes(path)
            try #require(Int64(bytes.count) == writer.bytesWritten)
            let webm = try #require(try WebMFile(bytes))
            try #require(webm.blocks.count == written - 1)
            try #require(webm.clusters.allSatisfy { !$0.hasUnknownSize && !$0.isCut })
            try #require(webm.duration == Double(written - 2) * 40 + 33)
        }
    }

    /// Of a descriptor that is not our own the incomplete end stays, but the header tells of whole records only.
    @Test func afterAFailureABorrowedFileIsNotShortened() async {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 20_000, rlim_max: rlim_t.max)
            try #require(setrlimit(__rlimit_resource_t(1), &limit) == 0)
            let folder = TemporaryFolder()
            let path = folder.file("a.webm")
            let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
            let writer = WebMWriter(OutputFile(descriptor: descriptor, name: path, closing: false))
            try writer.begin([makeTrack()])
            // Key frames only: the write that fails is also the first one of its cluster.
            var packets = 0
            var error: MediaFileError?
            while error == nil, packets < 100 {
                let packet = makePacket(
                    [UInt8](repeating: 7, count: 3000), at: .milliseconds(packets * 40), isKeyFrame: true)
                error = mediaFileError { try writer.write(packet) }
                packets += 1
            }
            try #require(error?.code == .limitExceeded)
            try #require(mediaFileError { try writer.finish() } == error)
            let bytes = try readBytes(path)
            try #require(bytes.count == 20_000)
            let webm = try #require(try WebMFile(bytes))
            try #require(webm.blocks.count == packets - 1)
            try #require(webm.duration == Double(packets - 2) * 40 + 33)
        }
    }
}
