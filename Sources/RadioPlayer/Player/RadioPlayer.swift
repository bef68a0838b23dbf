import AudioCapturing
import AudioRendering

/// Plays an endless MP3 radio, or an MP3 file on a server, and never stays silent once the server is back.
///
/// ```swift
/// let player = RadioPlayer("http://radio.example:8000/stream.mp3", renderer: NullRenderer())
/// player.start()
/// for await change in player.stateChanges() { print(change.old, change.new, change.reason) }
/// ```
/// **States** are those of AudioStreamer; each change is reported as old, new and reason, in order, and none is
/// left out. **Errors:** the first one wins, stops the player, and stays until the next start clears it. What a new
/// connection can repair is not an error: it is counted in ``RadioStatistics`` while the player waits for data or buffers.
///
/// **Titles** are reported when they are heard, not when they come. **The level** of a station is held by its rate, within
/// 0.2 %, so that the player neither runs dry nor falls behind in weeks. **Memory** is bounded whatever a server sends.
///
/// Safe to use from any thread. One separate thread reads, decodes and plays; only ``stop()`` waits for it.
public final class RadioPlayer: Sendable {
    /// The address, without a user name and password.
    public let name: String

    private let url: String
    private let configuration: RadioConfiguration
    private let control = RadioControl()
    private let renderer: any AudioRenderer
    private let clock: any CaptureClock
    private let makeTransport: @Sendable () throws(RadioError) -> any RadioTransport

    /// Creates a player; it opens nothing yet.
    ///
    /// - Parameters:
    ///   - url: the address of the stream or of a playlist, `http` or `https`, with user name and password where they are
    ///     needed (percent-encoded).
    ///   - renderer: where it is played; the player alone uses it from now on.
    ///   - configuration: how it is received.
    ///   - clock: the clock of its watchdogs and pauses.
    public convenience init(
        _ url: String, renderer: any AudioRenderer, configuration: RadioConfiguration = RadioConfiguration(),
        clock: any CaptureClock = MonotonicClock()
    ) {
        self.init(url, renderer: renderer, configuration: configuration, clock: clock) {
            () throws(RadioError) -> any RadioTransport in try HTTPRadioTransport(configuration)
        }
    }

    /// As ``init(_:renderer:configuration:clock:)``, with another transport.
    package init(
        _ url: String, renderer: any AudioRenderer, configuration: RadioConfiguration, clock: any CaptureClock,
        transport: @escaping @Sendable () throws(RadioError) -> any RadioTransport
    ) {
        self.url = url
        self.renderer = renderer
        self.configuration = configuration
        self.clock = clock
        makeTransport = transport
        name = maskingUserInfo(in: url)
    }

    deinit {
        control.order { contents in
            contents.isCloseOrdered = true
            contents.isStopOrdered = true
            contents.isRestartOrdered = false
        }
    }

    // MARK: Orders

    /// Starts to play, from the beginning; goes on when it is paused, and does nothing when it plays. A start during a stop
    /// is obeyed after it. Returns at once.
    public func start() {
        let mustBegin = control.order { contents -> Bool in
            switch contents.state {
            case .initialized, .stopped:
                guard contents.state == .initialized else {
                    contents.isRestartOrdered = true
                    return false
                }
                RadioPlayer.begin(&contents)
                defer { contents.isThreadAlive = true }
                return !contents.isThreadAlive
            case .stopping:
                contents.isRestartOrdered = true
                return false
            case .paused:
                contents.isPaused = false
                contents.transition(to: contents.phase, .requested)
                return false
            default: return false
            }
        }
        if mustBegin { beginThread() }
    }

    /// A start, under the lock.
    static func begin(_ contents: inout RadioControl.Contents) {
        contents.error = nil
        contents.stopReason = .none
        contents.isStartOrdered = true
        contents.isStopOrdered = false
        contents.isPaused = false
        contents.seek = nil
        contents.status = Status()
        contents.phase = .starting
        contents.transition(to: .starting, .requested)
    }

    /// Stops, and returns when the renderer is closed and nothing more is received; does nothing when it is stopped.
    public func stop() {
        let session = control.order { contents -> UInt64? in
            contents.isRestartOrdered = false
            guard contents.state != .initialized else { return nil }
            contents.isStopOrdered = true
            contents.beginStop(.userAction, nil)
            return contents.sessionsEnded
        }
        guard let session else { return }
        control.contents.wait { contents -> Void? in
            contents.sessionsEnded != session || contents.threadIdentifier == CaptureThread.currentIdentifier ? () : nil
        }
    }

