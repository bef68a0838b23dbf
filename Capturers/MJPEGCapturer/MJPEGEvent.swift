import VideoCapturing

extension MJPEGCapturer {
    /// An event of a running network camera. Its description is one sentence for the user.
    ///
    /// An interruption is also a state of the capture; see `VideoCapture.stateChanges()`.
    public enum Event: Sendable, Hashable {
        /// The first frame of a connection has arrived. `isPolled`: the address is a single image, which is polled.
        case connected(width: Int, height: Int, isPolled: Bool)
        /// The connection is lost, for the given reason.
        case disconnected(reason: String)
        /// Reconnecting after the given time; `attempt` counts from 1 since the loss.
        case waiting(Duration, attempt: Int)
        /// An attempt to reconnect has failed, for the given reason.
        case attemptFailed(reason: String, attempt: Int)
        /// Frames arrive again.
        case reconnected(attempts: Int)
    }
}

extension MJPEGCapturer.Event: CustomStringConvertible {
    public var description: String {
        switch self {
        case .connected(let width, let height, let isPolled):
            isPolled
                ? "The address gives single pictures of \(width)x\(height), which are asked for one by one."
                : "The stream has begun, with pictures of \(width)x\(height)."
        case .disconnected(let reason): "The stream is interrupted: \(reason)"
        case .waiting(let time, let attempt):
            "Trying to connect again in \(time.seconds.formatted) s (attempt \(attempt))."
        case .attemptFailed(let reason, let attempt): "Attempt \(attempt) to connect again failed: \(reason)"
        case .reconnected(let attempts):
            attempts == 1 ? "The stream is back." : "The stream is back after \(attempts) attempts."
        }
    }
}

extension Double {
    /// A number of seconds with at most one decimal, for display; clamped to the range of a `Duration`'s nanoseconds.
    var formatted: String {
        let tenths = Duration(clampingNanoseconds: (self * 10).rounded() * 1e8).nanoseconds / 100_000_000
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths.magnitude % 10)"
    }
}
