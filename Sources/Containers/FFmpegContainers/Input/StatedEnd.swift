import MediaContainers

/// The end of a file as stated by its first bytes. The library takes the end of a file for that of the video, so this
/// distinguishes a truncated file from a complete one.
struct StatedEnd {
    /// The size of the whole file in bytes; nil where it is not stated, as in a live recording.
    private(set) var size: Int64?
    /// The bytes of each packet of a transport stream; nil for other files.
    private(set) var packetSize: Int64?

    /// Parses the beginning of the file without consuming it.
    ///
    /// - Parameters:
    ///   - file: the file, at its beginning.
    ///   - demuxer: the library's name of the format.
    init(of file: InputFile, demuxer: String) throws(MediaFileError) {
        self = try file.peek(2048) { bytes in
            var end = StatedEnd()
            if demuxer.hasPrefix("matroska") {
                end.size = StatedEnd.matroskaSize(bytes)
            } else if demuxer == "avi" {
                end.size = StatedEnd.aviSize(bytes)
            } else if demuxer == "mpegts" {
                end.packetSize = StatedEnd.packetSize(bytes)
            }
            return end
        }
    }

    private init() {}

    /// The end of the segment, which contains everything but the header (RFC 8794, RFC 9559).
    private static func matroskaSize(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        guard bytes.starts(with: [0x1A, 0x45, 0xDF, 0xA3]), let header = elementEnd(bytes, sizeAt: 4),
            header < Int64(bytes.count), bytes[Int(header)...].starts(with: [0x18, 0x53, 0x80, 0x67])
        else { return nil }
        return elementEnd(bytes, sizeAt: Int(header) + 4)
    }

    /// The end of the EBML element whose size is at `start`; nil for an unknown size. At most 2⁵⁷.
    private static func elementEnd(_ bytes: UnsafeRawBufferPointer, sizeAt start: Int) -> Int64? {
        guard start < bytes.count, bytes[start] > 0 else { return nil }
        let length = bytes[start].leadingZeroBitCount + 1
        guard start + length <= bytes.count else { return nil }
        let coded = bytes[start..<start + length].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        let unknown = Int64(1) << (7 * length) - 1
        let size = coded & unknown
        return size == unknown ? nil : Int64(start + length) + size
    }

    /// The end of the first RIFF chunk; an interrupted recorder leaves zero there.
    private static func aviSize(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        guard bytes.count >= 12, bytes.starts(with: "RIFF".utf8), bytes[8..<12].elementsEqual("AVI ".utf8) else {
            return nil
        }
        let size = bytes[4..<8].reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
        return size == 0 || size == UInt32.max ? nil : 8 + size
    }

    /// By the sync bytes; Blu-ray adds a timestamp before each packet, broadcasters a checksum after it.
    private static func packetSize(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        for (size, sync) in [(188, 0), (192, 4), (204, 0)] where bytes.count > sync {
            if stride(from: sync, to: bytes.count, by: size).allSatisfy({ bytes[$0] == 0x47 }) { return Int64(size) }
        }
        return nil
    }
}
