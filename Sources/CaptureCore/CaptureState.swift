/// The state of a capture.
///
/// ```
/// idle ─init─▶ initialized ─start─▶ starting ─▶ running ◀─▶ interrupted
///   ▲              │                   ▲  │        │             │
///   │              │                   │  ▼        ▼             ▼
///   └───release────┴──── stopped ◀─────┼──────── stopping ◀──────┘
///                           └──start───┘
/// ```
/// A capture that ends on its own account (end of stream, device lost, error) goes to stopped without stopping.
public enum CaptureState: Sendable, Hashable {
    /// Nothing is acquired; where every capture begins, and where release leads.
    case idle
    /// The device is acquired and its settings are known.
    case initialized
    /// Start was called; the device is being made to stream.
    case starting
    /// Frames come.
    case running
    /// No frames come for now, and the capture resumes automatically when the cause has passed.
    case interrupted(CaptureState.InterruptionReason)
    /// Stop was called; the last frame is in flight.
    case stopping
    /// No frames come until the next start.
    case stopped(CaptureState.StopReason)
}

extension CaptureState {
    /// Why a capture delivers no frames for now.
    public enum InterruptionReason: Sendable, Hashable {
        /// The device was unplugged; it is waited for.
        case deviceDisconnected
        /// The device is in use by another program; it is waited for.
        case deviceBusy
        /// No frames come although the device is there; it is being restarted.
        case stalled
        /// The device is there, but has no signal at its input.
        case noSignal
        /// The application has paused the capture, and lets it go on when it likes.
        case paused
        /// Anything else, in words for a person.
        case other(String)
    }
}

extension CaptureState {
    /// Why a capture has stopped.
    public enum StopReason: Sendable, Hashable {
        /// Stop or release was called.
        case user
        /// The source has no more frames.
        case endOfStream
        /// The device has gone and is not waited for.
        case deviceLost(CaptureError)
        /// Anything else went wrong.
        case error(CaptureError)

        /// The error beneath, if there is one.
        public var error: CaptureError? {
            switch self {
            case .user, .endOfStream: nil
            case .deviceLost(let error), .error(let error): error
            }
        }
    }
}

extension CaptureState {
    /// One step in the life of a capture.
    public struct Change: Sendable, Hashable {
        /// Who or what made the state change.
        public enum Reason: Sendable, Hashable {
            /// A call of the application.
            case requested
            /// The source, which has begun, resumed or run out.
            case source
            /// A failure.
            case failure(CaptureError)
        }

        public var old: CaptureState
        public var new: CaptureState
        public var reason: Reason

        public init(old: CaptureState, new: CaptureState, reason: Reason) {
            self.old = old
            self.new = new
            self.reason = reason
        }
    }
}

/// The life of a capture, whatever it delivers: `VideoCapture`, `AudioCapture` and `PacketCapture` state it in their
/// contracts, with the threads and the errors.
public protocol CaptureLifeCycle: AnyObject, Sendable {
    /// Acquires the source and settles what it will deliver. Blocks until that is done.
    func initCapture() throws(CaptureError)
    /// Begins to deliver. Blocks until the source delivers or has refused.
    func startCapture() throws(CaptureError)
    /// Ends the delivery. When it has returned, no call of the consumer is running and none will come.
    func stopCapture() throws(CaptureError)
    /// Stops if necessary, and releases the source.
    func releaseCapture()
    /// Whether it delivers or is about to: starting, running or interrupted.
    var isCaptureStarted: Bool { get }
    /// The state now.
    var state: CaptureState { get }
    /// A separate stream of all changes of state from now on. It ends when the capture is destroyed.
    func stateChanges() -> AsyncStream<CaptureState.Change>
}
