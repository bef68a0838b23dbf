@_spi(Fuzzing) import RTP
@_spi(Fuzzing) import RTSPServer

/// Any bytes of a connection are requests and packets or refused, however they are cut; no line of an answer is the client's,
/// and nothing is granted without the password. The first byte says how many arrive at once. With 0 the
/// bytes are packets of a capture, which are cut without a loss.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRTSP(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let step = bytes.first else { return 0 }
    guard step > 0 else {
        bytes.dropFirst().withUnsafeBytes { RTPParsing.cut($0) }
        return 0
    }
    RTSPParsing.read(Array(bytes.dropFirst()), step: Int(step))
    return 0
}
