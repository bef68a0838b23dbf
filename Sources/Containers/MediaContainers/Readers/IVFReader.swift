import VideoCapturing

/// Reads IVF (`.ivf`), with any codec in it.
///
/// Times increase strictly: where they go back, as in recordings that were joined, they go on one packet after the last
/// one. The number of packets in the header is not relied upon. Memory is bounded by the largest packet that is present: a
/// size that only a damaged header states is not allocated.
public final class IVFReader: PacketReader {
    /// The largest packet that is read, in bytes: many times what a frame of 8K video takes.
    public static let packetSizeLimit = 64 << 20

    private let file: InputFile
    private let header: IVFHeader
    private let pool = PacketBufferPool()
    private var block = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 64)
    private var hasEnded = false
    private var line = IVFReader.newLine

    /// Reads the header.
    ///
    /// - Parameter file: the file, at its beginning.
    /// - Throws: `MediaFileError`; `corruptData` when it is not an IVF file.
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
    public var fourCC: FourCC { header.fourCC }
    public var width: Int { header.width }
    public var height: Int { header.height }
    /// Also nil when the header's length must be FFmpeg's duration: when the file is too small for that many packets of
    /// 12 bytes.
    public let statedPacketCount: Int64?
    public var canRewind: Bool { file.isSeekable }

    package func checkInterruption() throws { try file.checkInterruption() }

    public func nextPacket() throws -> IVFReader.Packet? {
        guard !hasEnded else { return nil }
        // True until the packet is complete, so that nothing follows an error.
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
    private func readPacket() throws -> IVFReader.Packet? {
        guard let (size, timestamp) = try readPacketHeader() else { return nil }
        guard try readPayload(size) else { throw endsWithinPacket() }
        let payload = UnsafeRawBufferPointer(rebasing: block[..<size])
        let isKeyFrame = isVP8 ? VP8FrameTag(payload)?.isKeyFrame ?? false : nil
        return IVFReader.Packet(
            data: pool.makeBuffer(copying: payload), timestamp: line.place(header.time(of: timestamp)),
            isKeyFrame: isKeyFrame)
    }

    /// Twenty-five packets per second, until there are two.
    private static var newLine: ContinuousTime { ContinuousTime(frameLength: .milliseconds(40)) }

    package var discontinuities: Int { line.stretches }

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

    /// Scans the packets' headers from the beginning, a fraction of a second for an hour of video. For codecs other than
    /// VP8 goes to the first packet.
    public func seekToKeyFrame(before time: Duration) throws {
        try rewind()
        guard isVP8 else { return }
        var best = (place: file.position, line: line)
        // Damage is reported when it is reached by reading.
        while let next = try? nextPlace(until: time) {
            if next.isKeyFrame { best = (next.place, next.line) }
        }
        try file.seek(to: best.place)
        line = best.line
        hasEnded = false
    }

    /// Skips the next packet; nil at the end and for one that is later than `time`.
    private func nextPlace(until time: Duration) throws -> (place: Int64, line: ContinuousTime, isKeyFrame: Bool)? {
        let (place, line) = (file.position, line)
        guard let (size, timestamp) = try readPacketHeader(), self.line.place(header.time(of: timestamp)) <= time else {
            return nil
        }
        let isKeyFrame = try file.peek(min(1, size)) { VP8FrameTag($0)?.isKeyFrame ?? false }
        return try file.skip(size) == size ? (place, line, isKeyFrame) : nil
    }

    public func rewind() throws {
        try file.rewind()
        _ = try IVFReader.readHeader(file)
        line = IVFReader.newLine
        hasEnded = false
    }

    /// Reads into the block, which is doubled as bytes arrive. False when the file ends before.
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
        let header = try withUnsafeTemporaryAllocation(byteCount: IVFHeader.minimumLength, alignment: 8) {
            bytes in
            Result { () throws(MediaFileError) in
                let count = try file.read(into: bytes)
                return try IVFHeader(UnsafeRawBufferPointer(rebasing: bytes[..<count]), path: file.path)
            }
        }.get()
        let extra = header.length - IVFHeader.minimumLength
        guard try file.skip(extra) == extra else {
            throw file.corrupt("The file ends within its IVF header.")
        }
        return header
    }
}

