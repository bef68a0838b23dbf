public import MediaPublishing
import V4L2Support
public import VideoCapturing

/// An output device of V4L2 as an output of a publisher: a camera for programs that read no PipeWire, by the kernel module
/// v4l2loopback, and the outputs of video cards.
///
/// ```swift
/// try publisher.add(V4L2Output("/dev/video20"))
/// ```
/// The device has NV12 or I420 of the size of the first frame, or of the size that it is fixed to; frames of other sizes are
/// fitted into it. When no frames come (an interruption, a still screen), the last one is shown again five times per second,
/// because programs take a camera that is silent for broken. One output at a time shows frames at a device. Safe to use from
/// any thread.
public final class V4L2Output: MediaOutput {
    /// The path of the device; nil for the first one of v4l2loopback.
    public let device: String?
    private let writer = Locked<DeviceWriter?>(nil)

    public let kind = "v4l2"
    public var name: String { writer.withLock { $0 }?.path ?? device ?? "v4l2" }
    /// Upright frames in NV12 of one size, the newest only.
    public var feed: OutputContext.Feed {
        .frames(.init(pixelFormat: .nv12, queue: .init(capacity: 2, policy: .dropOldest)))
    }

    /// An output that opens nothing yet.
    ///
    /// - Parameter device: the path of the device; nil for the first one of v4l2loopback.
    public init(_ device: String? = nil) { self.device = device }

    /// Opens the device and settles its format.
    ///
    /// - Throws: `CaptureError`: `deviceNotFound`, `permissionDenied`, `deviceBusy` when another program shows frames at it,
    ///   `formatUnsupported` for a device that takes none.
    public func open(_ context: OutputContext) throws -> OutputContext.Destination {
        let made = try DeviceWriter(
            try device ?? V4L2Output.firstLoopback(), context.format, onFailure: context.fail)
        if let warning = made.warning { context.warn(warning) }
        writer.withLock { $0 = made }
        return .consumer(made)
    }

    /// Gives the device back.
    public func close(at end: MediaTime?) { writer.withLock { $0 }?.close() }

    public var outputStatistics: OutputStatistics {
        var result = OutputStatistics(bytes: 0)
        guard let writer = writer.withLock({ $0 }) else { return result }
        let counts = writer.counts
        let frames = counts.shown == 1 ? "1 frame" : "\(counts.shown) frames"
        result.summary = "Showed \(frames) at \(writer.path) (\(writer.card)), dropped \(counts.dropped)."
        result.announcement = "Other programs find the camera as \(writer.card) (\(writer.path))."
        result.details = [
            ("framesShown", .count(counts.shown)), ("framesNotTaken", .count(counts.dropped)),
            ("width", .count(writer.width)), ("height", .count(writer.height)),
        ]
        return result
    }

    private static func firstLoopback() throws(CaptureError) -> String {
        if let found = try loopbacks().first { return found.path }
        throw CaptureError(
            .deviceNotFound, operation: "find an output device",
            message: "There is no device of v4l2loopback. \(advice) A camera of PipeWire needs no kernel module.")
    }

    static let advice =
        "As root: modprobe v4l2loopback exclusive_caps=1 card_label=\"Capturer camera\"."

    /// The devices of v4l2loopback. Nodes of hardware are not opened.
    static func loopbacks() throws(CaptureError) -> [(path: String, card: String)] {
        try VideoNode.all(MachinePlaces()).compactMap { node in
            guard node.hardware.port == nil,
                let opened = try? DeviceNode(opening: node.path, calls: SystemDeviceCalls()),
                opened.capabilities.driver == DeviceWriter.loopbackDriver
            else { return nil }
            return (node.path, opened.capabilities.card)
        }
    }
}

extension Finding {
    /// Whether there is a camera that programs without PipeWire can read, for `doctor`.
    public static func v4l2Output() -> Finding {
        guard let first = (try? V4L2Output.loopbacks())?.first else {
            return Finding(
                "devices", "v4l2loopback", .missing, "no camera for programs that read no PipeWire",
                remedy: V4L2Output.advice)
        }
        return Finding("devices", "v4l2loopback", .ok, "\(first.card) (\(first.path)), for -o v4l2")
    }
}

extension OutputEntry {
    /// A camera of V4L2 for other programs, as `-o v4l2` and `-o v4l2:/dev/video20`.
    public static let v4l2 = OutputEntry(
        name: "v4l2", summary: "a camera by v4l2loopback; v4l2:/dev/video20 names the device",
        needsTarget: false, defaultTarget: "",
        make: { request in V4L2Output(request.target.isEmpty ? nil : request.target) })
}
