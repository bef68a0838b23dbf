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

/// Keeps the changes of one stream of states.
final class StateCollector: Sendable {
    private struct Contents {
        var changes: [CaptureState.Change] = []
        var hasEnded = false
    }

    private let contents: Locked<Contents>
    private let task: Task<Void, Never>

    init(_ stream: AsyncStream<CaptureState.Change>) {
        let contents = Locked(Contents())
        self.contents = contents
        task = Task.detached {
            for await change in stream {
                contents.withLock { $0.changes.append(change) }
                contents.wakeAll()
            }
            contents.withLock { $0.hasEnded = true }
            contents.wakeAll()
        }
    }

    deinit {
        task.cancel()
    }

    var changes: [CaptureState.Change] { contents.withLock { $0.changes } }

    /// Blocks until `condition` holds for the changes; false after `limit`.
    func wait(_ limit: Duration, until condition: ([CaptureState.Change]) -> Bool) -> Bool {
        contents.wait(until: now.advanced(by: limit)) { condition($0.changes) ? () : nil } != nil
    }

    /// Blocks until the stream has ended; false after `limit`.
    func waitForEnd(_ limit: Duration) -> Bool {
        contents.wait(until: now.advanced(by: limit)) { $0.hasEnded ? () : nil } != nil
    }
}

extension CaptureState {
    /// Whether the diagram of `CaptureState` has an arrow from here to there.
    func mayBecome(_ next: CaptureState) -> Bool {
        switch (self, next) {
        case (.idle, .initialized), (.initialized, .starting), (.initialized, .idle), (.starting, .running),
            (.starting, .stopping), (.starting, .stopped), (.running, .interrupted), (.running, .stopping),
            (.running, .stopped), (.interrupted, .running), (.interrupted, .stopping), (.interrupted, .stopped),
            (.stopping, .stopped), (.stopped, .starting), (.stopped, .idle):
            true
        // One cause may take the place of another.
        case (.interrupted(let old), .interrupted(let new)): old != new
        default: false
        }
    }
}

extension [CaptureState.Change] {
    /// The fault of a sequence of changes that begins in `first`; nil without one.
    func fault(from first: CaptureState) -> String? {
        var state = first
        for change in self {
            if change.old != state { return "A change begins in \(change.old), but the state was \(state)." }
            if !change.old.mayBecome(change.new) { return "There is no way from \(change.old) to \(change.new)." }
            state = change.new
        }
        return nil
    }
}
