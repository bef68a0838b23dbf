public import AudioCapturing
import PacketCapturing
public import VideoCapturing

/// Publishes a capture, with or without sound, to any number of outputs: makes the encoders that they need, shares them where it can, and keeps a
/// failed or stalled output from harming the others.
///
/// ```swift
/// let publisher = MediaPublisher(video: CameraCapturer(), settings: .init(encoders: [.vp8]))
/// try publisher.add(FileOutput("film.webm"))
/// try publisher.add(MJPEGServer())
/// let events = publisher.events()
/// try publisher.start()
/// for await event in events {
///     if case .outputsFailed(_, let error) = event { print(error) }
///     if case .ended = event { break }
/// }
/// try publisher.stop()
/// ```
/// ```
///                   ┌─ queue ─▶ converter ─▶ encoder ─▶ webm, ivf …    (one encoder for all that can share it)
/// capture ─▶ VideoPublisher ─ queue ─▶ converter ─▶ y4m               (one converter for each pixel format)
///                   ├─ queue ─▶ md5
///                   └─ newest ─▶ MJPEG server ─▶ viewers
/// microphone ─▶ AudioPublisher ─ queue ─▶ time line ─▶ encoder ─▶ webm …
/// ```
/// **Sound.** It is put on the time line of the pictures: it begins with the first picture and ends with the last one, the
/// error of the sound card's clock is taken out by resampling, and where sound is missing there is silence. So a pause, an
/// interruption or a replacement on either side (`replaceCapture(with:)`) leaves the other in step. An output that takes no
/// sound (``MediaOutput/audioFeed``) gets the pictures alone.
///
/// A publisher is for one run: what ``stop()`` has closed stays closed. ``requestStop()``, ``statistics`` and the events
/// may be used from any thread at any time; the other methods by one thread at a time, and not from inside an output.
public final class MediaPublisher: Sendable {
    /// How the frames of a capture are timed.
    public enum Pacing: Sendable, Hashable {
        /// They are captured as they happen.
        case realTime
        /// They are of a recording, whose times are its own; unpaced when it is read as fast as the outputs take it.
        case playback(isPaced: Bool)
        /// They are made as fast as the outputs take them, and their times mean nothing.
        case onDemand
    }

    /// How to publish.
    public struct Settings: Sendable {
        /// The encoders that outputs may have, in order of preference.
        public var encoders: [EncoderEntry]
        /// How to encode where an output has no settings of its own.
        public var encoding = EncodingSettings()
        /// The sound encoders that outputs may have, in order of preference.
        public var audioEncoders: [AudioEncoderEntry]
        /// How to encode sound.
        public var audioEncoding = AudioEncodingSettings()
        /// How the capture's frames are timed.
        public var pacing = Pacing.realTime
        /// The clockwise rotation to apply for display, for captures that do not know it.
        public var orientation = VideoOrientation.up
        /// The number of frames after which the run ends; nil for no limit.
        public var maximumFrames: UInt64?
        /// The duration, by the frames' timestamps, after which the run ends; nil for no limit.
        public var maximumDuration: Duration?
        /// How long the reader of one of several outputs may take nothing before the output fails; it holds up the others
        /// meanwhile. A single output waits until a stop is requested.
        public var writeTimeout = Duration.seconds(5)
        /// Whether a network peer that cannot be reached at the start is tried again, with growing delays, as one that was lost
        /// is. Otherwise its output fails.
        public var retriesPeers = false
        /// Of a publisher of packets, whether passing on was not asked for: files get packets where they can carry them; all
        /// other outputs have an encoder, or frames.
        package var mayEncode = false
        /// Whether the packets come from a device or a network. Their sender chose bitrate and key frames for viewers; those of a
        /// recording may be far apart.
        package var isLive = false
        /// How long the disk of one of several outputs may take to answer.
        public var diskTimeout = Duration.seconds(30)
        /// How long an output with a stalled reader is waited for after a stop is requested.
        public var stopTimeout = Duration.seconds(3)

