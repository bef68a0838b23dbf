import VideoCapturing

/// Notes how, when and where each frame comes.
final class ProbeConsumer: VideoCaptureConsumer {
    /// One call of `consumeFrame`.
    struct Call: Sendable {
        /// The frame without its pixels' memory being held.
        var timestamp: MediaTime
        var sequenceNumber: UInt64
        var width: Int
        var height: Int
        var pixelFormat: PixelFormat
        var color: ColorDescription
        var frameRate: FrameRate?
        var arrival: MediaTime
        var thread: Int32
        var isInTask: Bool
        /// On the main thread, or as the main queue: some programs hand that to another thread.
        var isMain: Bool
    }

    private struct Contents {
        var calls: [Call] = []
        var entered = 0
        var left = 0
        var haveOverlapped = false
    }

    /// Enough for every check; beyond it the probe slows the source down a little.
    private static let callLimit = 4000
    private let contents = Locked(Contents())
    private let delay: Duration
    private let action: (@Sendable (VideoFrame, Int) -> Void)?

    /// - Parameters:
    ///   - delay: how long each call takes.
    ///   - action: done within each call, with the number of the call from 0.
    init(delay: Duration = .zero, action: (@Sendable (VideoFrame, Int) -> Void)? = nil) {
        self.delay = delay
        self.action = action
    }

    var calls: [Call] { contents.withLock { $0.calls } }
    /// Calls that have returned, but for their last instructions.
    var count: Int { contents.withLock { $0.left } }
    /// Calls that have begun.
    var entered: Int { contents.withLock { $0.entered } }
    var isRunning: Bool { contents.withLock { $0.entered != $0.left } }
    var haveCallsOverlapped: Bool { contents.withLock { $0.haveOverlapped } }

    func consumeFrame(_ frame: VideoFrame) {
        let call = Call(
            timestamp: frame.timestamp, sequenceNumber: frame.sequenceNumber, width: frame.width,
            height: frame.height, pixelFormat: frame.pixelFormat, color: frame.color,
            frameRate: frame.estimatedFrameRate, arrival: now, thread: ThreadInspection.currentIdentifier,
            isInTask: withUnsafeCurrentTask { $0 != nil }, isMain: ThreadInspection.isOnMain)
        let number = contents.withLock { contents in
            contents.entered += 1
            if contents.entered - contents.left > 1 { contents.haveOverlapped = true }
            if contents.calls.count < ProbeConsumer.callLimit { contents.calls.append(call) }
            return contents.entered - 1
        }
        action?(frame, number)
        if delay > .zero { pause(delay) }
        if number >= ProbeConsumer.callLimit { pause(.milliseconds(1)) }
        contents.withLock { $0.left += 1 }
        contents.wakeAll()
    }

    func waitForFrames(_ count: Int, until limit: MediaTime) -> Bool {
        contents.wait(until: limit) { $0.left >= count ? () : nil } != nil
    }
}
