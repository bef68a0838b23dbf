import VideoCapturing

/// What the head of a JPEG picture says: its markers up to the first scan (ITU-T T.81, annex B). Nothing is decoded.
public struct JPEGHeader: Sendable, Hashable {
    /// How many samples of a component there are, relative to the other components'.
    public struct SamplingFactors: Sendable, Hashable {
        /// 1 to 4.
        public var horizontal: Int
        /// 1 to 4.
        public var vertical: Int

        public init(horizontal: Int, vertical: Int) {
            self.horizontal = horizontal
            self.vertical = vertical
        }
    }

    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// The bits of a sample; 8 but for medical and other special pictures.
    public let precision: Int
    /// How many components there are: 1 for grey, 3 for colour, 4 for print.
    public let componentCount: Int
    /// Whether the picture comes in several scans, each refining the one before.
    public let isProgressive: Bool
    /// Whether the picture is arithmetic-coded instead of Huffman-coded.
    public let isArithmeticCoded: Bool
    /// Whether there are Huffman tables before the first scan. Many webcams leave them out and mean the standard ones.
    public let hasHuffmanTables: Bool
    /// How many MCUs lie between two restart markers; 0 without markers.
    public let restartInterval: Int

    /// One byte for each of the first four components, as in the picture: horizontal in the upper half.
    private let factors: UInt32

    /// The sampling factors of a component, from 0 to ``componentCount`` - 1, of the first four.
    public func samplingFactors(ofComponent component: Int) -> SamplingFactors {
        precondition(
            component >= 0 && component < min(4, componentCount), "component \(component) of \(componentCount)")
        let byte = Int(factors >> (8 * UInt32(component)) & 0xFF)
        return SamplingFactors(horizontal: byte >> 4, vertical: byte & 15)
    }

    /// Reads the head; the rest of the picture need not be there. Fill bytes and unknown segments are passed over.
    ///
    /// - Throws: `corruptData` for bytes that are not a JPEG, end before its first scan or contradict each other;
    ///   `formatUnsupported` for lossless and hierarchical pictures, and for those whose height comes after them.
    public init(_ jpeg: UnsafeRawBufferPointer) throws(CodecError) {
        var reader = MarkerReader(jpeg)
        guard reader.byte() == 0xFF, reader.byte() == Marker.startOfImage else {
            throw JPEGHeader.damage("it does not begin as a JPEG picture (FF D8)")
        }
        var frame: Frame?
        var hasHuffmanTables = false
        var restartInterval = 0
        while true {
            guard let marker = reader.nextMarker() else { throw JPEGHeader.damage("it is cut off in its head") }
            switch marker {
            case 0x01, Marker.restarts: continue
            case Marker.startOfImage: throw JPEGHeader.damage("it begins twice")
            case Marker.endOfImage: throw JPEGHeader.damage("it ends before its first scan")
            default: break
            }
            guard var segment = reader.segment() else { throw JPEGHeader.damage("it is cut off in its head") }
            switch marker {
            case Marker.huffmanTables: hasHuffmanTables = true
            case Marker.reserved, Marker.arithmeticConditions: break
            case Marker.restartInterval:
                guard let interval = segment.word() else { throw JPEGHeader.damage("its restart interval is cut off") }
                restartInterval = interval
            case Marker.startOfScan:
                guard let frame else { throw JPEGHeader.damage("its scan comes before its size") }
                self.init(frame, hasHuffmanTables: hasHuffmanTables, restartInterval: restartInterval)
                return
            case Marker.startsOfFrame:
                guard frame == nil else { throw JPEGHeader.damage("it states its size twice") }
                frame = try Frame(marker, &segment)
            default: break
            }
        }
    }

    private init(_ frame: Frame, hasHuffmanTables: Bool, restartInterval: Int) {
        width = frame.width
        height = frame.height
        precision = frame.precision
        componentCount = frame.componentCount
        isProgressive = frame.process == .progressive
        isArithmeticCoded = frame.isArithmeticCoded
        factors = frame.factors
        self.hasHuffmanTables = hasHuffmanTables
        self.restartInterval = restartInterval
    }

