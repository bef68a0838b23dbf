@_spi(Fuzzing) import RTSPServer

/// Any bytes are a message of ONVIF or refused; answers are well-formed, and nothing is granted without the password.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzONVIF(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    ONVIFParsing.read(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}
