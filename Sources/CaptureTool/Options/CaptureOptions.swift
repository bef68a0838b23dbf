import ArgumentParser

/// The options of a capture as they were typed; ``CapturePlan`` parses them.
///
/// All values are plain strings, so that this program describes every error of a value itself. The help is written by
/// hand (``HelpText``), to fit a screen.
struct CaptureOptions: ParsableArguments {
    @Option var source: String?
    @Option var input: String?
    @Option var device: String?
    @Option(name: [.customLong("size"), .customLong("preset")]) var size: String?
    @Option var fps: String?
    @Option var pixelFormat: String?
    @Option var seed: String?
    @Option var captureFormat: String?
    @Option var control: [String] = []
    @Flag var keepRate = false
    @Option var rate: String?
    @Flag var loop = false
    @Option var start: String?
    @Option var end: String?
    @Flag var explain = false
    @Option var display: String?
    @Option var monitor: String?
    @Option var window: String?
    @Option var region: String?
    @Flag var noCursor = false
    @Option var login: String?
    @Flag var insecure = false
    @Option var caFile: String?
    @Option var orientation: String?
    @Option var contentHint: String?
    @Option var frames: String?
    @Option var duration: String?
    @Option(name: [.long, .customShort("o")]) var output: [String] = []
    @Flag(name: [.long, .customShort("f")]) var force = false
    @Flag var keepGoing = false
    @Option var serve: String?
    @Option var serveLogin: String?
    @Option var serveCertificate: String?
    @Option var serveKey: String?
    @Option var jpegQuality: String?
    @Option var dropSameFrames: String?
    @Option var bitrate: String?
    @Option var keyframeInterval: String?
    @Option var threads: String?
    @Flag var preview = false
    @Option var stats: String?
    @Flag(name: [.long, .customShort("q")]) var quiet = false
}

extension CaptureOptions {
    /// The options that only some sources have, as in `CaptureRequest.further`: a flag that is set has one empty value.
    var further: [(name: String, values: [String])] {
        func one(_ value: String?) -> [String] { value.map { [$0] } ?? [] }
        func flag(_ isOn: Bool) -> [String] { isOn ? [""] : [] }
        return [
            ("capture-format", one(captureFormat)), ("control", control), ("keep-rate", flag(keepRate)),
            ("monitor", one(monitor)), ("window", one(window)), ("region", one(region)), ("no-cursor", flag(noCursor)),
            ("rate", one(rate)), ("loop", flag(loop)), ("start", one(start)), ("end", one(end)),
            ("login", one(login)), ("insecure", flag(insecure)), ("ca-file", one(caFile)),
        ]
    }
}

/// An invalid option: one sentence for the user that says what would be valid.
public struct OptionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The sentence, safe to show on a terminal.
    public let description: String

    /// Makes the sentence.
    ///
    /// - Parameters:
    ///   - option: as it is typed, `--fps`.
    ///   - value: the value that was given; nil when the error is not in one value.
    ///   - message: what is wrong and what would be valid.
    public init(_ option: String, _ value: String? = nil, _ message: String) {
        // The value may be a megabyte long, or contain control characters.
        let shown = value.map { " '\(printable($0, limit: 60))'" } ?? ""
        // The message may quote a part of the value.
        description = "\(option)\(shown): \(printable(message, limit: 500))"
    }
}
