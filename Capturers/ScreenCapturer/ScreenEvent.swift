import VideoCapturing

extension ScreenCapturer {
    /// What a screen capture reports while it runs. Cases may be added.
    public enum Event: Sendable, Hashable {
        /// The capture waits for the user to click on a window.
        case waitingForClick
        /// The X server has ended or does not answer; the capture waits for it.
        case serverLost
        /// The X server is back, and frames go on.
        case serverReturned
    }

    /// Sets the handler that is called with the events of the screen.
    ///
    /// It is called on the capture thread: it must return soon and must not start, stop or release the capture.
    public func setEventHandler(_ handler: (@Sendable (ScreenCapturer.Event) -> Void)?) {
        events.withLock { $0 = handler }
    }

    /// The handler of events; nil for none.
    typealias EventHandler = @Sendable (ScreenCapturer.Event) -> Void
}

extension ScreenCapturer.Event: CustomStringConvertible {
    /// A sentence for the user.
    public var description: String {
        switch self {
        case .waitingForClick: "Click on the window to capture, or on the background for the whole screen."
        case .serverLost: "The X server has gone; waiting for it."
        case .serverReturned: "The X server is back."
        }
    }
}
