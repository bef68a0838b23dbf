import AudioCapturing
import MediaPublishing
import VideoCapturing

/// The state of a run: plain values, to be reported as text or as JSON.
struct RunSnapshot: Sendable {
    /// The time since the start, by the clock.
    var elapsed: Duration
    var source: String
    var width: Int
    var height: Int
    var pixelFormat: PixelFormat
    var orientation = VideoOrientation.up
    /// The requested rate; nil for the source's own rate, or as fast as possible.
    var askedRate: FrameRate?
    /// Whether it runs as fast as possible.
    var isHurried = false
    /// The measured rate of the last frames.
    var measuredRate: FrameRate?
    /// The number of frames that were passed to the outputs.
    var captured: UInt64
    /// The duration of those frames, by their timestamps.
    var capturedTime: Duration
    /// Whether the timestamps are those of a recording.
    var isRecording = false
    /// Frames that the source or the capture has lost.
    var lost: CaptureStatistics.DropCounts
    /// Whether the keys of a terminal are read.
    var hasKeys = false
    /// Whether the source is interrupted.
    var isInterrupted: Bool { interruption != nil }
    /// Why the source gives no frames for now, in a few words; nil while it does.
    var interruption: String?
    /// The playback progress of a file; nil for other sources.
    var progress: PlaybackProgress?
    /// The sound; nil without.
    var sound: SoundSnapshot?
    /// Whether there are pictures.
    var hasVideo = true
    /// The tracks whose packets are passed on; empty where frames are captured.
    var tracks: [TrackDescription] = []
    /// Whether that was not asked for.
    var passesUnasked = false
    var encoders: [MediaPublisher.Statistics.Encoder] = []
    var outputs: [MediaPublisher.Statistics.Output] = []

    /// What takes frames, with its counts: the encoders, then the outputs.
    var consumers: [VideoPublisher.Statistics.Consumer] { encoders.map(\.consumer) + outputs.compactMap(\.consumer) }

    /// The name of a consumer of ``consumers``; of one of several encoders of a name with its first output.
    func name(ofConsumer index: Int) -> String {
        let name = consumers[index].name
        guard index < encoders.count, encoders.count(where: { $0.name == encoders[index].name }) > 1,
            let output = outputs.first(where: { $0.encoder == index })
        else { return name }
        return
            "\(name) (\(printable(output.name.split(separator: "/").last.map(String.init) ?? output.name, limit: 40)))"
    }

    /// The bits per second of all encoders, as measured; nil until there are enough packets.
    var bitrate: Double? {
        let measured = encoders.compactMap(\.encoding.bitrate)
        return measured.isEmpty ? nil : measured.reduce(0, +)
    }

    /// The time from a frame's timestamp to its packet; where nothing is encoded, to the slowest consumer.
    var latency: (p50: Duration, p99: Duration)? {
        let encoded = encoders.compactMap { encoder in
            encoder.encoding.p50Latency.map { ($0, encoder.encoding.p99Latency ?? $0) }
        }
        let ages = consumers.compactMap { consumer in consumer.p50Age.map { ($0, consumer.p99Age ?? $0) } }
        return (encoded.isEmpty ? ages : encoded).max { $0.1 < $1.1 }
    }

    /// The mean rate of all frames: of their timestamps, or where these mean nothing by the clock. Nil where they came at
    /// once, as of a peer that sends a file.
    var meanRate: Double? {
        let time = isHurried && !isRecording ? elapsed : capturedTime
        guard time > .zero else { return nil }
        let rate = Double(captured) / time.seconds
        return rate <= 10_000 ? rate : nil
    }

    /// How many times as fast as its timestamps a recording was read; nil for other sources.
    var speed: Double? {
        isRecording && elapsed > .zero && capturedTime > .zero ? capturedTime.seconds / elapsed.seconds : nil
    }

    /// The codecs of the tracks: `h264 and aac`.
    var codecs: String { tracks.map(\.codec.rawValue).joined(separator: " and ") }

    /// Frames that were lost before the machine could do anything about it.
    var lostAtSource: UInt64 { lost.source &+ lost.corrupt }

