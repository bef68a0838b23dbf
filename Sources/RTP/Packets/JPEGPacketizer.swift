import CaptureCore

/// Cuts JPEG images into payloads (RFC 2435): the scan alone, from which receivers make the image again. Only images that
/// they can make are carried.
enum JPEGPacketizer {
    /// The main header (3.1), and those of restart markers (3.1.7) and of quantization tables (3.1.8).
    private static let headerSize = 8
    private static let restartHeaderSize = 4
    private static let tableHeaderSize = 4

    /// - Throws: the reason why the image is not carried.
    static func packetize(
        _ image: UnsafeRawBufferPointer, room: Int, output: Packetizer.Output
    ) throws(RTPImage.Problem) {
        let image = try RTPImage(image)
        let restarts = image.restartInterval > 0
        let fixed = headerSize + (restarts ? restartHeaderSize : 0)
        var index = 0
        while index < image.scan.count {
            let tables = index == 0 ? tableHeaderSize + image.tables.count : 0
            let part = index..<min(image.scan.count, index + room - fixed - tables)
            index = part.upperBound
            var payload = Payload(image.scan.slice(part))
            payload.append(UInt16(part.lowerBound >> 16))
            payload.append(UInt16(part.lowerBound & 0xFFFF))
            payload.append(image.type + (restarts ? 64 : 0))
            // The tables are in each image.
            payload.append(255 as UInt8)
            payload.append(UInt8((image.width + 7) / 8))
            payload.append(UInt8((image.height + 7) / 8))
            if restarts {
                payload.append(image.restartInterval)
                // F and L, and the count that says that packets do not begin with intervals.
                payload.append(UInt16.max)
            }
            guard tables > 0 else {
                output(index == image.scan.count, payload)
                continue
            }
            withUnsafeTemporaryAllocation(byteCount: tables + part.count, alignment: 1) { memory in
                // Of 8 bits.
                memory.write(UInt16(0), at: 0)
                memory.write(UInt16(image.tables.count), at: 2)
                memory.write(image.tables, at: tableHeaderSize)
                memory.write(payload.body, at: tables)
                payload.body = UnsafeRawBufferPointer(memory)
                payload.isComposed = true
                output(index == image.scan.count, payload)
            }
        }
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Copies `bytes` to an index.
    fileprivate func write(_ bytes: [UInt8], at index: Int) { bytes.withUnsafeBytes { write($0, at: index) } }
}

/// A JPEG image (ITU-T T.81) as RFC 2435 carries it: its scan, and what a receiver needs for the headers. Valid as long as
/// its memory.
struct RTPImage {
    /// Why an image is not carried.
    enum Problem: Error, Hashable {
        case damaged
        case isNotBaseline
        case tooLarge
        case otherSampling
        case otherHuffmanTables

        /// A sentence for the user.
        var message: String {
            switch self {
            case .damaged: "A JPEG image is damaged."
            case .isNotBaseline: "RTP carries baseline JPEG alone, and this one is progressive or of another kind."
            case .tooLarge:
                "RTP carries JPEG of up to \(RTPImage.maximumSide) pixels in width and height; choose a smaller size, or "
                    + "another codec."
            case .otherSampling: "RTP carries JPEG in color with 4:2:0 or 4:2:2 alone; choose such a format of pixels."
            case .otherHuffmanTables:
                "RTP carries JPEG with the usual Huffman tables alone, and this one has its own (optimized) ones."
            }
        }
    }

    /// Headers count blocks of 8 pixels in one byte.
    static let maximumSide = 255 * 8

    /// 0 for 4:2:2, 1 for 4:2:0.
    private(set) var type: UInt8 = 0
    private(set) var width = 0
    private(set) var height = 0
    /// The number of units between two restart markers; 0 without such markers.
    private(set) var restartInterval: UInt16 = 0
    /// Those of luma and chroma, 64 bytes each.
    private(set) var tables: [UInt8] = []
    /// The entropy-coded data; not empty.
    private(set) var scan = UnsafeRawBufferPointer(start: nil, count: 0)

    /// One component of a frame: its identifier, and its quantization table.
    private typealias Component = (id: UInt8, table: Int)

    private var components: [Component] = []
    private var quantization: [[UInt8]?] = [nil, nil, nil, nil]
    /// By class and identifier, which of the standard tables it is; nil for none of them. Images without tables, as cameras
    /// send them, use the standard ones.
    private var huffman: [Int?] = [0, 1, nil, nil, 2, 3, nil, nil]

    /// Reads the headers of an image.
    init(_ image: UnsafeRawBufferPointer) throws(Problem) {
        guard image.count > 4, image[0] == 0xFF, image[1] == 0xD8 else { throw .damaged }
        var index = 2
        while true {
            guard index + 4 <= image.count, image[index] == 0xFF else { throw .damaged }
            let marker = image[index + 1]
            if marker == 0xFF {
                index += 1
                continue
            }
            let end = index + 2 + Int(image.bigEndian16(at: index + 2))
            guard end >= index + 4, end <= image.count else { throw .damaged }
            let segment = image.slice(index + 4..<end)
            index = end
            switch marker {
            case 0xC0: try readFrame(segment)
            case 0xC4: try readHuffmanTables(segment)
            case 0xDB: try readQuantizationTables(segment)
            case 0xDD:
                guard segment.count == 2 else { throw .damaged }
                restartInterval = segment.bigEndian16(at: 0)
            case 0xDA:
                try readScanHeader(segment)
                try readScan(image.slice(end..<image.count))
                return
            case 0xC1...0xCF: throw .isNotBaseline
            case 0xE0...0xFE: break
            default: throw .damaged
            }
        }
    }

