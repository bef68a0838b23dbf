import FrameProcessing
import JPEGCodec
import VideoCapturing

/// Makes a file of a JPEG picture: with EXIF, and with the Huffman tables that many cameras leave out. The coded samples
/// stay byte by byte what they are.
enum JPEGFile {
    /// The file's bytes; nil where the picture is that file already.
    ///
    /// - Parameters:
    ///   - picture: a whole JPEG picture.
    ///   - exif: the metadata to insert in place of any that are there; nil to leave these as they are.
    /// - Throws: `corruptData` for bytes that are not a JPEG picture.
    static func make(of picture: UnsafeRawBufferPointer, exif: EXIF?) throws -> [UInt8]? {
        let header = try JPEGHeader(picture)
        let lacksTables = !header.hasHuffmanTables && !header.isArithmeticCoded
        guard exif != nil || lacksTables else { return nil }
        var file: [UInt8] = [0xFF, 0xD8]
        file.reserveCapacity(picture.count + 1024)
        var hasMetadata = exif == nil
        var position = 2
        while let segment = Segment(picture, at: position) {
            position = segment.range.upperBound
            if exif != nil, segment.isEXIF(picture) { continue }
            // After JFIF's own segment, which claims the first place too.
            if let exif, !hasMetadata, segment.marker != 0xE0 {
                file += metadataSegment(exif)
                hasMetadata = true
            }
            if segment.marker == 0xDA, lacksTables { file += try standardTables.get() }
            file += picture[segment.range]
            if segment.marker == 0xDA { break }
        }
        file += picture[position...]
        return file
    }

    private static func metadataSegment(_ exif: EXIF) -> [UInt8] {
        let body = Array("Exif\0\0".utf8) + exif.bytes
        return [0xFF, 0xE1] + bigEndian(UInt16(body.count + 2)) + body
    }

    /// The tables of ITU-T T.81, annex K.3, as libjpeg writes them into any picture that it encodes.
    private static let standardTables = Result { () throws -> [UInt8] in
        let black = try PixelBuffer.black(.nv12, width: 16, height: 16, color: .jpeg)
        var tables: [UInt8] = []
        try JPEGEncoder().encode(VideoFrame(buffer: black, timestamp: .zero)) { packet in
            packet.data.withUnsafeBytes { bytes in
                var position = 2
                while let segment = Segment(bytes, at: position), segment.marker != 0xDA {
                    if segment.marker == 0xC4 { tables += bytes[segment.range] }
                    position = segment.range.upperBound
                }
            }
        }
        return tables
    }

    /// A marker with its segment (T.81, B.1.1.4), in a picture whose head was checked.
    private struct Segment {
        let marker: UInt8
        /// The marker, fill bytes before it included, and its segment.
        let range: Range<Int>

        init?(_ bytes: UnsafeRawBufferPointer, at start: Int) {
            var position = start
            // Bytes that are not a marker are skipped, as readers do.
            while position + 1 < bytes.count, bytes[position] != 0xFF || bytes[position + 1] == 0 { position += 1 }
            while position + 1 < bytes.count, bytes[position + 1] == 0xFF { position += 1 }
            guard position + 1 < bytes.count else { return nil }
            marker = bytes[position + 1]
            position += 2
            if marker != 0x01, !(0xD0...0xD9).contains(marker) {
                guard position + 1 < bytes.count else { return nil }
                position += max(2, Int(bytes[position]) << 8 | Int(bytes[position + 1]))
                guard position <= bytes.count else { return nil }
            }
            range = start..<position
        }

        func isEXIF(_ bytes: UnsafeRawBufferPointer) -> Bool {
            marker == 0xE1 && range.count >= 10 && bytes[range].dropFirst(4).starts(with: Array("Exif\0".utf8))
        }
    }
}
