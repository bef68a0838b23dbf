public import MediaPublishing
public import VideoCapturing

/// A window as an output of a publisher: a ``WindowPreview`` that opens with the run.
///
/// ```swift
/// try publisher.add(WindowOutput())
/// ```
/// Closing the window, and `q`, complete this output alone; losing the display is its failure. A still image that is
/// wanted (`s`) is asked of the publisher (`MediaPublisher.takeStill()`). Safe to use from any thread.
public final class WindowOutput: MediaOutput {
    /// Where and how it shows frames.
    public let configuration: WindowPreview.Configuration
    private let preview = Locked<WindowPreview?>(nil)

    /// An output that opens no window yet.
    public init(configuration: WindowPreview.Configuration = WindowPreview.Configuration()) {
        self.configuration = configuration
    }

    /// `window`.
    public var name: String { "window" }

    /// `window`.
    public var kind: String { "window" }

    /// Frames as they are, the newest only.
    public var feed: OutputContext.Feed {
        .frames(.init(isConverted: false, queue: .init(capacity: 1, policy: .dropOldest)))
    }

    /// Connects to the display; the window appears with the first frame.
    ///
    /// - Throws: the errors of ``WindowPreview``.
    public func open(_ context: OutputContext) throws -> OutputContext.Destination {
        let preview = try WindowPreview(configuration: configuration) { [weak self] event in
            switch event {
            case .quit:
                context.complete()
                self?.close(at: nil)
            case .closed: context.complete()
            case .failed(let error): context.fail(error)
            case .still: context.requestStill()
            case .paused, .fullScreen, .statistics: break
            }
        }
        self.preview.withLock { $0 = preview }
        return .consumer(preview)
    }

    /// Closes the window.
    public func close(at end: MediaTime?) { preview.withLock { $0 }?.close() }

    public var outputStatistics: OutputStatistics {
        var result = OutputStatistics(bytes: 0)
        guard let report = preview.withLock({ $0 })?.statistics else { return result }
        let frames = report.framesShown == 1 ? "1 frame" : "\(report.framesShown) frames"
        result.summary = "Showed \(frames) in a window; newer ones replaced \(report.framesReplaced)."
        result.details = [
            ("framesShown", .count(report.framesShown)), ("framesReplaced", .count(report.framesReplaced)),
            ("framesUnchanged", .count(report.framesUnchanged)), ("framesFailed", .count(report.framesFailed)),
            ("width", report.windowSize.map { .integer(Int64($0.width)) } ?? .null),
            ("height", report.windowSize.map { .integer(Int64($0.height)) } ?? .null),
            ("latencyMillisecondsMedian", report.p50Latency.map { .number($0.seconds * 1000) } ?? .null),
            ("latencyMilliseconds99", report.p99Latency.map { .number($0.seconds * 1000) } ?? .null),
        ]
        return result
    }
}

extension OutputEntry {
    /// A window of X11, as `window`.
    public static let window = window(backends: [.x11])

    /// A window, as `window`.
    ///
    /// - Parameter backends: the window systems to open it on, in the order of preference; where there are several, an option
    ///   chooses one.
    public static func window(backends: [WindowPreview.Backend]) -> OutputEntry {
        var options = [
            // As of what captures X displays, of which it is the same.
            OptionDescription("display", .text("NAME"), "the X display, such as :0", default: "$DISPLAY"),
            .flag("full-screen", "opens the window in full screen"),
            .flag("mirror", "swaps left and right in the window"),
        ]
        if backends.count > 1 {
            options.append(
                OptionDescription(
                    "backend", .choice(backends.map(\.name)), "the library that opens the window",
                    default: backends.map { "\($0.name) with $\($0.variable)" }.joined(separator: ", else ")))
        }
        return OutputEntry(
            name: "window", summary: "a window; keys: f full screen, space pause, s still, i statistics, q ends it",
            options: options, needsTarget: false, hasKeys: true,
            make: { (request) throws(OptionError) in
                var configuration = WindowPreview.Configuration(request)
                configuration.backends = backends
                if let backend = try request.options.choice("backend", backends.map { ($0.name, $0) }) {
                    configuration.backends = [backend]
                }
                return WindowOutput(configuration: configuration)
            })
    }
}

extension WindowPreview.Configuration {
    /// The configuration that the options of ``OutputEntry/window`` describe.
    init(_ request: OutputEntry.Request) {
        self.init(
            display: request.options["display"], title: "capturer-demo",
            mirrors: request.options.contains("mirror") ? true : nil,
            isFullScreen: request.options.contains("full-screen"))
    }
}
