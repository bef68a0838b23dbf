import AudioCapturing
import AudioRendering

/// The thread of a player: reads, decodes and plays, executes orders, and reports the state.
///
/// `@unchecked Sendable`: made by one thread, and from then on confined to the player's.
final class RadioEngine: @unchecked Sendable {
    let control: RadioControl
    let url: String
    let configuration: RadioConfiguration
    let renderer: any AudioRenderer
    let clock: any CaptureClock
    private let makeTransport: @Sendable () throws(RadioError) -> any RadioTransport

    /// A renderer whose device has gone, such as a sound server that is restarted.
    private struct RendererLoss {
        let error: RadioError
        let format: AudioFormat
        let since: MediaTime
        var nextAttempt: MediaTime
    }

    /// How long a renderer is tried to be opened again, and after which time the next attempt comes.
    private static let longestLoss = Duration.seconds(30)
    private static let reopeningDelay = Duration.milliseconds(500)

    // MARK: Of a session

    private var loss: RendererLoss?
    /// Whether the last failure of the renderer was that its device has gone.
    private var isDeviceLost = false

    var sound: RadioSound?
    /// The format of the renderer; nil while it is closed.
    var output: AudioFormat?
    var phase = RadioPlayer.State.starting
    /// Whether the renderer is held.
    var isHeld = false
    /// When it was paused.
    var pausedSince: MediaTime?
    /// The frames of the ring at the last seek, and the time of the file there.
    var base: (frame: Int64, time: Duration) = (0, .zero)
    /// The volume that is wanted, and that of the last sample.
    var gain: Float = 1
    var appliedGain: Float = 1
    var peaks: [Float] = []
    /// Samples as the renderer takes them.
    let scratch = UnsafeMutableRawBufferPointer.allocate(
        byteCount: RadioEngine.chunkFrames * RadioEngine.maximumChannels * 4, alignment: 64)

    /// The frames that are converted at a time, and the channels of the widest device.
    static let chunkFrames = 2048
    static let maximumChannels = 8

    init(
        _ control: RadioControl, url: String, configuration: RadioConfiguration, renderer: any AudioRenderer,
        clock: any CaptureClock, makeTransport: @escaping @Sendable () throws(RadioError) -> any RadioTransport
    ) {
        self.control = control
        self.url = url
        self.configuration = configuration
        self.renderer = renderer
        self.clock = clock
        self.makeTransport = makeTransport
    }

    deinit { scratch.deallocate() }

    /// Sessions until the player is gone.
    func run() {
        control.update { $0.threadIdentifier = CaptureThread.currentIdentifier }
        while awaitStart() {
            let ending = session()
            close()
            end(ending)
        }
        control.update { contents in
            contents.isThreadAlive = false
            contents.threadIdentifier = nil
        }
    }

    /// Blocks until a session is to begin; false when the player is gone.
    private func awaitStart() -> Bool {
        control.contents.wait { contents -> Bool? in
            if contents.isCloseOrdered { return false }
            guard contents.isStartOrdered else { return nil }
            contents.isStartOrdered = false
            return true
        } ?? false
    }

    /// How a session has ended.
    private enum Ending {
        case ordered, endOfStream
        case failed(RadioError)
    }

    private func session() -> Ending {
        do throws(RadioError) {
            try configuration.validate()
            let transport = try makeTransport()
            let stream = RadioStream(configuration, clock: clock, transport: transport)
            let sound = try RadioSound(stream, clock: clock)
            self.sound = sound
            phase = .starting
            base = (0, .zero)
            isHeld = false
            pausedSince = nil
            peaks = []
            loss = nil
            try stream.open(url)
            advance(to: .waitingForData)
            while true {
                control.wake.reset()
                guard try obey(sound) else { return .ordered }
                stream.work()
                if let failure = stream.failure { throw failure }
                try sound.fill { (format) throws(RadioError) in try openRenderer(format) }
                var limit = clock.now.advanced(by: RadioEngine.reopeningDelay)
                do throws(RadioError) {
                    try reopenRenderer(sound)
                    try play(sound)
                    if try step(sound) { return .endOfStream }
                    try publish(sound)
                    limit = min(limit, try deadline(sound))
                } catch {
                    try loseRenderer(error, sound)
                }
                transport.wait(until: limit, stop: control.wake.descriptor, event: control.wake.event)
            }
        } catch {
            return .failed(error)
        }
    }