    private mutating func readFrame(_ segment: UnsafeRawBufferPointer) throws(Problem) {
        guard segment.count >= 6, segment.count == 6 + 3 * Int(segment[5]), components.isEmpty else { throw .damaged }
        guard segment[0] == 8 else { throw .isNotBaseline }
        (height, width) = (Int(segment.bigEndian16(at: 1)), Int(segment.bigEndian16(at: 3)))
        guard height > 0, width > 0 else { throw .damaged }
        guard max(width, height) <= RTPImage.maximumSide else { throw .tooLarge }
        guard segment[5] == 3, segment[10] == 0x11, segment[13] == 0x11, segment[7] == 0x21 || segment[7] == 0x22
        else { throw .otherSampling }
        type = segment[7] == 0x22 ? 1 : 0
        components = [6, 9, 12].map { (segment[$0], Int(segment[$0 + 2])) }
    }

    private mutating func readQuantizationTables(_ segment: UnsafeRawBufferPointer) throws(Problem) {
        var index = 0
        while index < segment.count {
            guard segment[index] >> 4 == 0 else { throw .isNotBaseline }
            guard segment[index] < 4, index + 65 <= segment.count else { throw .damaged }
            quantization[Int(segment[index])] = Array(segment[index + 1..<index + 65])
            index += 65
        }
    }

    private mutating func readHuffmanTables(_ segment: UnsafeRawBufferPointer) throws(Problem) {
        var index = 0
        while index < segment.count {
            guard index + 17 <= segment.count, segment[index] & 0xEC == 0 else { throw .damaged }
            let place = Int(segment[index] >> 4) * 4 + Int(segment[index] & 3)
            let end = segment[index + 1...index + 16].reduce(index + 17) { $0 + Int($1) }
            guard end <= segment.count else { throw .damaged }
            huffman[place] = RTPImage.standardTables.firstIndex { $0.elementsEqual(segment[index + 1..<end]) }
            index = end
        }
    }

    /// The components of the frame in their order, with the tables that receivers use.
    private func readScanHeader(_ segment: UnsafeRawBufferPointer) throws(Problem) {
        guard !components.isEmpty, segment.count == 10, segment[0] == 3 else { throw .damaged }
        for (index, component) in components.enumerated() {
            guard segment[1 + 2 * index] == component.id else { throw .damaged }
            let selected = segment[2 + 2 * index]
            guard selected & 0xCC == 0 else { throw .damaged }
            let isChroma = index > 0 ? 1 : 0
            guard huffman[Int(selected >> 4)] == isChroma, huffman[4 + Int(selected & 3)] == 2 + isChroma else {
                throw .otherHuffmanTables
            }
        }
        guard segment[7] == 0, segment[8] == 63, segment[9] == 0 else { throw .isNotBaseline }
    }

    private mutating func readScan(_ rest: UnsafeRawBufferPointer) throws(Problem) {
        let found = components.map { $0.table < 4 ? quantization[$0.table] : nil }
        guard let luma = found[0], let chroma = found[1], found[2] == chroma else { throw .damaged }
        tables = luma + chroma
        // Behind the end marker cameras leave what their buffer held.
        var end = rest.count
        for index in stride(from: rest.count - 2, through: 0, by: -1) where rest[index] == 0xFF {
            guard rest[index + 1] == 0xD9 else { continue }
            end = index
            break
        }
        guard (1..<1 << 24).contains(end) else { throw .damaged }
        scan = rest.slice(0..<end)
    }

    /// The tables of T.81, annex K.3.3: the number of codes of each length, and the values. Those of the DC coefficients of
    /// luma and chroma, and of the AC ones.
    private static let standardTables: [[UInt8]] = [
        "00010501010101010100000000000000000102030405060708090a0b",
        "00030101010101010101010000000000000102030405060708090a0b",
        """
        0002010303020403050504040000017d01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a16\
        1718191a25262728292a3435363738393a434445464748494a535455565758595a636465666768696a737475767778797a83848586878889\
        8a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9ea\
        f1f2f3f4f5f6f7f8f9fa
        """,
        """
        00020102040403040705040400010277000102031104052131061241510761711322328108144291a1b1c109233352f0156272d10a162434\
        e125f11718191a262728292a35363738393a434445464748494a535455565758595a636465666768696a737475767778797a828384858687\
        88898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae2e3e4e5e6e7e8e9\
        eaf2f3f4f5f6f7f8f9fa
        """,
    ].map { text in
        let digits = text.utf8.compactMap(hexValue)
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
