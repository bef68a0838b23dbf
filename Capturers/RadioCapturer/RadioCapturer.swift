import AudioCapturing
import RadioPlayer

/// A capture of a radio: endless MP3 over HTTP or HTTPS.
///
/// ```swift
/// let capture = RadioCapturer(url: "http://radio.example:8000/stream.mp3")
/// capture.audioCaptureConsumer = encoder
/// try capture.initCapture()
/// try capture.startCapture()
/// ```
/// **Chunks** are delivered at the speed of sound by the capture's clock, in one format whatever the station sends, and
/// hold about a second and more back; the station's clock is followed by the rate, within 0.2 %. Their timestamps are the
/// times of delivery, since a station tells no others.
///
/// **Errors.** `initCapture` connects and waits for the first sound. It throws `invalidConfiguration` for an address that
/// cannot be read, `deviceNotFound` when no server answers or there is no such stream, `permissionDenied`,
/// `formatUnsupported` for what is not MP3, `stalled`. After a later loss the state is `interrupted`, and the capture makes
/// new connections until one gives sound. The end of a file is the end of the stream. Each start after a stop, an error or
/// an end makes a new connection, without waiting for its sound, and begins with what is sent then; a file begins again.
public final class RadioCapturer: ForwardingAudioCapture {
    public let forwardedCapture: AudioSourceCapturer
    private let status: Locked<RadioCaptureStatus>

    /// Creates a capture without connecting.
    ///
    /// - Parameters:
    ///   - url: the address of the stream or of a playlist, `http` or `https`.
    ///   - format: the format of all chunks.
    ///   - configuration: how it is received.
    ///   - clock: the clock of timestamps, pacing and watchdogs.
    public init(
        url: String, format: AudioFormat = .float48kStereo, configuration: RadioConfiguration = RadioConfiguration(),
        clock: any CaptureClock = MonotonicClock()
    ) {
        let status = Locked(RadioCaptureStatus())
        self.status = status
        let timeout = Duration.seconds(10) + configuration.connectTimeout + configuration.noDataTimeout * 4
        forwardedCapture = AudioSourceCapturer(
            RadioSource(url: url, format: format, configuration: configuration, clock: clock, status: status),
            name: "radio", clock: clock, timeout: .seconds(10), openTimeout: timeout)
    }

    /// What happened to the stream since the capture was initialized, or started again after a stop.
    public var streamStatistics: RadioStatistics { status.withLock { $0.statistics } }

    /// What the server says of the stream; nil before its answer.
    public var information: RadioInformation? { status.withLock { $0.information } }

    /// The title of what is delivered now; nil when the station does not say.
    public var title: String? { status.withLock { $0.title } }

    /// Sets the handler that is called with each new title, when its first sample is about to be delivered: on the capture
    /// thread, so it must return soon and must not start, stop or release the capture.
    ///
    /// - Parameter handler: the handler; nil for none.
    public func setTitleHandler(_ handler: (@Sendable (String) -> Void)?) {
        status.withLock { $0.titleHandler = handler }
    }
}

/// What the capture thread shares with all others.
struct RadioCaptureStatus: Sendable {
    var statistics = RadioStatistics()
    var information: RadioInformation?
    var title: String?
    var titleHandler: (@Sendable (String) -> Void)?
}

extension AudioCapturerEntry {
    /// Radios, as the source `radio` of a program.
    public static let radio = AudioCapturerEntry(
        name: "radio", summary: "A radio: endless MP3 over HTTP, or an MP3 file on a server.",
        schemes: ["http", "https"],
        inputPlaceholder: "URL",
        make: { request in
            guard let url = request.input, !url.isEmpty else {
                throw OptionError("audio", nil, "name the stream, as in radio:http://host:8000/stream.mp3.")
            }
            let capture = RadioCapturer(url: url)
            var source = AudioCatalogSource(capture)
            source.setNoticeHandler = { handler in
                // A station states an empty one between two pieces.
                capture.setTitleHandler { if !$0.isEmpty { handler("Title: \($0)") } }
            }
            return source
        })
}
