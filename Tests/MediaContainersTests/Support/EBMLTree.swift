/// A reader of EBML for the tests: written from the specifications, apart from the writer.
struct EBMLElement {
    let id: UInt32
    /// Where id, content and the next element begin.
    let start: Int
    let content: Int
    let end: Int
    let hasUnknownSize: Bool
    /// Whether the file ends before the element does.
    let isCut: Bool
    let children: [EBMLElement]

    func first(_ id: UInt32) -> EBMLElement? { children.first { $0.id == id } }
    func all(_ id: UInt32) -> [EBMLElement] { children.filter { $0.id == id } }
}

struct EBMLFailure: Error {
    let message: String
}

struct EBMLTree {
    let bytes: [UInt8]
    let roots: [EBMLElement]

    private static let masters: Set<UInt32> = [
        0x1A45_DFA3, 0x1853_8067, 0x114D_9B74, 0x4DBB, 0x1549_A966, 0x1654_AE6B, 0xAE, 0xE0, 0x55B0, 0x1F43_B675,
        0x1C53_BB6B, 0xBB, 0xB7, 0xE1, 0xA0,
    ]
    private static let clusterChildren: Set<UInt32> = [0xE7, 0xA3, 0xA0]
    private static let known: Set<UInt32> = masters.union([
        0x4286, 0x42F7, 0x42F2, 0x42F3, 0x4282, 0x4287, 0x4285, 0xEC, 0x53AB, 0x53AC, 0x2AD7B1, 0x4489, 0x4D80, 0x5741,
        0xD7, 0x73C5, 0x63A2, 0x56AA, 0x56BB, 0xB5, 0x9F, 0xA1, 0x75A2, 0x83, 0x9C, 0x86, 0x9A, 0xB0, 0xBA, 0x55B1,
        0x54B0, 0x54BA, 0x55B9, 0x55BA, 0x55BB, 0xE7, 0xA3, 0xB3, 0xF7, 0xF1,
    ])

    /// Throws for what no cut at the end can explain.
    init(_ bytes: [UInt8]) throws {
        self.bytes = bytes
        roots = try EBMLTree.parse(bytes, 0, bytes.count, inUnknownCluster: false).elements
    }

    func unsigned(_ element: EBMLElement) -> UInt64 {
        bytes[element.content..<element.end].reduce(0) { $0 << 8 | UInt64($1) }
    }

    func float(_ element: EBMLElement) -> Double { Double(bitPattern: unsigned(element)) }

    func text(_ element: EBMLElement) -> String {
        String(decoding: bytes[element.content..<element.end], as: UTF8.self)
    }

    private static func parse(
        _ bytes: [UInt8], _ start: Int, _ limit: Int, inUnknownCluster: Bool
    ) throws -> (elements: [EBMLElement], end: Int) {
        var elements: [EBMLElement] = []
        var position = start
        while position < limit {
            guard let (id, idLength) = try number(bytes, position, limit, keepsMarker: true) else { break }
            let known = UInt32(truncatingIfNeeded: id)
            guard EBMLTree.known.contains(known) else {
                throw EBMLFailure(message: "unknown id \(String(id, radix: 16)) at \(position)")
            }
            // A cluster of unknown size ends where something begins that cannot be in it (RFC 8794, 6.2).
            if inUnknownCluster, !clusterChildren.contains(known) { break }
            guard let (size, sizeLength) = try number(bytes, position + idLength, limit, keepsMarker: false) else {
                break
            }
            let content = position + idLength + sizeLength
            let isUnknown = size == 1 << (7 * UInt64(sizeLength)) - 1
            let end = isUnknown ? limit : content + Int(size)
            var children: [EBMLElement] = []
            var actualEnd = min(end, limit)
            if masters.contains(known) {
                let inner = try parse(
                    bytes, content, min(end, limit), inUnknownCluster: isUnknown && known == 0x1F43_B675)
                children = inner.elements
                if isUnknown { actualEnd = inner.end }
            }
            elements.append(
                EBMLElement(
                    id: known, start: position, content: content, end: actualEnd, hasUnknownSize: isUnknown,
                    isCut: end > limit, children: children))
            position = actualEnd
            if end > limit { break }
        }
        return (elements, position)
    }

    /// Nil when the bytes end within the number.
    private static func number(
        _ bytes: [UInt8], _ position: Int, _ limit: Int, keepsMarker: Bool
    ) throws -> (value: UInt64, length: Int)? {
        guard position < limit else { return nil }
        let first = bytes[position]
        guard first != 0 else { throw EBMLFailure(message: "no length marker at \(position)") }
        let length = first.leadingZeroBitCount + 1
        guard position + length <= limit else { return nil }
        var value = UInt64(keepsMarker ? first : first & (0xFF >> UInt8(length)))
        for byte in bytes[(position + 1)..<(position + length)] { value = value << 8 | UInt64(byte) }
        return (value, length)
    }
}

/// A WebM file as the tests look at it.
struct WebMFile {
    struct Block: Equatable {
        var track: Int
        var time: Int64
        var isKeyFrame: Bool
        var bytes: [UInt8]
        /// What is to be discarded at the end, in nanoseconds.
        var padding: Int64 = 0
    }

    let tree: EBMLTree
    let segment: EBMLElement
    let clusters: [EBMLElement]

    init?(_ bytes: [UInt8]) throws {
        tree = try EBMLTree(bytes)
        guard tree.roots.count == 2, tree.roots[0].id == 0x1A45_DFA3, tree.roots[1].id == 0x1853_8067 else {
            return nil
        }
        segment = tree.roots[1]
        clusters = segment.all(0x1F43_B675)
    }

    /// The whole blocks of one cluster.
    func blocks(_ cluster: EBMLElement) -> [Block] {
        guard let timestamp = cluster.first(0xE7), !timestamp.isCut else { return [] }
        let time = Int64(tree.unsigned(timestamp))
        return cluster.children.filter { [0xA3, 0xA0].contains($0.id) && !$0.isCut }.compactMap { element in
            guard let block = element.id == 0xA3 ? element : element.first(0xA1) else { return nil }
            let bytes = tree.bytes[block.content..<block.end]
            let offset = Int16(bitPattern: UInt16(bytes[block.content + 1]) << 8 | UInt16(bytes[block.content + 2]))
            return Block(
                track: Int(bytes[block.content] & 0x7F), time: time + Int64(offset),
                // A group without a reference is a key frame.
                isKeyFrame: element.id == 0xA0 || bytes[block.content + 3] & 0x80 != 0,
                bytes: Array(bytes[(block.content + 4)...]),
                padding: element.first(0x75A2).map { Int64(tree.unsigned($0)) } ?? 0)
        }
    }

    var blocks: [Block] { clusters.flatMap { blocks($0) } }

    var duration: Double? {
        segment.first(0x1549_A966)?.first(0x4489).map { tree.float($0) }
    }
}
