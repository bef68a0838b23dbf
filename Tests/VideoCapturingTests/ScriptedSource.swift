import CapturerTestKit
import VideoCapturing

/// A source of tiny pictures whose behaviour a test gives as closures, called on the capture thread.
struct ScriptedSource: FrameSource {
    var settings = CaptureSettings(format: VideoFormat(.i420, width: 2, height: 2, estimatedFramesPerSecond: 500))
    var pacing: FramePacing = .rate(500)
    var onOpen: @Sendable () throws -> Void = {}
    var onStart: @Sendable (FrameContext) throws -> Void = { _ in }
    /// Called with the number of the frame, over all starts; false ends the stream.
    var onFrame: @Sendable (FrameContext, Int, inout SourceFrame) throws -> Bool = { _, _, _ in true }
    var onStop: @Sendable () -> Void = {}
    var onClose: @Sendable () -> Void = {}
    private var index = 0

    init(pacing: FramePacing = .rate(500)) {
        self.pacing = pacing
    }

    func open() throws { try onOpen() }
    func start(_ context: FrameContext) throws { try onStart(context) }
    func stop() { onStop() }
    func close() { onClose() }

    mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        var frame = try context.makeFrame(settings.format) { $0.fill(plane: 0, with: 1) }
        defer { index += 1 }
        return try onFrame(context, index, &frame) ? frame : nil
    }
}

/// What one stream of changes tells, until the capture is idle again.
func changesOfOneLife(_ stream: AsyncStream<CaptureState.Change>) async -> [CaptureState.Change] {
    var changes: [CaptureState.Change] = []
    for await change in stream {
        changes.append(change)
        if change.new == .idle { break }
    }
    return changes
}

let lost = CaptureError(.deviceLost, operation: "read", message: "Plug it in again.")
let broken = CaptureError(.system, operation: "read", errno: 5, message: "Check the cable.")
