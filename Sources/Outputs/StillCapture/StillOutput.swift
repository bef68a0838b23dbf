public import MediaPublishing
public import VideoCapturing

/// Stills as an output of a `MediaPublisher`: a photograph, a burst or a time lapse, one file each.
///
/// ```swift
/// try publisher.add(StillOutput("shot-%03d.jpg", configuration: .init(count: 20)))
/// ```
/// It begins with the first frame, and is complete with the last still: then it takes nothing more, while the publisher's
/// other outputs go on. A capture that ends before ends it too; the stills taken by then are written. Safe to use from any
/// thread.
public final class StillOutput: MediaOutput {
    /// What is taken.
    public struct Configuration: Sendable, Hashable {
        /// The number of stills.
        public var count: Int
        /// The time from still to still; nil for that from frame to frame. Of a source that is read as fast as possible,
        /// by the frames' own times.
        public var interval: Duration?
        /// How each still is taken and encoded.
        public var settings: Still.Settings
        /// The controls for each still of a bracket, in place of ``count``; empty for no bracket.
        public var bracket: [CaptureAdjustment]

        /// A configuration; see the properties.
        public init(
            count: Int = 1, interval: Duration? = nil, settings: Still.Settings = Still.Settings(),
            bracket: [CaptureAdjustment] = []
        ) {
            self.count = bracket.isEmpty ? count : bracket.count
            self.interval = interval
            self.settings = settings
            self.bracket = bracket
        }
    }

    /// The path of the files, with a field for the number or the time; see `StillFile`.
    public let pattern: String
    /// What is taken.
    public let configuration: Configuration
    private let overwrites: Bool
    private let run = Locked<StillRun?>(nil)

    /// How long the end waits for a disk that does not answer.
    private static let diskTimeout = Duration.seconds(30)

    /// Stills; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - pattern: the path of the files, as in `shot-%03d.jpg`; a single still needs no number.
    ///   - configuration: the stills to take.
    ///   - overwrites: whether existing files are replaced.
    /// - Throws: ``StillCaptureError`` with `invalidName` and `invalidConfiguration`.
    public init(
        _ pattern: String, configuration: Configuration = Configuration(), overwrites: Bool = false
    ) throws(StillCaptureError) {
        self.pattern = pattern
        self.configuration = configuration
        self.overwrites = overwrites
        guard configuration.count >= 1, configuration.interval.map({ $0 >= .nanoseconds(1) }) ?? true else {
            throw StillCaptureError(
                .invalidConfiguration, operation: "take stills", subject: pattern,
                message: "Choose 1 still or more, and an interval above zero.")
        }
        try configuration.settings.validate()
        guard configuration.isAdjusting == false || configuration.interval == nil,
            configuration.settings.size == nil || configuration.count == 1
        else {
            throw StillCaptureError(
                .invalidConfiguration, operation: "take stills", subject: pattern,
                message: "A bracket has no interval, and a still of another size is a single one; leave one out.")
        }
        // Whether files exist is checked when it is opened.
        _ = try StillFile(pattern, count: configuration.count, overwrites: true)
    }

    /// The pattern.
    public var name: String { pattern }

    /// `stills`.
    public var kind: String { "stills" }

    /// Frames as they are; PNG has red, green and blue.
    public var feed: OutputContext.Feed {
        .frames(.init(pixelFormat: configuration.settings.format == .png ? .argb : nil, isConverted: false))
    }

    /// The path of every still.
    public var paths: [String] {
        // A file with a time in its name replaces none.
        guard let file = try? StillFile(pattern, count: configuration.count, overwrites: true), !file.hasTime else {
            return []
        }
        return (1...configuration.count).map { file.path($0) }
    }

    public func open(_ context: OutputContext) throws -> OutputContext.Destination {
        let file = try StillFile(pattern, count: configuration.count, overwrites: overwrites)
        try file.checkFolder()
        let run = try StillRun(file, configuration, context)
        self.run.withLock { $0 = run }
        return .consumer(run)
    }

