/// The boxes of an MP4 file (ISO/IEC 14496-12, 4.2), of the first level.
struct MP4Boxes {
    private(set) var names: [String] = []
    /// The end of each `mdat` that follows a `moof`.
    private(set) var fragmentEnds: [Int] = []
    /// Where each `moof` lies.
    private(set) var headers: [Range<Int>] = []

    init(_ bytes: [UInt8]) {
        var index = 0
        while index + 8 <= bytes.count {
            let size = bytes[index..<index + 4].reduce(0) { $0 << 8 | Int($1) }
            let name = String(decoding: bytes[index + 4..<index + 8], as: UTF8.self)
            guard size >= 8 else { return }
            if name == "moof" { headers.append(index..<index + size) }
            index += size
            if name == "mdat", names.last == "moof" { fragmentEnds.append(index) }
            names.append(name)
        }
    }
}
