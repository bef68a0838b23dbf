import CaptureTool
import FrameProcessing
import VideoCapturing

/// Any text is a value within its limits, or an error of one line; and what a rate prints is read as the same rate.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOptions(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    func attempt<Value>(_ parse: () throws(OptionError) -> Value) -> Value? {
        do { return try parse() } catch {
            precondition(!error.description.contains { $0.isNewline }, "an error is one line")
            return nil
        }
    }
    if let size = attempt({ () throws(OptionError) in try PictureSizeOption.parse(text) }) {
        precondition((1...VideoFormat.maximumSide).contains(size.width))
        precondition((1...VideoFormat.maximumSide).contains(size.height))
    }
    if case .frames(let rate) = attempt({ () throws(OptionError) in try RateOption.parse(text) }) {
        precondition(FrameRate(rate.description) == rate)
    }
    if let bitrate = attempt({ () throws(OptionError) in try BitrateOption.parse(text) }) { precondition(bitrate > 0) }
    if let time = attempt({ () throws(OptionError) in try TimeOption.parse(text, option: "--duration") }) {
        precondition(time > .zero)
    }
    if let number = attempt({ () throws(OptionError) in
        try CountOption.parse(text, option: "--frames", range: 1...UInt64(1000))
    }) {
        precondition((1...1000).contains(number))
    }
    _ = attempt { () throws(OptionError) in try KeyFrameIntervalOption.parse(text) }
    _ = attempt { () throws(OptionError) in try OutputName.parse(text) }
    return 0
}
