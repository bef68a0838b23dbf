@_spi(Fuzzing) import MediaPublishing

/// Any text is a pattern of file names or is refused, each name that the pattern makes is recognized with its number, and no
/// other name takes long. The first line is the pattern, the second a name.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFileNames(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let bytes = UnsafeBufferPointer(start: start, count: count)
    let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = lines.first, let pattern = FileNameProbe(String(decoding: first, as: UTF8.self)) else { return 0 }
    let time = Int64(1_000_000_000) + bytes.reduce(0) { ($0 &* 31 &+ Int64($1)) & 0xFFFF_FFFF }
    let number = bytes.reduce(0) { ($0 &* 31 &+ Int($1)) & 0x1_FFFF_FFFF_FFFF }
    precondition(pattern.recognizes(number: number, time: time), "a name of its own")
    if lines.count > 1, let found = pattern.number(in: Array(lines[1])) {
        precondition((-1..<1_000_000_000_000_000).contains(found), "a number that can be counted on from")
    }
    return 0
}
