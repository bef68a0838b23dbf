/// What a video capture's thread and its callers share.
typealias VideoControl = CaptureControl<VideoMedia>

/// What of that is video.
struct VideoMedia: CaptureMedia {
    weak var consumer: (any VideoCaptureConsumer)? {
        didSet { consumersSet &+= 1 }
    }
    /// How often a consumer has been set: tells a new one from the last, which may have had the same address.
    var consumersSet: UInt64 = 0
    var contentHint: VideoContentHint
    var settings: CaptureSettings
    /// Wants that the source has not been handed yet.
    var pendingWants: CaptureWants?
    /// Whether a fresh frame has been asked for since the source was last told.
    var isRefreshPending = false
    var statistics = CaptureStatistics()

    init(settings: CaptureSettings, contentHint: VideoContentHint) {
        self.settings = settings
        self.contentHint = contentHint
    }

    /// Whether there is something new to tell the source.
    var hasRequests: Bool { pendingWants != nil || isRefreshPending }

    var sourceName: String? { settings.sourceName }
    mutating func willOpen() { statistics = CaptureStatistics() }
    mutating func didStart() { statistics.starts += 1 }
    mutating func didInterrupt() { statistics.interruptions += 1 }
}