        /// Settings with the encoders that outputs may have.
        ///
        /// - Parameters:
        ///   - encoders: those for pictures, in order of preference.
        ///   - audioEncoders: those for sound, in order of preference.
        public init(encoders: [EncoderEntry] = [], audioEncoders: [AudioEncoderEntry] = []) {
            self.encoders = encoders
            self.audioEncoders = audioEncoders
        }
    }

    /// What happens to a run.
    public enum Event: Sendable {
        /// Why a run ends; it goes on until ``MediaPublisher/stop()``, but no further frames come.
        public enum End: Sendable, Hashable {
            /// The number of frames, or the duration, was reached.
            case limitReached
            /// ``MediaPublisher/requestStop()`` was called.
            case stopRequested
            /// The capture has stopped on its own: at the end of a file, or after an error.
            case captureStopped(CaptureState.StopReason)
        }

        /// The run ends; comes once.
        case ended(End)
        /// Outputs have failed, several when it is their encoder. The others go on.
        case outputsFailed([OutputID], any Error)
        /// An output has all that it was to get, such as a number of stills, and takes nothing more. The others go on;
        /// ``MediaPublisher/isActive`` is false when there are none.
        case outputCompleted(OutputID)
        /// A problem that loses no data, in a sentence for the user.
        case warning(String)
    }

    /// The identifier of an output at its publisher.
    public struct OutputID: Sendable, Hashable {
        /// The place in the order in which outputs were added, from 0.
        public let index: Int
    }

    /// The publisher of the frames, for consumers of the program itself, and mute. To replace the capture use the
    /// method of this class, which keeps the limits and the events.
    public let video: VideoPublisher
    /// The publisher of the sound, for consumers of the program itself, and mute; nil without sound. To replace the capture
    /// use the method of this class, which keeps the events.
    public let audio: AudioPublisher?
    /// The settings that it was made with.
    public let settings: Settings
    /// What starts the clips of ``TriggeredOutput``s, and reports them.
    public let recording = RecordingTrigger()

    /// The frames that are published, whatever the capture.
    let line: FrameLine
    /// Whether there are pictures.
    let hasVideo: Bool
    /// What passes packets on; nil for a publisher of frames.
    let passing: PacketFanOut?
    let state = Locked(State())
    let eventList = EventList()
    private let watchdog = ManualResetEvent()

    struct State {
        var records: [OutputRecord] = []
        var stages: [EncoderStage] = []
        var stagesMade = 0
        var audioStages: [AudioStage] = []
        /// Whether the pictures' times are handed to the sound: from the first output with sound until the end.
        var hasPictureClock = false
        /// When the first sound came; for a run without pictures.
        var soundStart: MediaTime?
        var converters: [FrameConverter.Key: FrameConverter] = [:]
        var isOpen = false
        var isStarted = false
        var isOpening = false
        var isStopRequested = false
        var hasStopped = false
    }

    /// A publisher without outputs.
    ///
    /// - Parameters:
    ///   - capture: what is published; the publisher sets its consumer, and releases it in the end.
    ///   - audio: the sound that belongs to it; nil for pictures alone. The publisher sets its consumer, and releases it in
    ///     the end.
    ///   - settings: how to publish.
    public convenience init(
        video capture: any VideoCapture, audio: (any AudioCapture)? = nil, settings: Settings = Settings()
    ) {
        self.init(video: capture, audio: audio, hasVideo: true, settings)
    }

    /// A publisher of sound alone, without outputs.
    ///
    /// - Parameters:
    ///   - audio: what is published; the publisher sets its consumer, and releases it in the end.
    ///   - settings: how to publish.
    public convenience init(audio: any AudioCapture, settings: Settings = Settings()) {
        self.init(video: NoVideoCapture(), audio: audio, hasVideo: false, settings)
    }

