@_spi(Fuzzing) import CaptureTool
import FrameProcessing
import VideoCapturing

/// Any text is a value within its limits, or an error of one line; what a rate prints is read as the same rate; and any
/// words are a command line, or an error of one line.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOptions(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    let values = OptionValues(["x": [text]])
    func attempt<Value>(_ parse: () throws(OptionError) -> Value?) -> Value? {
        do { return try parse() } catch {
            precondition(!error.description.contains { $0.isNewline }, "an error is one line")
            return nil
        }
    }
    if let size = attempt({ () throws(OptionError) in try values.size("x") }) {
        precondition((1...VideoFormat.maximumSide).contains(size.width))
        precondition((1...VideoFormat.maximumSide).contains(size.height))
    }
    if case .frames(let rate) = attempt({ () throws(OptionError) in try values.rate("x") }) {
        precondition(FrameRate(rate.description) == rate)
    }
    if let bitrate = attempt({ () throws(OptionError) in try values.bitrate("x") }) { precondition(bitrate > 0) }
    if let time = attempt({ () throws(OptionError) in try values.time("x") }) { precondition(time > .zero) }
    if let number = attempt({ () throws(OptionError) in try values.count("x", in: 1...UInt64(1000)) }) {
        precondition((1...1000).contains(number))
    }
    for words in [
        text.split(separator: " ", omittingEmptySubsequences: false).map(String.init), ["-o", text],
        ["--keyframe-interval", text], ["--input", text], ["--serve=\(text)"],
    ] {
        if let error = CommandLineProbe.error(of: words) {
            precondition(!error.contains { $0.isNewline }, "an error is one line")
        }
    }
    return 0
}
