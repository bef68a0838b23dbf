@_spi(Fuzzing) import CaptureTool

/// Any file of options is read, or is an error of one line that names the line.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzConfigFile(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    if let error = CommandLineProbe.error(ofConfig: text) {
        precondition(!error.contains { $0.isNewline }, "an error is one line")
        precondition(error.hasPrefix("config, line "), "an error names its line")
        precondition(error.utf8.count < 4096, "an error does not grow with its input")
    }
    return 0
}
