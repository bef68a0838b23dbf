@_spi(Fuzzing) import RTP

/// Any text is a description that is answered, section by section, or an error of one line.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzSDP(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    guard let message = RTPParsing.readDescription(text) else { return 0 }
    precondition(!message.contains("\n") && !message.contains("\r"), "an error has one line")
    precondition(message.utf8.count < 4096, "an error does not grow with its input")
    return 0
}