    /// Executes the orders; false for a stop.
    private func obey(_ sound: RadioSound) throws(RadioError) -> Bool {
        var orders = (isStop: false, isPaused: false, seek: Duration?.none, volume: Float(1))
        control.update { contents in
            orders = (contents.isStopOrdered, contents.isPaused, contents.seek, contents.volume)
            contents.seek = nil
        }
        if orders.isStop { return false }
        gain = orders.volume
        if orders.isPaused != (pausedSince != nil) { try setPaused(orders.isPaused, sound) }
        if let time = orders.seek { try seek(to: time, sound) }
        return true
    }

    private func end(_ ending: Ending) {
        control.update { contents in
            switch ending {
            case .ordered: contents.beginStop(.userAction, nil)
            case .endOfStream: contents.beginStop(.endOfStream, nil)
            case .failed(let error): contents.beginStop(.error, error)
            }
            // As the stop began: a failure that came after an order to stop is not reported.
            let reason: RadioPlayer.StateChange.Reason =
                switch contents.stopReason {
                case .error: contents.error.map { .failure($0) } ?? .stream
                case .userAction: .requested
                default: .stream
                }
            contents.transition(to: .stopped, reason)
            contents.transition(to: .initialized, reason)
            contents.isStopOrdered = false
            contents.sessionsEnded += 1
            guard contents.isRestartOrdered, !contents.isCloseOrdered else { return }
            contents.isRestartOrdered = false
            RadioPlayer.begin(&contents)
        }
    }

    /// Enters a phase and reports it.
    func advance(to new: RadioPlayer.State, _ reason: RadioPlayer.StateChange.Reason = .stream) {
        guard phase != new else { return }
        phase = new
        control.update { $0.advance(to: new, reason) }
    }

    private func close() {
        // Changes since the last look, such as the attempt that has failed.
        if let statistics = sound?.stream.statistics { control.update { $0.status.statistics = statistics } }
        sound?.stream.close()
        sound = nil
        renderer.close()
        output = nil
    }

    private func seek(to time: Duration, _ sound: RadioSound) throws(RadioError) {
        // A stop, or another seek, may have been ordered meanwhile.
        control.update { contents in
            if contents.stopReason == .temporarily, contents.seek == nil { contents.stopReason = .none }
        }
        guard sound.seek(to: time) else { return }
        if output != nil {
            try render(.rendererFlushFailed) { () throws(AudioRendererError) in try renderer.flush() }
        }
        base = (sound.ring.written, min(time, sound.duration ?? time))
        sound.endSilence()
        advance(to: .waitingForData, .seek)
    }

    // MARK: - A renderer that is lost

    /// Whether the player tries to open the renderer again.
    var isRendererLost: Bool { loss != nil && output == nil }

    /// The renderer takes sound.
    func endRendererLoss() { loss = nil }

    /// Goes on without the renderer, for a while.
    ///
    /// - Throws: the first failure, when the device is still there, or has been away for too long.
    private func loseRenderer(_ error: RadioError, _ sound: RadioSound) throws(RadioError) {
        guard isDeviceLost, [.rendererWriteFailed, .rendererTimeFailed].contains(error.code),
            let format = output ?? loss?.format
        else { throw error }
        let now = clock.now
        let first = loss ?? RendererLoss(error: error, format: format, since: now, nextAttempt: now)
        guard now - first.since < RadioEngine.longestLoss else { throw first.error }
        loss = RendererLoss(
            error: first.error, format: format, since: first.since,
            nextAttempt: now.advanced(by: RadioEngine.reopeningDelay))
        sound.stream.statistics.lastError = first.error
        renderer.close()
        output = nil
        isHeld = false
        sound.endSilence()
        if phase == .playing || phase == .flushingEnd { advance(to: .buffering) }
    }

    private func reopenRenderer(_ sound: RadioSound) throws(RadioError) {
        guard isRendererLost, var loss, clock.now >= loss.nextAttempt else { return }
        guard clock.now - loss.since < RadioEngine.longestLoss else { throw loss.error }
        loss.nextAttempt = clock.now.advanced(by: RadioEngine.reopeningDelay)
        self.loss = loss
        guard let opened = try? renderer.open(loss.format) else { return }
        guard opened.channels == loss.format.channels, opened.sampleRate == loss.format.sampleRate else {
            throw loss.error
        }
        output = opened
        sound.restartLevel()
    }

    /// Runs a call of the renderer, and gives its error the group of the call.
    func render<Result>(
        _ code: RadioErrorCode, _ body: () throws(AudioRendererError) -> Result
    ) throws(RadioError) -> Result {
        do {
            return try body()
        } catch {
            isDeviceLost = error.code == .deviceLost
            throw RadioError(
                code, operation: error.operation, subject: error.subject ?? renderer.name, errno: error.systemError,
                libraryCode: error.libraryCode, message: error.message)
        }
    }
}
