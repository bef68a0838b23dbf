@_spi(Fuzzing) import MJPEGServer

/// Any request is answered within the rules: no line of an answer is the client's, and nothing is granted without the password.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRequests(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    RequestParsing.read(String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self))
    return 0
}
