import VideoCapturing

/// What the threads that give frames and the camera's thread exchange.
final class CameraMailbox: Sendable {
    private enum Phase: Hashable {
        case closed, opening, open
    }

    private struct State {
        var phase = Phase.closed
        /// Whether the camera's thread is to end.
        var isEnding = false
        /// Why it could not connect at first.
        var error: CaptureError?
        var frame: VideoFrame?
        var feedback: CaptureFeedback?
        var warn: (@Sendable (String) -> Void)?
        var statistics = PipeWireCamera.Statistics()
    }

    private let state = Locked(State())
    private let wake = WaitEnd()

    /// Readable when there is something new for the camera's thread.
    var descriptor: Int32 { wake.descriptor }

    // MARK: Any thread

    func begin() throws(CaptureError) {
        let isFree = state.withLock { state in
            guard state.phase == .closed else { return false }
            state.phase = .opening
            (state.isEnding, state.error) = (false, nil)
            return true
        }
        guard isFree else {
            throw CaptureError(
                .invalidState, operation: "open a PipeWire camera", message: "It is open already; close it first.")
        }
    }

    func awaitConnection() throws(CaptureError) {
        let limit = MonotonicClock().now + .seconds(10)
        let error = state.wait(until: limit) { $0.phase == .opening ? nil : .some($0.error) }
        switch error {
        case .some(.some(let error)): throw error
        case .some(nil): return
        case nil:
            end()
            throw CaptureError(
                .unavailable, operation: "open a PipeWire camera", subject: "PipeWire",
                message: "The PipeWire server does not answer; restart it with: systemctl --user restart pipewire")
        }
    }

    /// Ends the camera's thread, and waits for it, at most for some seconds.
    func end() {
        let isRunning = state.withLock { state in
            state.isEnding = true
            state.frame = nil
            return state.phase != .closed
        }
        guard isRunning else { return }
        wake.raise()
        _ = state.wait(until: MonotonicClock().now + .seconds(10)) { $0.phase == .closed ? true : nil }
    }

    func put(_ frame: VideoFrame) {
        let isOpen = state.withLock { state in
            guard state.phase == .open, !state.isEnding else { return false }
            state.frame = frame
            return true
        }
        if isOpen { wake.raise() }
    }

    func setFeedback(_ feedback: CaptureFeedback?) {
        let isRead = state.withLock { state in
            state.feedback = feedback
            return state.statistics.isRead
        }
        feedback?.updateWants(CameraMailbox.wants(isRead: isRead))
    }

    func setWarningHandler(_ handler: (@Sendable (String) -> Void)?) { state.withLock { $0.warn = handler } }

    var statistics: PipeWireCamera.Statistics { state.withLock { $0.statistics } }

    // MARK: The camera's thread

    var isEnding: Bool { state.withLock { $0.isEnding } }

    func didConnect() {
        state.withLock { state in
            if state.phase == .opening { state.phase = .open }
        }
        state.wakeAll()
    }

    func didFail(_ error: CaptureError) { state.withLock { $0.error = error } }

    func didEnd() {
        let feedback = state.withLock { state in
            state.phase = .closed
            state.statistics.isRead = false
            state.frame = nil
            return state.feedback
        }
        state.wakeAll()
        feedback?.updateWants(CameraMailbox.wants(isRead: false))
    }

    /// The newest frame, once.
    func take() -> VideoFrame? {
        wake.reset()
        return state.withLock { state in
            defer { state.frame = nil }
            return state.frame
        }
    }

    func count(_ change: (inout PipeWireCamera.Statistics) -> Void) { state.withLock { change(&$0.statistics) } }

    func setRead(_ isRead: Bool) {
        let feedback = state.withLock { state -> CaptureFeedback? in
            guard state.statistics.isRead != isRead else { return nil }
            state.statistics.isRead = isRead
            return state.feedback
        }
        feedback?.updateWants(CameraMailbox.wants(isRead: isRead))
        if isRead { feedback?.requestRefreshFrame() }
    }

    func warn(_ sentence: String) {
        let handler = state.withLock { $0.warn }
        handler?(sentence)
    }

    private static func wants(isRead: Bool) -> CaptureWants {
        CaptureWants(maximumFrameRate: isRead ? nil : FrameRate(1, per: 4), isPassive: !isRead)
    }
}
