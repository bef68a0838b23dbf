@_spi(Fuzzing) import WebRTCPublisher

/// What servers of WHIP and Janus send is read without a crash, within limits, and what is written of it is read again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzSignalling(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    SignallingParsing.read(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    return 0
}
