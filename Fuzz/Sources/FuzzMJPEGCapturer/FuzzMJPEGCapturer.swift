@_spi(Fuzzing) import MJPEGCapturer

/// Any bytes give the same pictures however they are cut into pieces, and whether the parser is handed them or receives
/// them itself; each is whole, and none is beyond the limit.
///
/// The first byte chooses the declared boundary and the size of the pieces.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzMJPEGCapturer(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    guard let start, count > 1 else { return 0 }
    let bytes = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
    let boundary = [nil, "frame", "--frame", "-", "x"][Int(start[0] & 7) % 5]
    let whole = StreamProbe.pictures(in: bytes, boundary: boundary, pieceSize: bytes.count, maximumFrameBytes: 1024)
    for areReceived in [false, true] {
        for size in [1 + Int(start[0] >> 3), 300, bytes.count] {
            let pieces = StreamProbe.pictures(
                in: bytes, boundary: boundary, pieceSize: size, maximumFrameBytes: 1024, areReceived: areReceived)
            precondition(whole == pieces, "the pieces made other pictures")
        }
    }
    precondition(whole.pictures.allSatisfy { (125...1024).contains($0.count) && $0[0] == 0xFF && $0[1] == 0xD8 })
    StreamProbe.readHeads(bytes)
    return 0
}