    init(
        video capture: any VideoCapture, audio: (any AudioCapture)?, hasVideo: Bool, _ settings: Settings,
        packets: (any PacketCapture)? = nil
    ) {
        self.settings = settings
        self.hasVideo = hasVideo
        self.audio = audio.map { AudioPublisher($0) }
        let events = eventList
        line = FrameLine(
            frames: settings.maximumFrames, duration: settings.maximumDuration, orientation: settings.orientation
        ) { events.end(.limitReached) }
        let frames = capture as? PacketsAsVideo
        passing = packets.map { [line] in PacketFanOut($0, frames: frames, line: line) }
        if let frames {
            // The packets are counted.
            video = VideoPublisher(frames)
            frames.setDemand { [weak video] in video?.statistics.consumers.isEmpty == false }
        } else {
            let first = LimitedCapture(capture, line: line)
            line.setCurrent(first)
            video = VideoPublisher(first)
        }
        // A screen delivers no frames while nothing changes; players and late viewers get a minimum rate.
        if [.text, .detail].contains(capture.videoContentHint) { video.minimumFrameRate = FrameRate(1, per: 2) }
    }

    deinit { close() }

    /// The capture of the frames now.
    var capture: any VideoCapture { video.capture }

    // MARK: Events

    /// A stream of the events from now on; of a run that has ended, the end first. It ends when ``stop()`` has returned, or the
    /// publisher is closed.
    public func events() -> AsyncStream<Event> { eventList.stream() }

    /// Sets the handler that is called with each event, at once and on any thread. It must not wait.
    public func setEventHandler(_ handler: @escaping @Sendable (Event) -> Void) { eventList.setHandler(handler) }

    func post(_ event: Event) { eventList.post(event) }

    // MARK: Life

    /// Initializes the capture, so that its format is known. ``open()`` does it where it has not been done.
    ///
    /// - Throws: what the capture throws.
    public func initCapture() throws(CaptureError) {
        setOpening(true)
        try capture.initCapture()
        try audio?.capture.initCapture()
    }

    /// Initializes the capture, makes the encoders and opens the outputs that were added. ``start()`` does it where it has
    /// not been done.
    ///
    /// - Throws: `CaptureError`, `CodecError`, and what outputs throw; none of them is left open then, and what they have
    ///   created is removed. `invalidState` once the run is over.
    public func open() throws {
        guard !state.withLock({ $0.hasStopped }) else {
            throw CaptureError(
                .invalidState, operation: "start the publisher",
                message: "A publisher is for one run, and this one has ended; make another one.")
        }
        guard !state.withLock({ $0.isOpen }) else { return }
        try initCapture()
        let records = state.withLock { $0.records }
        do {
            try connect(records)
        } catch {
            for record in records { record.discard(from: video) }
            throw error
        }
        state.withLock { $0.isOpen = true }
    }

    /// Starts the capture.
    ///
    /// - Throws: as ``open()``, and what the capture throws: then the run is over.
    public func start() throws {
        try open()
        watch(capture)
        do {
            // First, since sound from before the first picture is only held back.
            try startAudio()
            try video.start()
            state.withLock { $0.isStarted = true }
        } catch {
            try? audio?.stop()
            for record in state.withLock({ $0.records }) { record.discard(from: video) }
            // The outputs have gone.
            state.withLock { $0.hasStopped = true }
            throw error
        }
        setOpening(false)
        try? startWatchdog()
    }

    /// Asks for the end of the run, without waiting: an opening that waits is cancelled, outputs whose reader takes nothing
    /// are given up soon, and ``Event/ended(_:)`` comes.
    public func requestStop() {
        let (records, isOpening) = state.withLock { state in
            state.isStopRequested = true
            return (state.records, state.isOpening)
        }
        for record in records { record.output.setWriteTimeout(settings.stopTimeout) }
        if isOpening { cancelOpening() }
        eventList.end(.stopRequested)
    }

