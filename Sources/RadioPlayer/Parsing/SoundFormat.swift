import MP3Codec

/// What the bytes of a stream are, whatever the server calls them.
enum SoundFormat {
    /// Whether frames of MP3 follow each other.
    static func isMP3(_ bytes: UnsafeRawBufferPointer) -> Bool {
        holdsChain(bytes, of: 2) { start, offset in
            guard let header = header(bytes, offset), header.matches(self.header(bytes, start) ?? header) else {
                return nil
            }
            return header.byteCount
        }
    }

    /// The name of another format; nil for MP3 and unknown formats.
    ///
    /// - Parameter bytes: from anywhere in the stream; some KB.
    static func name(ofOther bytes: UnsafeRawBufferPointer) -> String? {
        func begins(_ text: StaticString, at offset: Int = 0) -> Bool {
            text.withUTF8Buffer { bytes.dropFirst(offset).starts(with: $0) }
        }
        guard !isMP3(bytes) else { return nil }
        if begins("OggS") { return "Ogg: Vorbis, Opus or FLAC" }
        if begins("fLaC") { return "FLAC" }
        if begins("RIFF") { return "WAV" }
        if begins("ftyp", at: 4) { return "MP4" }
        if holdsChain(bytes, of: 4, { _, offset in adtsLength(bytes, offset) }) { return "AAC" }
        if holdsChain(bytes, of: 4, { _, offset in latmLength(bytes, offset) }) { return "AAC (LATM)" }
        if holdsChain(bytes, of: 4, { _, offset in layerLength(bytes, offset, bits: 2) }) {
            return "MPEG audio layer II"
        }
        if holdsChain(bytes, of: 4, { _, offset in layerLength(bytes, offset, bits: 3) }) {
            return "MPEG audio layer I"
        }
        if holdsChain(bytes, of: 4, { _, offset in offset < bytes.count && bytes[offset] == 0x47 ? 188 : nil }) {
            return "MPEG-TS"
        }
        return nil
    }

    /// Whether that many headers stand one frame apart somewhere.
    ///
    /// - Parameter length: the length of the frame whose header is at the second offset, of a chain that begins at the
    ///   first one; nil when none is there.
    private static func holdsChain(
        _ bytes: UnsafeRawBufferPointer, of count: Int, _ length: (_ start: Int, _ offset: Int) -> Int?
    ) -> Bool {
        bytes.indices.contains { start in
            var (offset, found) = (start, 0)
            while found < count, let step = length(start, offset) { (offset, found) = (offset + step, found + 1) }
            return found == count
        }
    }

    private static func header(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> MP3FrameHeader? {
        guard offset < bytes.count else { return nil }
        return MP3FrameHeader(UnsafeRawBufferPointer(rebasing: bytes[offset...]))
    }

    /// ISO/IEC 13818-7, 6.2.
    private static func adtsLength(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Int? {
        guard offset + 7 <= bytes.count, bytes[offset] == 0xFF, bytes[offset + 1] & 0xF6 == 0xF0,
            bytes[offset + 2] >> 2 & 15 < 13
        else { return nil }
        let length = Int(bytes[offset + 3] & 3) << 11 | Int(bytes[offset + 4]) << 3 | Int(bytes[offset + 5]) >> 5
        return length > 7 ? length : nil
    }

    /// ISO/IEC 14496-3, 1.7.2.
    private static func latmLength(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Int? {
        guard offset + 3 <= bytes.count, bytes[offset] == 0x56, bytes[offset + 1] & 0xE0 == 0xE0 else { return nil }
        return 3 + (Int(bytes[offset + 1] & 0x1F) << 8 | Int(bytes[offset + 2]))
    }

    /// Layers I and II of ISO/IEC 11172-3 and 13818-3.
    private static func layerLength(_ bytes: UnsafeRawBufferPointer, _ offset: Int, bits: UInt8) -> Int? {
        guard offset + 4 <= bytes.count, bytes[offset] == 0xFF, bytes[offset + 1] & 0xF0 == 0xF0,
            bytes[offset + 1] >> 1 & 3 == bits
        else { return nil }
        let isMPEG1 = bytes[offset + 1] & 8 != 0
        let (bitrateIndex, rateIndex) = (Int(bytes[offset + 2] >> 4), Int(bytes[offset + 2] >> 2 & 3))
        guard (1...14).contains(bitrateIndex), rateIndex < 3 else { return nil }
        let rate = [44_100, 48_000, 32_000][rateIndex] >> (isMPEG1 ? 0 : 1)
        let padding = Int(bytes[offset + 2] >> 1 & 1)
        let isLayerI = bits == 3
        let kilobits =
            switch (isLayerI, isMPEG1) {
            case (true, true): 32 * bitrateIndex
            case (true, false): [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256][bitrateIndex - 1]
            case (false, true): [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384][bitrateIndex - 1]
            case (false, false): [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160][bitrateIndex - 1]
            }
        return isLayerI ? (12_000 * kilobits / rate + padding) * 4 : 144_000 * kilobits / rate + padding
    }
}
