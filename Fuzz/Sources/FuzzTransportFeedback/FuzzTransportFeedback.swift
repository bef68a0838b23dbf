@_spi(Fuzzing) import RTP

/// Any packets of feedback, cut by the lengths in their heads. The first byte is the number of packets sent before each.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTransportFeedback(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    guard let start, count > 1 else { return 0 }
    RTPParsing.readTransportFeedback(UnsafeRawBufferPointer(start: start + 1, count: count - 1), sent: Int(start[0]))
    return 0
}