    /// Whether ``requestStop()`` was called.
    public var isStopRequested: Bool { state.withLock { $0.isStopRequested } }

    /// Asks the outputs that take stills on request for one of this moment. The answer is in their statistics.
    public func takeStill() {
        for record in state.withLock({ $0.records }) where record.takesMore { record.output.takeStill() }
    }

    /// Has outputs whose files follow each other begin the next one, with the next key frame. Safe to call from any thread.
    public func reopenFiles() {
        for record in state.withLock({ $0.records }) where record.takesMore { record.output.reopen() }
    }

    /// Stops the capture and completes the outputs. Failures of outputs come as events, before it returns.
    ///
    /// - Throws: what stopping the capture throws; the outputs are complete all the same.
    public func stop() throws(CaptureError) {
        guard
            state.withLock({ state in
                defer { state.hasStopped = true }
                return !state.hasStopped
            })
        else { return }
        watchdog.raise()
        let end = endOfLastFrame
        passing?.flushAfterEnd()
        passing?.hurry()
        let result = Result { () throws(CaptureError) in try video.stop() }
        stopAudio(at: end)
        passing?.finish()
        reportStalls()
        let (records, stages) = state.withLock { ($0.records, $0.stages) }
        for stage in stages where !stage.isStalled { stage.encoding.finish(at: end) }
        for record in records { record.close(at: end, hasFrames: hasMedia, reportingTo: self) }
        eventList.finish()
        try result.get()
    }

    /// Stops, where it has not been done, and releases the capture.
    public func close() {
        try? stop()
        video.close()
        audio?.close()
        eventList.finish()
    }

    /// The end of the last frame, on the frames' time line; nil when it follows from the frames alone.
    private var endOfLastFrame: MediaTime? {
        let passed = line.passed
        if let end = passed.end { return end }
        switch settings.pacing {
        case .playback: return capture.endOfLastFrame
        case .onDemand: return nil
        case .realTime:
            // With a number of frames the timestamps alone determine the end.
            guard passed.count != settings.maximumFrames else { return nil }
            let limit = settings.maximumDuration.flatMap { passed.first?.advanced(by: $0) }
            return min(MonotonicClock().now, limit ?? MediaTime(nanoseconds: .max))
        }
    }

    // MARK: Opening

    private func setOpening(_ isOpening: Bool) {
        let mustCancel = state.withLock { state in
            state.isOpening = isOpening
            return isOpening && state.isStopRequested
        }
        if mustCancel { cancelOpening() }
    }

    /// On a separate thread, since releasing may take long, and who requests the stop must not be held up.
    private func cancelOpening() {
        let capture = self.capture
        let sound = audio?.capture
        // Without a thread the opening is not cancelled.
        _ = try? CaptureThread(name: "stop") {
            capture.releaseCapture()
            sound?.releaseCapture()
        }
    }

    // MARK: Stalls

    /// Looks once per second for outputs whose disk does not answer, which cannot report it themselves.
    private func startWatchdog() throws(CaptureError) {
        try CaptureThread(name: "watchdog") { [weak self, watchdog] in
            while !watchdog.isRaised {
                watchdog.wait(until: MonotonicClock().now.advanced(by: .seconds(1)))
                guard let self else { return }
                if !watchdog.isRaised { reportStalls() }
            }
        }
    }

    private func reportStalls() {
        let (records, stages) = state.withLock { ($0.records, $0.stages) }
        func error(_ name: String) -> CaptureError {
            CaptureError(
                .stalled, operation: "write", subject: name,
                message: "The disk has not answered for \(settings.diskTimeout); later frames are not written. "
                    + "Check the disk.")
        }
        for stage in stages where stage.isStalled {
            fail(stage, error(stage.name))
        }
        for record in records where record.isStalled {
            fail(record, error(record.output.name))
        }
    }
}
