public import MediaPublishing
public import VideoCapturing

/// A camera for other programs as an output of a publisher: a ``PipeWireCamera`` that is offered with the run.
///
/// ```swift
/// try publisher.add(PipeWireOutput(PipeWireCamera.Configuration(name: "My camera")))
/// ```
/// The node goes with the end of the run. Safe to use from any thread.
public final class PipeWireOutput: MediaOutput {
    /// The camera's name, rate and server.
    public let configuration: PipeWireCamera.Configuration
    private let camera = Locked<PipeWireCamera?>(nil)

    public let kind = "pipewire"
    public var name: String { "pipewire:\(configuration.name)" }
    /// Upright frames in NV12 of one size, the newest only.
    public var feed: OutputContext.Feed {
        .frames(.init(pixelFormat: .nv12, queue: .init(capacity: 2, policy: .dropOldest)))
    }

    /// An output that offers nothing yet.
    public init(_ configuration: PipeWireCamera.Configuration = PipeWireCamera.Configuration()) {
        self.configuration = configuration
    }

    /// Connects to the PipeWire server; the node appears with the first frame.
    ///
    /// - Throws: the errors of ``PipeWireCamera/open()``.
    public func open(_ context: OutputContext) throws -> OutputContext.Destination {
        var own = configuration
        if let rate = context.format.estimatedFramesPerSecond { own.frameRate = rate }
        let made = PipeWireCamera(own)
        made.setWarningHandler(context.warn)
        try made.open()
        camera.withLock { $0 = made }
        return .consumer(made)
    }

    /// Takes the camera away.
    public func close(at end: MediaTime?) { camera.withLock { $0 }?.close() }

    /// What the camera has done so far.
    public var statistics: PipeWireCamera.Statistics { camera.withLock { $0 }?.statistics ?? .init() }

    public var outputStatistics: OutputStatistics {
        let report = statistics
        var result = OutputStatistics(bytes: 0)
        result.status = report.isRead ? "in use" : "not in use"
        let frames = report.framesSent == 1 ? "1 frame" : "\(report.framesSent) frames"
        result.summary = "Showed \(frames) as the PipeWire camera \(configuration.name)."
        result.announcement =
            "Other programs find the camera as \(configuration.name) (node \(configuration.nodeName))."
        result.details = [
            ("isRead", .bool(report.isRead)), ("framesSent", .count(report.framesSent)),
            ("framesRepeated", .count(report.framesRepeated)), ("framesDropped", .count(report.framesDropped)),
            ("connectionsLost", .count(report.connectionsLost)),
        ]
        return result
    }
}

extension OutputEntry {
    /// A camera for other programs, as `-o pipewire` and `-o pipewire:NAME`.
    public static let pipeWire = OutputEntry(
        name: "pipewire", summary: "a camera for other programs; pipewire:NAME names it",
        needsTarget: false, defaultTarget: PipeWireCamera.Configuration().name,
        make: { request in PipeWireOutput(PipeWireCamera.Configuration(name: request.target)) })
}
