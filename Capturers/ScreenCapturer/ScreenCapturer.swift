import VideoCapturing

/// A capture of an X11 screen, a monitor, a window or a part of one: what has changed is all that costs.
///
/// ```swift
/// let capture = ScreenCapturer(ScreenConfiguration(target: .monitor("primary"), frameRate: 15))
/// capture.videoCaptureConsumer = encoder
/// try capture.initCapture()
/// try capture.startCapture()
/// ```
///
/// **Frames** come when something has changed, and at most at the rate asked for; the first one of a start comes at
/// once. Each says in `damage` what differs from the one before; only that is fetched from the X server (into shared
/// memory where it can be) and converted. While nothing changes there is no frame and no work: let the publisher
/// repeat the last one (`VideoPublisher.minimumFrameRate`) where a consumer needs a beat. Frames that were delivered
/// stay as they were.
///
/// **Changes.** A window is captured also where others cover it, and followed when it moves; another size of the window
/// or another mode of the display gives frames of that size, the first of them without damage. While a window is not
/// shown the state is `interrupted`; when it is closed the capture stops with `deviceLost`. When the X server goes, the
/// state is `interrupted` until it is back.
///
/// **Errors** of `initCapture`: `deviceNotFound` for a display, monitor or window that is not there,
/// `permissionDenied` when the server does not let this user in, `unavailable` for a server without what is needed,
/// `formatUnsupported`, `invalidConfiguration` for a region outside of the target.
///
/// X11, MIT-SHM, DAMAGE, XFIXES, COMPOSITE, RANDR, XINPUT: <https://www.x.org/releases/current/doc/>.
public final class ScreenCapturer: ForwardingVideoCapture {
    public let forwardedCapture: SourceCapturer

    /// What is asked of the screen.
    public let configuration: ScreenConfiguration
    private let counts = Locked(ScreenStatistics())

    /// Opens nothing yet; `initCapture` does.
    ///
    /// - Parameters:
    ///   - configuration: what is asked of the screen.
    ///   - clock: the clock of the timestamps.
    public init(
        _ configuration: ScreenConfiguration = ScreenConfiguration(), clock: any CaptureClock = MonotonicClock()
    ) {
        self.configuration = configuration
        // A person who is to click takes his time.
        let openTimeout: Duration? = configuration.target == .clickedWindow ? .seconds(70) : nil
        forwardedCapture = SourceCapturer(
            ScreenSource(configuration, counts: counts), name: "screen", clock: clock, openTimeout: openTimeout)
    }

    /// What is counted of the screen, beside `VideoCapture.statistics`.
    public var screenStatistics: ScreenStatistics { counts.withLock { $0 } }
}
