public import VideoCapturing

/// A window that shows a capture, on an X11 display, or with `SDLPreview` on Wayland.
///
/// ```swift
/// let preview = try WindowPreview { event in
///     if case .quit = event { … }
/// }
/// try preview.attach(to: publisher)
/// ```
/// The window shows the newest frame. The capture is never delayed; frames not drawn in time are replaced and counted. Frames are
/// shown upright, in their aspect, with black around them. Nothing is drawn while nothing changes.
///
/// Keys: `f` full screen, Esc leaves it; space pauses; `s` wants a still image; `i` shows statistics; `q` wants to quit.
/// Closing the window and losing the display end this output alone; ``WindowPreview/Event`` reports both.
///
/// A separate thread owns the connection to the display. Safe to use from any thread.
public final class WindowPreview: InlineConsumer, FeedbackConsumer {
    /// The configuration that it was made with.
    public let configuration: WindowPreview.Configuration

    private let state: PreviewState

    /// Connects to the display. Blocks until that has succeeded or failed, at most ten seconds.
    ///
    /// - Parameters:
    ///   - configuration: where and how to show frames.
    ///   - onEvent: called with each event, on the window's thread; it should return soon, since nothing is drawn
    ///     meanwhile. It may close the preview.
    /// - Throws: `deviceNotFound` without a display, `unavailable` in a Wayland session without an X server where only X11
    ///   is a backend and for displays with few colors, `permissionDenied`, `invalidConfiguration`, `stalled` when the
    ///   display does not answer, `system`.
    public init(
        configuration: WindowPreview.Configuration = WindowPreview.Configuration(),
        onEvent: @escaping @Sendable (WindowPreview.Event) -> Void = { _ in }
    ) throws(CaptureError) {
        self.configuration = configuration
        if let size = configuration.size, !size.isValid {
            throw CaptureError(
                .invalidConfiguration, operation: "open a window", subject: "\(size)",
                message: "Each side of a window has 1 to \(VideoFormat.maximumSide) pixels.")
        }
        state = try Backend.start(configuration, onEvent: onEvent)
    }

    deinit { close() }

    /// Adds the preview to a publisher. It removes itself when its window is closed or its display is lost.
    ///
    /// - Parameters:
    ///   - publisher: whose frames to show.
    ///   - name: the name in the statistics.
    /// - Returns: the subscription, by which to remove it.
    /// - Throws: the errors of `VideoPublisher.add`.
    @discardableResult
    public func attach(
        to publisher: VideoPublisher, name: String = "window"
    ) throws(CaptureError) -> PublisherSubscription {
        let subscription = try publisher.add(self, name: name, queue: .init(capacity: 1, policy: .dropOldest))
        state.attach(publisher, subscription)
        return subscription
    }

    /// Closes the window. When it returns the window has gone, unless the display does not answer or the call comes from
    /// the event handler. No event follows. Does nothing when it has ended already.
    public func close() { state.close() }

    /// Whether frames can be shown: false once the window was closed or the display was lost.
    public var isOpen: Bool { state.isOpen }

    /// The counters so far.
    public var statistics: WindowPreview.Statistics { state.statistics }

    // MARK: The capture

    /// Takes a frame, in place of one that is not drawn yet. Does not wait for the display.
    public func consumeFrame(_ frame: VideoFrame) { state.offer(frame) }

    /// Takes a frame, in place of one that is not drawn yet. Does not wait for the display.
    ///
    /// - Returns: true.
    public func consumeInline(_ frame: VideoFrame) -> Bool {
        state.offer(frame)
        return true
    }

    /// Sets where the preview reports its wants, on its own thread: as many pixels as its window shows, and one frame per
    /// second while it is paused or hidden. A publisher calls it.
    public func connectFeedback(_ feedback: CaptureFeedback?) { state.connectFeedback(feedback) }
}
