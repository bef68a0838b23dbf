@_spi(Fuzzing) import RTP

/// Any bytes are messages or none; they name no more packets than there is room for, and have no more sent again than were
/// sent.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRTCP(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let (named, resent) = RTPParsing.readReport(UnsafeRawBufferPointer(start: start, count: count))
    precondition(named <= count / 4 * 17)
    precondition(resent <= 20)
    return 0
}