    fileprivate static func damage(_ reason: String) -> CodecError {
        CodecError(
            .corruptData, operation: "read a picture's head", subject: "JPEG",
            message: "The picture is damaged: \(reason); drop it and go on with the next.")
    }

    fileprivate static func unsupported(_ reason: String) -> CodecError {
        CodecError(
            .formatUnsupported, operation: "read a picture's head", subject: "JPEG",
            message: "The picture is of a kind that is not taken: \(reason); have it sent as baseline JPEG.")
    }
}

/// T.81, table B.1: the second byte of each marker.
private enum Marker {
    static let startOfImage: UInt8 = 0xD8
    static let endOfImage: UInt8 = 0xD9
    static let startOfScan: UInt8 = 0xDA
    static let huffmanTables: UInt8 = 0xC4
    static let restartInterval: UInt8 = 0xDD
    static let restarts: ClosedRange<UInt8> = 0xD0...0xD7
    static let startsOfFrame: ClosedRange<UInt8> = 0xC0...0xCF
    /// Among the starts of a frame, and none, as the Huffman tables.
    static let reserved: UInt8 = 0xC8
    static let arithmeticConditions: UInt8 = 0xCC
}

/// T.81, B.2.2.
private struct Frame {
    enum Process { case sequential, progressive }

    var process: Process
    var isArithmeticCoded: Bool
    var precision: Int
    var width: Int
    var height: Int
    var componentCount: Int
    var factors: UInt32 = 0

    init(_ marker: UInt8, _ segment: inout MarkerReader) throws(CodecError) {
        switch marker {
        case 0xC0, 0xC1, 0xC9: process = .sequential
        case 0xC2, 0xCA: process = .progressive
        case 0xC3, 0xCB: throw JPEGHeader.unsupported("it is lossless")
        default: throw JPEGHeader.unsupported("it is hierarchical")
        }
        isArithmeticCoded = marker >= 0xC9
        guard let precision = segment.byte(), let height = segment.word(), let width = segment.word(),
            let componentCount = segment.byte()
        else { throw JPEGHeader.damage("its size is cut off") }
        guard height > 0 else { throw JPEGHeader.unsupported("its height comes after it (DNL)") }
        guard width > 0, precision > 0, componentCount > 0 else {
            throw JPEGHeader.damage("it has no pixels, no bits or no components")
        }
        self.precision = Int(precision)
        self.width = width
        self.height = height
        self.componentCount = Int(componentCount)
        for component in 0..<Int(componentCount) {
            guard segment.byte() != nil, let pair = segment.byte(), segment.byte() != nil else {
                throw JPEGHeader.damage("its components are cut off")
            }
            guard (1...4).contains(pair >> 4), (1...4).contains(pair & 15) else {
                throw JPEGHeader.damage("its sampling factors are not 1 to 4")
            }
            if component < 4 { factors |= UInt32(pair) << (8 * UInt32(component)) }
        }
    }
}

/// Goes through bytes, and never beyond them.
private struct MarkerReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    mutating func byte() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func word() -> Int? {
        guard let high = byte(), let low = byte() else { return nil }
        return Int(high) << 8 | Int(low)
    }

    /// The second byte of the next marker; other bytes are skipped, as libjpeg does, and so is every further FF.
    mutating func nextMarker() -> UInt8? {
        while true {
            var found: UInt8?
            repeat {
                found = byte()
                guard found != nil else { return nil }
            } while found != 0xFF
            repeat { found = byte() } while found == 0xFF
            guard let found else { return nil }
            if found != 0 { return found }
        }
    }

    /// The bytes of the segment that begins here with its length. A length that does not even count itself is taken
    /// for none, as libjpeg takes it.
    mutating func segment() -> MarkerReader? {
        guard let length = word(), length - 2 <= bytes.count - position else { return nil }
        let start = position
        position += max(0, length - 2)
        return MarkerReader(UnsafeRawBufferPointer(rebasing: bytes[start..<position]))
    }
}
