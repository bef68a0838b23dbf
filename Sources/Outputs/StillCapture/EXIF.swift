import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What a picture file says of its picture, as Exif 3.0 (CIPA DC-008) has it: a TIFF header and two directories, for the
/// APP1 segment of JPEG and the eXIf chunk of PNG.
struct EXIF {
    var make: String?
    var model: String?
    var software: String?
    var orientation: VideoOrientation
    /// As the pixels lie in the file.
    var size: PixelSize
    /// When the picture was taken: the time since 1970, UTC.
    var date: Duration
    /// How far the local time is ahead of UTC, in seconds.
    var utcOffset: Int

    /// The offset of the machine's time zone at a date.
    static func localOffset(at date: Duration) -> Int {
        _ = timeZone
        var time = time_t(date.components.seconds)
        var fields = tm()
        return localtime_r(&time, &fields) == nil ? 0 : fields.tm_gmtoff
    }

    /// `localtime_r` need not read the time zone itself.
    private static let timeZone: Void = tzset()

    /// The bytes, big-endian.
    var bytes: [UInt8] {
        let (date, fraction, zone) = dateTexts
        var image = TIFFDirectory()
        if let make { image.add(0x010F, text: make) }
        if let model { image.add(0x0110, text: model) }
        image.add(0x0112, short: orientation.exifCode)
        image.add(0x011A, ratio: 72, 1)
        image.add(0x011B, ratio: 72, 1)
        // Inches.
        image.add(0x0128, short: 2)
        if let software { image.add(0x0131, text: software) }
        image.add(0x0132, text: date)
        // Centered, as JPEG has it.
        image.add(0x0213, short: 1)
        var exif = TIFFDirectory()
        exif.add(0x9000, undefined: Array("0232".utf8))
        exif.add(0x9003, text: date)
        exif.add(0x9004, text: date)
        for tag: UInt16 in [0x9010, 0x9011, 0x9012] { exif.add(tag, text: zone) }
        // Y, Cb, Cr.
        exif.add(0x9101, undefined: [1, 2, 3, 0])
        for tag: UInt16 in [0x9290, 0x9291, 0x9292] { exif.add(tag, text: fraction) }
        exif.add(0xA000, undefined: Array("0100".utf8))
        // sRGB.
        exif.add(0xA001, short: 1)
        exif.add(0xA002, long: UInt32(size.width))
        exif.add(0xA003, long: UInt32(size.height))

        let header: [UInt8] = Array("MM".utf8) + [0, 42, 0, 0, 0, 8]
        // The pointer to the second directory is an entry of the first, whose length must be known before.
        image.add(0x8769, long: 0)
        image.replace(0x8769, long: UInt32(header.count + image.byteCount))
        return header + image.bytes(at: header.count) + exif.bytes(at: header.count + image.byteCount)
    }

    /// `YYYY:MM:DD hh:mm:ss`, the milliseconds, and `+hh:mm`.
    var dateTexts: (date: String, fraction: String, zone: String) {
        func digits(_ value: Int, _ count: Int = 2) -> String {
            let text = String(value.magnitude)
            return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
        }
        let (seconds, attoseconds) = max(.zero, date).components
        var time = time_t(seconds) + utcOffset
        var fields = tm()
        gmtime_r(&time, &fields)
        let day =
            "\(digits(Int(fields.tm_year) + 1900, 4)):\(digits(Int(fields.tm_mon) + 1)):\(digits(Int(fields.tm_mday)))"
        let hour = "\(digits(Int(fields.tm_hour))):\(digits(Int(fields.tm_min))):\(digits(Int(fields.tm_sec)))"
        let zone = "\(utcOffset < 0 ? "-" : "+")\(digits(utcOffset / 3600)):\(digits(utcOffset / 60 % 60))"
        return ("\(day) \(hour)", digits(Int(attoseconds / 1_000_000_000_000_000), 3), zone)
    }
}

extension VideoOrientation {
    /// The value of Exif's tag.
    var exifCode: UInt16 {
        switch self {
        case .up: 1
        case .down: 3
        case .left: 6
        case .right: 8
        }
    }
}

/// A directory of TIFF 6.0, section 2: entries of twelve bytes, in the order of their tags, and the values that do not fit
/// into them.
private struct TIFFDirectory {
    private struct Entry {
        var tag: UInt16
        var type: UInt16
        var count: UInt32
        var value: [UInt8]

        /// The bytes of a value that stands outside of its entry; an even number.
        var outsideByteCount: Int { value.count <= 4 ? 0 : (value.count + 1) / 2 * 2 }
    }

    private var entries: [Entry] = []

    /// ASCII with a zero; other characters become a question mark.
    mutating func add(_ tag: UInt16, text: String) {
        let value = text.unicodeScalars.map { $0.isASCII && $0.value >= 32 ? UInt8($0.value) : UInt8(ascii: "?") } + [0]
        insert(Entry(tag: tag, type: 2, count: UInt32(value.count), value: value))
    }

    mutating func add(_ tag: UInt16, short: UInt16) {
        insert(Entry(tag: tag, type: 3, count: 1, value: bigEndian(short)))
    }

    mutating func add(_ tag: UInt16, long: UInt32) {
        insert(Entry(tag: tag, type: 4, count: 1, value: bigEndian(long)))
    }

    mutating func add(_ tag: UInt16, ratio numerator: UInt32, _ denominator: UInt32) {
        insert(Entry(tag: tag, type: 5, count: 1, value: bigEndian(numerator) + bigEndian(denominator)))
    }

    mutating func add(_ tag: UInt16, undefined value: [UInt8]) {
        insert(Entry(tag: tag, type: 7, count: UInt32(value.count), value: value))
    }

    mutating func replace(_ tag: UInt16, long: UInt32) {
        entries.removeAll { $0.tag == tag }
        add(tag, long: long)
    }

    private mutating func insert(_ entry: Entry) {
        entries.insert(entry, at: entries.firstIndex { $0.tag > entry.tag } ?? entries.count)
    }

    private var headByteCount: Int { 2 + 12 * entries.count + 4 }

    var byteCount: Int { headByteCount + entries.reduce(0) { $0 + $1.outsideByteCount } }

    /// - Parameter offset: where it stands, from the header on.
    func bytes(at offset: Int) -> [UInt8] {
        var head = bigEndian(UInt16(entries.count))
        var outside: [UInt8] = []
        for entry in entries {
            head += bigEndian(entry.tag) + bigEndian(entry.type) + bigEndian(entry.count)
            if entry.outsideByteCount == 0 {
                head += entry.value + Array(repeating: 0, count: 4 - entry.value.count)
            } else {
                head += bigEndian(UInt32(offset + headByteCount + outside.count))
                outside += entry.value + Array(repeating: 0, count: entry.outsideByteCount - entry.value.count)
            }
        }
        // No directory follows.
        return head + [0, 0, 0, 0] + outside
    }
}

func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.bigEndian) { Array($0) }
}
