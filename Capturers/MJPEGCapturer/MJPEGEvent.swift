import VideoCapturing

/// Something that a user of a network camera wants to know while it runs. Its description is one sentence for people.
///
/// What interrupts the frames is also a state of the capture; see `VideoCapture.stateChanges()`.
public enum MJPEGEvent: Sendable, Hashable {
    /// The first picture of a connection came. `isPolled`: the address gives single pictures, which are asked for one
    /// after the other.
    case connected(width: Int, height: Int, isPolled: Bool)
    /// The connection is lost, for this reason.
    case disconnected(reason: String)
    /// It will be tried again after this time; `attempt` counts from 1 since the loss.
    case waiting(Duration, attempt: Int)
    /// An attempt has failed, for this reason.
    case attemptFailed(reason: String, attempt: Int)
    /// Pictures come again.
    case reconnected(attempts: Int)
}

extension MJPEGEvent: CustomStringConvertible {
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
    /// With one decimal at most, for people.
    var formatted: String {
        let tenths = Int((self * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
}