    /// Holds the sound; a station is not received further than its buffers are large, so that after some time a new
    /// connection is needed. Does nothing when it does not play. Returns at once.
    public func pause() {
        control.order { contents in
            guard contents.isActive, !contents.isPaused else { return }
            contents.isPaused = true
            contents.transition(to: .paused, .requested)
        }
    }

    /// Goes on after ``pause()``; does nothing when it is not paused. Returns at once.
    public func resume() {
        control.order { contents in
            guard contents.state == .paused else { return }
            contents.isPaused = false
            contents.transition(to: contents.phase, .requested)
        }
    }

    /// Pauses or goes on, as AudioStreamer's `pause` does.
    public func togglePause() {
        control.order { contents in
            guard contents.isActive else { return }
            contents.isPaused.toggle()
            contents.transition(to: contents.isPaused ? .paused : contents.phase, .requested)
        }
    }

    /// Continues at another time of a file. Returns at once; the sound jumps soon after.
    ///
    /// - Parameter time: the time from the beginning; times behind the end are the end.
    /// - Throws: `streamSeekFailed` for a station, and before the length is known; `invalidState` when it does not play.
    public func seek(to time: Duration) throws(RadioError) {
        let failure = control.order { [name] contents -> RadioError? in
            guard contents.isActive else {
                return RadioError(
                    .invalidState, operation: "seek", subject: name, message: "It does not play; start it first.")
            }
            guard contents.status.duration != nil else {
                return RadioError(
                    .streamSeekFailed, operation: "seek", subject: name,
                    message: "A stream without a known length cannot be sought in.")
            }
            contents.seek = max(.zero, time)
            contents.stopReason = .temporarily
            return nil
        }
        if let failure { throw failure }
    }

    /// How loud it plays: 1 for as it comes, 0 for silence; up to 4. Fades within a moment.
    public var volume: Float {
        get { control.contents.withLock { $0.volume } }
        set {
            let volume = newValue.isFinite ? min(max(newValue, 0), 4) : 0
            control.order { $0.volume = volume }
        }
    }

    // MARK: State

    /// The state now.
    public var state: State { control.contents.withLock { $0.state } }

    /// Why it has stopped, or is stopping.
    public var stopReason: StopReason { control.contents.withLock { $0.stopReason } }

    /// Why it has failed; nil when it has not since the last start.
    public var error: RadioError? { control.contents.withLock { $0.error } }

    /// Whether sound is heard. (`isPlaying`)
    public var isPlaying: Bool { [.playing, .flushingEnd].contains(state) }

    /// Whether it is paused. (`isPaused`)
    public var isPaused: Bool { state == .paused }

    /// Whether it waits for sound. (`isWaiting`)
    public var isWaiting: Bool {
        [.starting, .waitingForData, .waitingForRendererToStart, .buffering].contains(state)
    }

    /// Whether it is at rest. (`isIdle`)
    public var isIdle: Bool { state == .initialized }

    /// What it shows at this moment.
    public var status: Status { control.contents.withLock { $0.status } }

    /// A stream of all changes of the state from now on; none is left out, however late they are read. It ends with the
    /// player.
    public func stateChanges() -> AsyncStream<StateChange> { control.contents.withLock { $0.changes }.stream() }

    /// A stream of all titles from now on, each when it is heard. It ends with the player.
    public func titles() -> AsyncStream<Title> {
        control.contents.withLock { $0.titles }.stream(bufferingPolicy: .bufferingNewest(64))
    }

    // MARK: Thread

    private func beginThread() {
        let engine = RadioEngine(
            control, url: url, configuration: configuration, renderer: renderer, clock: clock,
            makeTransport: makeTransport)
        do {
            try CaptureThread(name: "radio") { engine.run() }
        } catch {
            let failure = RadioError(
                .playerFailed, operation: error.operation, errno: error.systemError, message: error.message)
            control.order { contents in
                contents.isThreadAlive = false
                contents.isStartOrdered = false
                contents.beginStop(.error, failure)
                contents.transition(to: .stopped, .failure(failure))
                contents.transition(to: .initialized, .failure(failure))
                contents.sessionsEnded += 1
            }
        }
    }
}
