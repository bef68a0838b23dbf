import AudioCapturing
import RadioPlayer

/// Pulls the sound of a stream at the speed of sound, and looks after its connections while it waits.
struct RadioSource: AudioSource {
    let settings: AudioSettings
    var pacing: AudioPacing { .device }

    private let url: String
    private let configuration: RadioConfiguration
    private let clock: any CaptureClock
    private let status: Locked<RadioCaptureStatus>
    private var reader: RadioReader?
    /// When the next chunk is due; nil before the first, and after a lack of sound.
    private var due: MediaTime?

    init(
        url: String, format: AudioFormat, configuration: RadioConfiguration, clock: any CaptureClock,
        status: Locked<RadioCaptureStatus>
    ) {
        self.url = url
        self.configuration = configuration
        self.clock = clock
        self.status = status
        settings = AudioSettings(
            format: AudioFormat(.float32, format.channels, sampleRate: format.sampleRate), sourceName: url)
    }

    mutating func open(_ context: AudioContext) throws {
        do {
            let reader = try connect()
            try waitForSound(reader, .nanoseconds(1), context)
            self.reader = reader
        } catch {
            throw RadioSource.captureError(error)
        }
        guard !context.isStopping else {
            throw CaptureError(.invalidState, operation: "open the radio", message: "It was released meanwhile.")
        }
    }

    mutating func start(_ context: AudioContext) throws {
        due = nil
        guard reader == nil else { return }
        do {
            reader = try connect()
        } catch {
            throw RadioSource.captureError(error)
        }
    }

    mutating func nextChunk(_ context: AudioContext) throws -> SourceAudio? {
        guard let reader else { return nil }
        do {
            let frames = settings.framesPerChunk
            let isAfterGap = due == nil
            if due == nil {
                try waitForSound(reader, configuration.startLevel, context)
                due = context.now
            }
            guard let time = due else { return nil }
            while !context.isStopping {
                try reader.work()
                let now = context.now
                guard now < time else { break }
                wait(reader, until: time, context)
            }
            guard !context.isStopping else { return nil }
            publish(reader)
            guard reader.availableFrames >= frames || (reader.hasEnded && reader.availableFrames > 0) else {
                if reader.hasEnded { return nil }
                due = nil
                reader.recordUnderrun()
                context.reportInterruption(.stalled)
                return try nextChunk(context)
            }
            let chunk = time.advanced(by: settings.format.duration(ofFrames: Int64(-frames)))
            due = time.advanced(by: settings.format.duration(ofFrames: Int64(frames)))
            var audio = try context.makeAudio(settings.format, frameCapacity: frames, timestamp: chunk) { samples in
                samples.withSamples(as: Float.self) { reader.read(into: $0) }
            }
            audio.isAfterGap = isAfterGap
            tellTitle(reader)
            return audio
        } catch let error as RadioError {
            throw RadioSource.captureError(error)
        }
    }

    /// The next start makes a new connection: what this one holds is long past by then, and its error or end are of this
    /// session.
    mutating func stop() { close() }

    mutating func close() {
        if let reader { publish(reader) }
        reader?.close()
        reader = nil
    }

    private func connect() throws(RadioError) -> RadioReader {
        status.withLock { status in
            status.statistics = RadioStatistics()
            status.information = nil
            status.title = nil
        }
        return try RadioReader(url, format: settings.format, configuration: configuration, clock: clock)
    }

    /// Waits until there is so much sound, or no more comes.
    private func waitForSound(
        _ reader: RadioReader, _ level: Duration, _ context: AudioContext
    ) throws(RadioError) {
        let wanted = max(1, Int(settings.format.frames(in: level)))
        while !context.isStopping {
            try reader.work(isAwaiting: true)
            if reader.availableFrames >= wanted || reader.hasEnded { return }
            wait(reader, until: context.now.advanced(by: .milliseconds(500)), context)
        }
    }

    private func wait(_ reader: RadioReader, until deadline: MediaTime, _ context: AudioContext) {
        reader.wait(until: deadline, stop: context.stopDescriptor)
    }

    private func publish(_ reader: RadioReader) {
        status.withLock { status in
            status.statistics = reader.statistics
            status.information = reader.information
        }
    }

    private func tellTitle(_ reader: RadioReader) {
        guard let title = reader.takeTitle() else { return }
        let handler = status.withLock { status in
            status.title = title.isEmpty ? nil : title
            return status.titleHandler
        }
        handler?(title)
    }

    /// The error of a capture for one of a radio.
    static func captureError(_ error: any Error) -> any Error {
        guard let error = error as? RadioError else { return error }
        let code: CaptureErrorCode =
            switch error.code {
            case .invalidConfiguration: .invalidConfiguration
            case .networkConnectionFailed, .streamNotFound: .deviceNotFound
            case .networkStalled: .stalled
            case .permissionDenied: .permissionDenied
            case .streamUnsupported, .streamSeekFailed, .audioDataNotFound: .formatUnsupported
            case .streamParseFailed: .corruptData
            case .invalidState: .invalidState
            default: .unavailable
            }
        return CaptureError(
            code, operation: error.operation, subject: error.subject, errno: error.systemError,
            libraryCode: error.libraryCode, message: error.message)
    }
}
