import VideoCapturing

/// Reads IVF (`.ivf`), with any codec in it.
///
/// The number of packets that the header states is not relied upon. Memory is bounded by the largest packet
/// that is really there: a size that only a damaged header states takes none.
public final class IVFReader: PacketReader {
    /// The largest packet that is read, in bytes: many times what a frame of 8K video takes.
    public static let packetSizeLimit = 64 << 20

    private let file: InputFile
    private let header: IVFHeader
    private let pool = PacketBufferPool()
    private var block = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 64)
    private var hasEnded = false

    /// Reads the header.
    ///
    /// - Throws: `corruptData` for what is no IVF file.
    public init(_ file: InputFile) throws(MediaFileError) {
        do throws(MediaFileError) {
            header = try IVFReader.readHeader(file)
        } catch {
            block.deallocate()
            throw error
        }
        self.file = file
        let stated = Int64(header.statedLength)
        let room = file.bytesRemaining.map { $0 / 12 } ?? 0
        statedPacketCount = (1...max(1, room)).contains(stated) ? stated : nil
    }

    deinit { block.deallocate() }

    public var path: String { file.path }
    public var fourCC: String { header.fourCC }
    public var width: Int { header.width }
    public var height: Int { header.height }
    /// Nil also when the header's length must be FFmpeg's duration: when it is more than packets of 12 bytes
    /// would have room in the file.
    public let statedPacketCount: Int64?
    public var canRewind: Bool { file.isSeekable }

    public func nextPacket() throws -> FilePacket? {
        guard !hasEnded else { return nil }
        // True until the packet is whole, so that an error is the last thing that comes.
        hasEnded = true
        do {
            guard let packet = try file.whole(readPacket) else { return nil }
            hasEnded = false
            return packet
        } catch let error as MediaFileError where error.code == .interrupted {
            hasEnded = false
            throw error
        }
    }

    /// Nil at the end of the file.
    private func readPacket() throws -> FilePacket? {
        guard let (size, timestamp) = try readPacketHeader() else { return nil }
        guard try readPayload(size) else { throw endsWithinPacket() }
        let payload = UnsafeRawBufferPointer(rebasing: block[..<size])
        let isKeyFrame = isVP8 ? VP8FrameTag(payload)?.isKeyFrame ?? false : nil
        return FilePacket(
            data: pool.makeBuffer(copying: payload), timestamp: header.time(of: timestamp), isKeyFrame: isKeyFrame)
    }

    private func readPacketHeader() throws(MediaFileError) -> (size: Int, timestamp: Int64)? {
        let head = UnsafeMutableRawBufferPointer(rebasing: block[..<12])
        let headBytes = try file.read(into: head)
        if headBytes == 0 { return nil }
        guard headBytes == 12 else { throw endsWithinPacket() }
        let size = Int(UnsafeRawBufferPointer(head).littleEndian(at: 0, UInt32.self))
        guard size <= IVFReader.packetSizeLimit else {
            throw file.corrupt(
                "A packet claims to have \(size) bytes, which no frame has; the ones before it are whole.")
        }
        return (size, UnsafeRawBufferPointer(head).littleEndian(at: 4, Int64.self))
    }

    private var isVP8: Bool { header.fourCC == "VP80" }

    /// Looks at the packets' headers from the beginning on, which for an hour of video takes a part of a second. For
    /// codecs other than VP8 goes to the first packet.
    public func seekToKeyFrame(before time: Duration) throws {
        try rewind()
        guard isVP8 else { return }
        var best = file.position
        // A damaged place is told of by who reads that far.
        while let (place, isKeyFrame) = try? nextPlace(until: time) {
            if isKeyFrame { best = place }
        }
        try file.seek(to: best)
        hasEnded = false
    }

    /// Passes over the next packet; nil at the end and for one that is later than `time`.
    private func nextPlace(until time: Duration) throws -> (place: Int64, isKeyFrame: Bool)? {
        let place = file.position
        guard let (size, timestamp) = try readPacketHeader(), header.time(of: timestamp) <= time else { return nil }
        let isKeyFrame = try file.peek(min(1, size)) { VP8FrameTag($0)?.isKeyFrame ?? false }
        return try file.skip(size) == size ? (place, isKeyFrame) : nil
    }

    public func rewind() throws {
        try file.rewind()
        _ = try IVFReader.readHeader(file)
        hasEnded = false
    }

    /// Reads into the block, which grows as the bytes come, by doubling. False when the file ends before.
    private func readPayload(_ size: Int) throws(MediaFileError) -> Bool {
        var done = 0
        while done < size {
            if done == block.count {
                let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: block.count * 2, alignment: 64)
                larger.copyMemory(from: UnsafeRawBufferPointer(block))
                block.deallocate()
                block = larger
            }
            let step = UnsafeMutableRawBufferPointer(rebasing: block[done..<min(size, block.count)])
            guard try file.read(into: step) == step.count else { return false }
            done += step.count
        }
        return true
    }

    private func endsWithinPacket() -> MediaFileError {
        file.corrupt("The file ends within a packet; the packets before it are whole.")
    }

    private static func readHeader(_ file: InputFile) throws(MediaFileError) -> IVFHeader {
        let header = try withUnsafeTemporaryAllocation(byteCount: IVFHeader.leastLength, alignment: 8) {
            (bytes) throws(MediaFileError) -> IVFHeader in
            let count = try file.read(into: bytes)
            return try IVFHeader(UnsafeRawBufferPointer(rebasing: bytes[..<count]), path: file.path)
        }
        let extra = header.length - IVFHeader.leastLength
        guard try file.skip(extra) == extra else {
            throw file.corrupt("The file ends within its IVF header.")
        }
        return header
    }
}