    /// Takes no more stills, and waits until those that were taken are written.
    public func close(at end: MediaTime?) throws {
        guard let run = run.withLock({ $0 }) else { return }
        run.end()
        guard run.waitForEnd(until: MonotonicClock().now.advanced(by: StillOutput.diskTimeout)) else {
            throw StillCaptureError(
                .system, operation: "write the still", subject: pattern,
                message: "The disk has not answered for \(StillOutput.diskTimeout); the last stills may be missing. "
                    + "Check the disk.")
        }
    }

    /// Frames of before an interruption are not taken after it.
    public func sourceStateChanged(to state: CaptureState) {
        if case .interrupted = state { run.withLock { $0 }?.interrupt(state) }
    }

    // MARK: Statistics

    public var outputStatistics: OutputStatistics {
        let progress = run.withLock { $0 }?.progress ?? StillRun.Progress()
        let counts = progress.summary
        var result = OutputStatistics(bytes: progress.bytes)
        result.status = "\(progress.written)/\(configuration.count) stills"
        result.summary = summary(progress)
        func milliseconds(_ time: Duration?) -> JSONValue { time.map { .number($0.seconds * 1000) } ?? .null }
        result.details = [
            (
                "stills",
                .object([
                    ("count", .count(configuration.count)), ("written", .count(progress.written)),
                    ("requested", .count(counts.requested)), ("captured", .count(counts.captured)),
                    ("failed", .count(counts.failed)), ("skipped", .count(counts.skipped)),
                ])
            ),
            ("latencyMillisecondsMedian", milliseconds(progress.p50Latency)),
            ("latencyMillisecondsMaximum", milliseconds(progress.maximumLatency)),
        ]
        return result
    }

    private func summary(_ progress: StillRun.Progress) -> String {
        let counts = progress.summary
        let name = printable(pattern, limit: 200)
        guard progress.written > 0 else { return "\(name): no still was written, of \(configuration.count)." }
        var text =
            "\(name): \(progress.written) of \(configuration.count) stills, \(scaled(Double(progress.bytes), "B"))"
        text += "; \(counts.requested) requested, \(counts.captured) captured, \(counts.failed) failed"
        text += ", \(counts.skipped) skipped"
        if let median = progress.p50Latency, let maximum = progress.maximumLatency {
            text += "; from request to file \(milliseconds(median)) ms (median), \(milliseconds(maximum)) ms at most"
        }
        return text + "."
    }
}

extension OutputEntry {
    /// Stills: by the extensions of JPEG and PNG, or as `stills:shot-%d.nv12`.
    public static let stills = OutputEntry(
        name: "stills", summary: "photographs with EXIF; for several, number or time in the name",
        extensions: ["jpg", "jpeg", "png"],
        options: [
            OptionDescription("burst", .text("N"), "takes N stills", default: "1"),
            OptionDescription(
                "burst-interval", .text("TIME"), "time between stills: 500ms, 10", default: "every frame"),
            OptionDescription(
                "still-bracket", .text("NAME=V,V"), "a still for each value: exposure=-2,0,2 in stops, gain=0,64",
                default: "none"),
            OptionDescription(
                "still-size", .text("WxH"),
                "size of one still, in another mode of the camera; other outputs pause meanwhile",
                default: "the stream's"),
            OptionDescription("still-quality", .text("N"), "quality of JPEG stills, 1 to 100", default: "90"),
            OptionDescription(
                "still-orientation", .choice(Still.Settings.OrientationHandling.allCases.map(\.rawValue)),
                "whether EXIF states the rotation, or the pixels are rotated", default: "written"),
            OptionDescription(
                "still-exif", .choice(["yes", "no"]), "time, camera and size in the files", default: "yes"),
        ],
        make: { request throws(OptionError) in
            let configuration = try StillOutput.Configuration(request)
            do throws(StillCaptureError) {
                return try StillOutput(request.target, configuration: configuration, overwrites: request.overwrites)
            } catch {
                throw OptionError("output", request.target, error.message)
            }
        })
}
