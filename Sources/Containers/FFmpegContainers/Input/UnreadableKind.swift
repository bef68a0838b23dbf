import MediaContainers
import VideoCapturing

/// Says of a file that could not be opened what it is, where its first bytes tell more than the library's error: kinds of
/// pictures that the library does not read, pictures that are too large, and pointers in place of files.
enum UnreadableKind {
    /// The bytes that are looked at: the size of a photograph comes after its thumbnails and profiles.
    private static let lookedAt = 512 << 10

    /// The error of a file that is of such a kind; nil for others, and for pipes, which cannot be read again.
    static func error(of file: InputFile) -> MediaFileError? {
        guard file.isSeekable, (try? file.seek(to: 0)) != nil else { return nil }
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: lookedAt, alignment: 16)
        defer { bytes.deallocate() }
        guard let count = try? file.read(into: bytes) else { return nil }
        return error(of: UnsafeRawBufferPointer(rebasing: bytes[..<count]), file.path)
    }

    /// - Parameter bytes: the beginning of the file.
    static func error(of bytes: UnsafeRawBufferPointer, _ path: String) -> MediaFileError? {
        if bytes.starts(with: "version https://git-lfs.github.com/spec/".utf8) {
            return .unsupported(
                path, "The file is a pointer of Git LFS in place of the file itself; get that with `git lfs pull`.")
        }
        guard let picture = PictureHead(bytes) else { return nil }
        if let size = picture.size,
            !FFmpegReader.isSizeAllowed(width: Int32(clamping: size.width), height: Int32(clamping: size.height))
        {
            return FFmpegReader.tooLarge(size, path)
        }
        return picture.unsupportedKind.map {
            .unsupported(
                path, "The picture is \($0), which this FFmpeg does not read; convert it to PNG or plain JPEG.")
        }
    }
}

/// The size of a still picture, and its kind where that is rare.
struct PictureHead {
    var size: PixelSize?
    /// As in "an animated WebP"; nil for usual pictures.
    var unsupportedKind: String?

    /// Nil for bytes that are no JPEG, PNG or WebP.
    init?(_ bytes: UnsafeRawBufferPointer) {
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            readJPEG(bytes)
        } else if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]), bytes.count >= 24 {
            size = PixelSize(width: bytes.bigEndian(at: 16, 4), height: bytes.bigEndian(at: 20, 4))
        } else if bytes.count >= 30, bytes.starts(with: "RIFF".utf8), bytes[8..<12].elementsEqual("WEBP".utf8) {
            readWebP(bytes)
        } else {
            return nil
        }
    }

    /// The segments up to the frame header (ITU-T T.81, B.2).
    private mutating func readJPEG(_ bytes: UnsafeRawBufferPointer) {
        var position = 2
        while position + 10 <= bytes.count, bytes[position] == 0xFF {
            let marker = bytes[position + 1]
            if marker == 0xFF {
                position += 1
                continue
            }
            guard (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) else {
                // Without a length: a scan has begun, or the picture has ended.
                guard !(0xD0...0xDA).contains(marker) else { return }
                position += 2 + bytes.bigEndian(at: position + 2, 2)
                continue
            }
            size = PixelSize(width: bytes.bigEndian(at: position + 7, 2), height: bytes.bigEndian(at: position + 5, 2))
            switch marker {
            case 0xC9...0xCB: unsupportedKind = "an arithmetic-coded JPEG"
            case 0xC3: unsupportedKind = "a lossless JPEG"
            case 0xC5...0xC7, 0xCD...0xCF: unsupportedKind = "a hierarchical JPEG"
            default:
                if bytes[position + 4] != 8 {
                    unsupportedKind = "a JPEG of \(bytes[position + 4]) bits per sample"
                } else if bytes[position + 9] == 4 {
                    unsupportedKind = "a JPEG in CMYK, as for print"
                }
            }
            return
        }
    }

    /// The first chunk (RFC 9649).
    private mutating func readWebP(_ bytes: UnsafeRawBufferPointer) {
        func littleEndian(_ offset: Int, _ count: Int) -> Int {
            (0..<count).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
        }
        if bytes[12..<16].elementsEqual("VP8X".utf8) {
            size = PixelSize(width: littleEndian(24, 3) + 1, height: littleEndian(27, 3) + 1)
            if bytes[20] & 0x02 != 0 { unsupportedKind = "an animated WebP" }
        } else if bytes[12..<16].elementsEqual("VP8L".utf8) {
            let bits = littleEndian(21, 4)
            size = PixelSize(width: bits & 0x3FFF + 1, height: bits >> 14 & 0x3FFF + 1)
        } else if bytes[12..<16].elementsEqual("VP8 ".utf8) {
            size = PixelSize(width: littleEndian(26, 2) & 0x3FFF, height: littleEndian(28, 2) & 0x3FFF)
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func bigEndian(at offset: Int, _ count: Int) -> Int {
        self[offset..<offset + count].reduce(0) { $0 << 8 | Int($1) }
    }
}
