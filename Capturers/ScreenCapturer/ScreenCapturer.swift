import VideoCapturing

/// A capture of an X11 screen, a monitor, a window or a region: only changes cost.
///
/// ```swift
/// let capture = ScreenCapturer(ScreenCapturer.Configuration(target: .monitor("primary"), frameRate: 15))
/// capture.videoCaptureConsumer = encoder
/// try capture.initCapture()
/// try capture.startCapture()
/// ```
///
/// **Frames** are delivered when something has changed, and at most at the configured rate; the first one after a start
/// immediately. The `damage` of each states the difference from the previous one; only that is fetched from the X server
/// (into shared memory where possible) and converted. While nothing changes there is no frame and no work: let the
/// publisher repeat the last one (`VideoPublisher.minimumFrameRate`) where a consumer needs a minimum rate. Delivered
/// frames do not change.
///
/// **Changes.** A window is captured also where others cover it, and followed when it moves; after a change of the size of
/// the window or the mode of the display, frames have the new size, the first of them without damage. While a window is
/// hidden the state is `interrupted`; when it is closed the capture stops with `deviceLost`. When the X server exits, the
/// state is `interrupted` until it is back.
///
/// **Errors** of `initCapture`: `deviceNotFound` for a display, monitor or window that does not exist,
/// `permissionDenied` when the server rejects the user, `unavailable` for a server without a required extension,
/// `formatUnsupported`, `invalidConfiguration` for a region outside of the target.
///
/// X11, MIT-SHM, DAMAGE, XFIXES, COMPOSITE, RANDR, XINPUT: <https://www.x.org/releases/current/doc/>.
public final class ScreenCapturer: ForwardingVideoCapture {
    public let forwardedCapture: SourceCapturer

    /// The configuration of the capture.
    public let configuration: ScreenCapturer.Configuration
    private let counts = Locked(ScreenCapturer.Statistics())
    let events = Locked<EventHandler?>(nil)

    /// Creates a capture without connecting; `initCapture` connects.
    ///
    /// - Parameters:
    ///   - configuration: the display, the target, the rate and the format.
    ///   - clock: the clock of the timestamps.
    public init(
        _ configuration: ScreenCapturer.Configuration = ScreenCapturer.Configuration(),
        clock: any CaptureClock = MonotonicClock()
    ) {
        self.configuration = configuration
        // The user needs time to click.
        let openTimeout: Duration? = configuration.target == .clickedWindow ? .seconds(70) : nil
        forwardedCapture = SourceCapturer(
            ScreenSource(configuration, counts: counts, events: events), name: "screen", clock: clock,
            openTimeout: openTimeout)
    }

    /// Statistics of the screen, in addition to `VideoCapture.statistics`.
    public var screenStatistics: ScreenCapturer.Statistics { counts.withLock { $0 } }
}

extension ScreenCapturer {
    /// Statistics of a screen, in addition to `VideoCapture.statistics`.
    public struct Statistics: Sendable, Hashable {
        /// Pixels fetched from the X server.
        public var pixelsFetched: UInt64 = 0
        /// Rectangles fetched from the X server.
        public var rectanglesFetched: UInt64 = 0
        /// Reconnections to the X server.
        public var reconnects: UInt64 = 0
        /// Whether the server writes pixels into shared memory, rather than sending them.
        public var usesSharedMemory = false
        /// Whether the server reports changes; otherwise everything is fetched for each frame.
        public var usesDamage = false

        /// Statistics with all counters zero.
        public init() {}
    }
}