    /// Frames that the machine was too slow for.
    var lostLate: UInt64 { lost.late &+ lost.replaced &+ lost.refused }
}

extension CaptureState.InterruptionReason {
    /// A few words for the status line.
    fileprivate var words: String {
        switch self {
        case .deviceDisconnected: "not connected"
        case .deviceBusy: "busy"
        case .stalled: "silent"
        case .noSignal: "no signal"
        case .paused: "paused"
        case .other(let text): printable(text, limit: 40)
        }
    }
}

/// The state of the sound of a run.
struct SoundSnapshot: Sendable {
    /// The name of the source.
    var source: String
    /// What it delivers.
    var format: AudioFormat
    /// The largest sample since the last report, in dB of full scale; nil for silence.
    var peak: Double?
    /// Whether the source is interrupted.
    var isInterrupted = false
    var statistics: MediaPublisher.Statistics.Audio

    /// Sound that is missing, in seconds.
    var silence: Double { Double(statistics.framesOfSilence) / 48_000 }
}

extension RunSnapshot {
    init(
        _ publisher: MediaPublisher, plan: CapturePlan, source catalogSource: CatalogSource, levels: LevelMeter.Levels,
        elapsed: Duration
    ) {
        let capture = publisher.video.capture
        let format = capture.captureSettings().format
        let statistics = publisher.statistics
        self.elapsed = elapsed
        source = plan.source.name
        width = format.imageWidth
        height = format.imageHeight
        pixelFormat = format.pixelFormat
        orientation = plan.orientation
        isHurried = plan.request.asksForMaximumRate
        askedRate = isHurried ? nil : format.estimatedFramesPerSecond
        measuredRate = statistics.capture.measuredFrameRate
        captured = statistics.framesPublished
        capturedTime = statistics.duration
        lost = statistics.capture.framesDropped
        if case .interrupted(let reason) = capture.state { interruption = reason.words }
        // Without pictures nothing is read of them, and their progress stands still.
        var progress = plan.isSoundAlone || plan.packets != nil ? nil : catalogSource.progress()
        if let duration = plan.duration, !isHurried {
            let left = max(.zero, duration - capturedTime)
            let fileLeft = progress?.timeLeft ?? left
            progress?.timeLeft = min(left, fileLeft)
        }
        self.progress = progress
        isRecording = catalogSource.isRecording
        encoders = statistics.encoders
        outputs = statistics.outputs
        hasVideo = !plan.isSoundAlone
        tracks = publisher.tracks
        passesUnasked = plan.packets?.isAutomatic == true
        if let audio = publisher.audio?.capture, let counts = statistics.audio, let name = plan.audio?.source.name {
            var isSoundInterrupted = false
            if case .interrupted = audio.state { isSoundInterrupted = true }
            let peak = levels.channels.map(\.peakDecibels).max().map { Double($0) }
            sound = SoundSnapshot(
                source: name, format: audio.captureSettings().format, peak: peak.flatMap { $0 > -96 ? $0 : nil },
                isInterrupted: isSoundInterrupted, statistics: counts)
        }
    }
}

/// The report lines of a recording that is played, for fuzzing only.
@_spi(Fuzzing)
public enum ReportProbe {
    /// The lines that a run may write, with numbers from the recording.
    ///
    /// - Parameters:
    ///   - capture: the capture of the recording.
    ///   - progress: its progress.
    ///   - time: the time from the first to the last timestamp.
    public static func lines(
        _ capture: any VideoCapture, progress: PlaybackProgress?, time: Duration
    ) -> [String] {
        let format = capture.captureSettings().format
        let statistics = capture.statistics
        let run = RunSnapshot(
            elapsed: time, source: capture.captureSettings().format.name, width: format.imageWidth,
            height: format.imageHeight, pixelFormat: format.pixelFormat, askedRate: format.estimatedFramesPerSecond,
            measuredRate: statistics.measuredFrameRate, captured: statistics.framesDelivered, capturedTime: time,
            lost: statistics.framesDropped, progress: progress)
        return [
            StatisticsJSON.line("status", run), StatusLine(run).text(columns: 80), Summary.beginning(run),
            Summary.captureLine(run),
        ]
    }
}
