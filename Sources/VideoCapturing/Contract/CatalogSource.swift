/// A capture that a ``CapturerEntry`` has made, and what a program shows and decides that knows no more of it.
///
/// ```swift
/// var source = CatalogSource(capture)
/// source.explanation = { capture.decision?.lines ?? [] }
/// ```
public struct CatalogSource: Sendable {
    /// The capture, not initialized yet.
    public var capture: any VideoCapture
    /// Whether it plays a recording: its timestamps are those of the recording, and its rate may be an average.
    public var isRecording = false
    /// Whether it makes frames as fast as consumers accept them, so that their timestamps mean nothing.
    public var isMadeOnDemand = false
    /// Whether it gives no frames while nothing changes, as a screen does.
    public var isDrivenByChanges = false
    /// The path of the file that it reads, `-` for standard input; nil for other sources. No output must be that file.
    public var inputPath: String?
    /// Sets the handler that gets events as sentences for the user: lost, found again. It is called on any thread and
    /// must return soon.
    public var setNoticeHandler: @Sendable (_ handler: @escaping @Sendable (String) -> Void) -> Void = { _ in }
    /// Called after `initCapture`: compares the options with the opened source. Throws `OptionError`.
    public var checkOptions: @Sendable () throws -> Void = {}
    /// After `initCapture`: how it chose what it delivers, as lines for the user.
    public var explanation: @Sendable () -> [String] = { [] }
    /// The progress of the playback; nil for a source without an end.
    public var progress: @Sendable () -> PlaybackProgress? = { nil }
    /// After a failed `initCapture`: whether unsupported formats and invalid configurations are the fault of the input
    /// that was named, rather than of other options.
    public var isInputAtFault: @Sendable () -> Bool = { false }

    /// A capture with nothing else to say; see the properties.
    public init(_ capture: any VideoCapture) {
        self.capture = capture
    }
}