/// The header of an IVF file.
struct IVFHeader {
    static let magic = "DKIF"
    /// The bytes that every header has; further ones are skipped.
    static let minimumLength = 32

    let length: Int
    let fourCC: FourCC
    let width: Int
    let height: Int
    /// A timestamp counts `numerator` / `denominator` seconds.
    let denominator: UInt32
    let numerator: UInt32
    /// Packets, or time-base units: see ``IVFWriter/HeaderLength``.
    let statedLength: UInt32

    /// Reads the first 32 bytes.
    init(_ bytes: UnsafeRawBufferPointer, path: String) throws(MediaFileError) {
        guard bytes.count >= IVFHeader.minimumLength, bytes.starts(with: IVFHeader.magic.utf8) else {
            throw IVFHeader.corrupt(path, "The file does not begin with an IVF header; check that it is an IVF file.")
        }
        length = Int(bytes.littleEndian(at: 6, UInt16.self))
        fourCC = FourCC(rawValue: bytes.littleEndian(at: 8, UInt32.self))
        width = Int(bytes.littleEndian(at: 12, UInt16.self))
        height = Int(bytes.littleEndian(at: 14, UInt16.self))
        denominator = bytes.littleEndian(at: 16, UInt32.self)
        numerator = bytes.littleEndian(at: 20, UInt32.self)
        statedLength = bytes.littleEndian(at: 24, UInt32.self)
        guard length >= IVFHeader.minimumLength else {
            throw IVFHeader.corrupt(path, "The IVF header states that it is shorter than it can be.")
        }
        guard denominator > 0, numerator > 0 else {
            throw IVFHeader.corrupt(path, "The IVF header states no time base, so the frames have no time.")
        }
    }

    /// The exact time of a timestamp, to the attosecond; clamped to 64 bits of nanoseconds, as ``MediaTime`` holds them.
    func time(of timestamp: Int64) -> Duration {
        let product = Int128(timestamp) * Int128(numerator)
        let (seconds, rest) = product.quotientAndRemainder(dividingBy: Int128(denominator))
        let attoseconds = rest * 1_000_000_000_000_000_000 / Int128(denominator)
        let time = Duration(
            secondsComponent: Int64(clamping: seconds), attosecondsComponent: Int64(clamping: attoseconds))
        return min(max(time, .nanoseconds(Int64.min)), .nanoseconds(Int64.max))
    }

    private static func corrupt(_ path: String, _ message: String) -> MediaFileError {
        MediaFileError(.corruptData, operation: "read the file", subject: path, message: message)
    }
}

extension UnsafeRawBufferPointer {
    /// A number whose least significant byte comes first.
    func littleEndian<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, _ type: Number.Type) -> Number {
        Number(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
    }
}

/// The first bytes of a VP8 frame (RFC 6386, 9.1).
private struct VP8FrameTag {
    /// Whether decoding can begin here.
    let isKeyFrame: Bool
    /// Width and height of a key frame; nil for the others, and for one that is damaged.
    let size: (width: Int, height: Int)?

    /// Nil for a frame without bytes.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard let first = bytes.first else { return nil }
        isKeyFrame = first & 1 == 0
        guard isKeyFrame, bytes.count >= 10, bytes[3] == 0x9D, bytes[4] == 0x01, bytes[5] == 0x2A else {
            size = nil
            return
        }
        // The two upper bits of each ask the player to scale.
        let width = (Int(bytes[6]) | Int(bytes[7]) << 8) & 0x3FFF
        let height = (Int(bytes[8]) | Int(bytes[9]) << 8) & 0x3FFF
        size = width > 0 && height > 0 ? (width, height) : nil
    }
}
