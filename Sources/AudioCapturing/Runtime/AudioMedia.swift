/// What a sound capture's thread and its callers share.
typealias AudioControl = CaptureControl<AudioMedia>

/// What of that is sound.
struct AudioMedia: CaptureMedia {
    weak var consumer: (any AudioCaptureConsumer)?
    var settings: AudioSettings
    var statistics = AudioStatistics()

    init(settings: AudioSettings) {
        self.settings = settings
    }

    var sourceName: String? { settings.sourceName }

    mutating func willOpen() { statistics = AudioStatistics() }

    mutating func didStart() { statistics.starts += 1 }

    mutating func didInterrupt() { statistics.interruptions += 1 }
}
