import DesktopPortal
public import VideoCapturing

/// A capture of a screen or a window of a Wayland session, by the desktop portal and PipeWire. The user chooses which one
/// in a dialog of the desktop.
///
/// ```swift
/// let capture = WaylandScreenCapturer(.init(consentFile: "/home/me/.local/state/my-program/screen"))
/// capture.videoCaptureConsumer = encoder
/// try capture.initCapture()
/// try capture.startCapture()
/// ```
///
/// **Frames** come when something has changed, at most at the configured rate; a still screen costs nothing. The `damage`
/// of each states the difference from the previous one where the desktop says it, as wlroots does; only that is converted.
/// The size changes with the mode of the monitor and the size of the window.
///
/// **Changes.** When the portal, the compositor or PipeWire ends, the state is `interrupted` until they are back; the
/// capture then goes on without a dialog if the desktop remembers the consent. When the user ends the sharing, or closes
/// the window, the capture stops with `deviceLost`.
///
/// **Errors** of `initCapture`, which waits up to two minutes for the user: `permissionDenied` when the user cancels,
/// `unavailable` without a portal or without its backend for screens, `deviceNotFound` for sources that the desktop does
/// not share, `formatUnsupported`.
///
/// The portal: <https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.ScreenCast.html>.
public final class WaylandScreenCapturer: ForwardingVideoCapture {
    public let forwardedCapture: SourceCapturer

    /// The configuration of the capture.
    public let configuration: WaylandScreenCapturer.Configuration
    private let counts = Locked(PipeWireCapturer.Statistics())
    private let events = Locked<(@Sendable (PipeWireCapturer.Event) -> Void)?>(nil)

    /// Creates a capture without connecting; `initCapture` connects.
    ///
    /// - Parameters:
    ///   - configuration: what may be chosen, the rate and the format.
    ///   - clock: the clock of the timestamps.
    public init(
        _ configuration: WaylandScreenCapturer.Configuration = WaylandScreenCapturer.Configuration(),
        clock: any CaptureClock = MonotonicClock()
    ) {
        self.configuration = configuration
        let node = PipeWireCapturer.Configuration(
            frameRate: configuration.frameRate, pixelFormat: configuration.pixelFormat,
            reconnects: configuration.reconnects)
        forwardedCapture = SourceCapturer(
            PipeWireSource(node, counts: counts, events: events, screen: ScreenCast(configuration)), name: "screen",
            clock: clock, openTimeout: ScreenCastPortal.choiceTimeout + .seconds(60))
    }

    /// Statistics of the screen's node, in addition to `VideoCapture.statistics`.
    public var pipeWireStatistics: PipeWireCapturer.Statistics { counts.withLock { $0 } }

    /// Sets the handler that is called with the events of the screen.
    ///
    /// It is called on the capture thread: it must return soon and must not start, stop or release the capture.
    public func setEventHandler(_ handler: (@Sendable (PipeWireCapturer.Event) -> Void)?) {
        events.withLock { $0 = handler }
    }
}

extension WaylandScreenCapturer {
    /// The configuration of a ``WaylandScreenCapturer``.
    public struct Configuration: Sendable, Hashable {
        /// What the user may choose.
        public var target: WaylandScreenCapturer.Configuration.Target
        /// Whether the pointer is in the frames, where the desktop can do both.
        public var showsPointer: Bool
        /// The file that keeps the user's consent, so that the desktop asks only once; only its owner can read it. Its
        /// folder is made. Nil to be asked each time.
        public var consentFile: String?
        /// The maximum rate. Fewer frames are delivered when less changes.
        public var frameRate: FrameRate
        /// The format of the frames: NV12, I420 or ARGB.
        public var pixelFormat: PixelFormat
        /// Whether to wait for a desktop, a portal or a PipeWire server that has gone, and to continue when it is back;
        /// otherwise the capture stops with `deviceLost`.
        public var reconnects: Bool

        /// Creates a configuration; see the properties.
        public init(
            target: WaylandScreenCapturer.Configuration.Target = .any, showsPointer: Bool = true,
            consentFile: String? = nil, frameRate: FrameRate = 30, pixelFormat: PixelFormat = .nv12,
            reconnects: Bool = true
        ) {
            self.target = target
            self.showsPointer = showsPointer
            self.consentFile = consentFile
            self.frameRate = frameRate
            self.pixelFormat = pixelFormat
            self.reconnects = reconnects
        }

        /// What the dialog of the desktop offers.
        public enum Target: Sendable, Hashable {
            /// All that the desktop can share.
            case any
            /// Monitors.
            case monitor
            /// Windows, where the desktop can share them.
            case window
        }
    }
}
