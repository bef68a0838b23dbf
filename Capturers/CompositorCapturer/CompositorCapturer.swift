import FrameProcessing
public import VideoCapturing

/// A capture of a monitor of a Wayland session, asked of the compositor itself: no dialog, no portal, no PipeWire. For
/// kiosks and for programs that choose a monitor or a part of it by name.
///
/// ```swift
/// let capture = CompositorCapturer(.init(monitor: "HDMI-A-1"))
/// capture.videoCaptureConsumer = encoder
/// try capture.initCapture()
/// try capture.startCapture()
/// ```
///
/// Compositors of wlroots allow it, such as sway, labwc, cage and Hyprland; GNOME and KDE do not, there
/// `WaylandScreenCapturer` of `PipeWireCapturer` captures screens.
///
/// **Frames** come when something has changed, at most at the configured rate; a still screen costs nothing. Their `damage`
/// states the difference from the previous one, and only that is converted. Their timestamp is the compositor's. Rotated
/// monitors give frames with that orientation. The size changes with the mode of the monitor.
///
/// **Changes.** While the monitor is off or unplugged, or the compositor has ended, the state is `interrupted`; the capture
/// goes on when it is back.
///
/// **Errors** of `initCapture`: `unavailable` without a compositor that allows it, and for a monitor that is off;
/// `deviceNotFound` for a monitor that is not there, `invalidConfiguration` for a region outside of it.
///
/// The protocol: <https://wayland.app/protocols/wlr-screencopy-unstable-v1>.
public final class CompositorCapturer: ForwardingVideoCapture {
    public let forwardedCapture: SourceCapturer

    /// The configuration of the capture.
    public let configuration: CompositorCapturer.Configuration
    private let events = Locked<(@Sendable (CompositorCapturer.Event) -> Void)?>(nil)

    /// Creates a capture without connecting; `initCapture` connects.
    ///
    /// - Parameters:
    ///   - configuration: the monitor, the rate and the format.
    ///   - clock: the clock of the timestamps.
    public init(
        _ configuration: CompositorCapturer.Configuration = CompositorCapturer.Configuration(),
        clock: any CaptureClock = MonotonicClock()
    ) {
        self.configuration = configuration
        forwardedCapture = SourceCapturer(
            CompositorSource(configuration, events: events), name: "screen", clock: clock)
    }

    /// Sets the handler that is called with the events of the screen.
    ///
    /// It is called on the capture thread: it must return soon and must not start, stop or release the capture.
    public func setEventHandler(_ handler: (@Sendable (CompositorCapturer.Event) -> Void)?) {
        events.withLock { $0 = handler }
    }
}

extension CompositorCapturer {
    /// The configuration of a ``CompositorCapturer``.
    public struct Configuration: Sendable, Hashable {
        /// The compositor's socket, such as `wayland-1`; nil for that of the environment variable `WAYLAND_DISPLAY`.
        public var display: String?
        /// The name of the monitor, such as `HDMI-A-1`; nil for the first one.
        public var monitor: String?
        /// The part of the monitor that is captured, in the compositor's logical pixels; nil for all of it.
        public var region: PixelRect?
        /// Whether the pointer is drawn into the frames.
        public var showsPointer: Bool
        /// The maximum rate. Fewer frames are delivered when less changes.
        public var frameRate: FrameRate
        /// The format of the frames: NV12, I420 or ARGB.
        public var pixelFormat: PixelFormat
        /// Whether to wait for a monitor or a compositor that has gone, and to continue when it is back; otherwise the
        /// capture stops with `deviceLost`.
        public var reconnects: Bool

        /// Creates a configuration; see the properties.
        public init(
            display: String? = nil, monitor: String? = nil, region: PixelRect? = nil, showsPointer: Bool = true,
            frameRate: FrameRate = 30, pixelFormat: PixelFormat = .nv12, reconnects: Bool = true
        ) {
            self.display = display
            self.monitor = monitor
            self.region = region
            self.showsPointer = showsPointer
            self.frameRate = frameRate
            self.pixelFormat = pixelFormat
            self.reconnects = reconnects
        }

        /// Throws `formatUnsupported` or `invalidConfiguration` for a value that is out of range.
        func validate() throws(CaptureError) { try ScreenFrameMaker.check(pixelFormat, region) }
    }

    /// What a capture reports while it runs. Cases may be added.
    public enum Event: Sendable, Hashable, CustomStringConvertible {
        /// The compositor has ended; the capture waits for it.
        case compositorLost
        /// The monitor, by its name, has gone; the capture waits for it.
        case monitorLost(String)
        /// Frames come again.
        case returned

        /// A sentence for the user.
        public var description: String {
            switch self {
            case .compositorLost: "The compositor has gone; waiting for it."
            case .monitorLost(let name): "The monitor \(printable(name, limit: 60)) has gone; waiting for it."
            case .returned: "The frames come again."
            }
        }
    }
}
