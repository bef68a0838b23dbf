import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// A capture that works, but for one flaw. The flaws in frames and their delivery are the ``FlawedInlet``'s.
final class BrokenCapture: VideoCapture {
    struct Contents {
        var inits = 0
        var starts = 0
        var releases = 0
        var isInitialized = false
        var stopsRunning = 0
        var owner: UInt?
        var strongConsumer: (any VideoCaptureConsumer)?
        var settingsRead = 0
        var isSpoiled = false
        var streams = 0
    }

    let flaw: Flaw?
    private let inner: any VideoCapture
    private let inlet: FlawedInlet
    private let contents = Locked(Contents())

    init(_ flaw: Flaw?, inner: any VideoCapture) {
        self.flaw = flaw
        self.inner = inner
        inlet = FlawedInlet(flaw) { [weak inner] in inner?.isCaptureStarted ?? false }
        if flaw == .livesOn { kept.withLock { $0.append(self) } }
    }

    deinit {
        if flaw == .streamsNeverEnd { kept.withLock { $0.append(inner) } }
    }

    private func error(_ code: CaptureError.Code, _ message: String) -> CaptureError {
        CaptureError(code, operation: "be broken", message: message)
    }

    private func isWrongThread() -> Bool {
        guard flaw == .bindsToOneThread else { return false }
        let thread = CaptureThread.currentIdentifier
        return contents.withLock { contents in
            let owner = contents.owner ?? thread
            contents.owner = owner
            return owner != thread
        }
    }

    // MARK: Life

    func initCapture() throws(CaptureError) {
        if isWrongThread() { throw error(.system, "wrong thread") }
        let isSecond = contents.withLock { contents in
            defer { contents.isInitialized = true }
            return contents.isInitialized
        }
        if flaw == .secondInitThrows, isSecond { throw error(.deviceBusy, "busy with myself") }
        try inner.initCapture()
        if flaw == .threadStays, !isSecond { inlet.keepThreads() }
        if flaw == .descriptorStays, !isSecond { _ = open("/dev/null", O_RDONLY | O_CLOEXEC) }
    }

    func startCapture() throws(CaptureError) {
        if isWrongThread() { throw error(.system, "wrong thread") }
        switch flaw {
        case .startsWithoutInit: try initCapture()
        case .startsAfterRelease where contents.withLock({ $0.releases > 0 }): try initCapture()
        case .secondStartThrows where isCaptureStarted: throw error(.deviceBusy, "started already")
        case .restartAfterEndThrows where state == .stopped(.endOfStream): throw error(.endOfStream, "all read")
        case .startReturnsEarly:
            if inner.state == .idle { break }
            onThread { [inner] in
                usleep(30_000)
                try? inner.startCapture()
            }
            return
        default: break
        }
        if inner.state != .idle { inlet.beginStart() }
        guard flaw == .deliversOnStarter, !inner.isCaptureStarted else { return try inner.startCapture() }
        inlet.beginHandover()
        defer { inlet.endHandover() }
        try inner.startCapture()
        inlet.deliverHeld()
    }

    func stopCapture() throws(CaptureError) {
        if isWrongThread() { throw error(.system, "wrong thread") }
        let running = contents.withLock { contents in
            contents.stopsRunning += 1
            return contents.stopsRunning
        }
        defer { contents.withLock { $0.stopsRunning -= 1 } }
        switch flaw {
        case .acceptsStopBeforeInit where state == .idle: return
        case .secondStopThrows:
            if case .stopped = inner.state { throw error(.invalidState, "stopped already") }
        case .secondOfTwoStopsThrows where running > 1: throw error(.deviceBusy, "stopping already")
        case .stopIsSlow where isCaptureStarted: usleep(1_200_000)
        case .stopInsideThrows where inlet.isOnDeliveringThread: throw error(.invalidState, "not from in here")
        case .stopReturnsEarly where inner.isCaptureStarted:
            onThread { [inner] in try? inner.stopCapture() }
            return
        default: break
        }
        try inner.stopCapture()
    }

    func releaseCapture() {
        let releases = contents.withLock { contents in
            contents.isInitialized = false
            contents.releases += 1
            return contents.releases
        }
        if flaw == .releaseGoesOn, inner.isCaptureStarted {
            onThread { [inner] in
                usleep(30_000)
                inner.releaseCapture()
            }
            return
        }
        let wasIdle = inner.state == .idle
        inner.releaseCapture()
        if flaw == .secondReleaseOpens, wasIdle, releases > 1 { try? inner.initCapture() }
    }

    // MARK: What is told

    var videoCaptureConsumer: (any VideoCaptureConsumer)? {
        get { inlet.outer }
        set {
            if flaw == .holdsConsumer { contents.withLock { $0.strongConsumer = newValue } }
            if flaw == .ignoresNewConsumer, isCaptureStarted, newValue != nil, inlet.outer != nil { return }
            inlet.outer = newValue
            inner.videoCaptureConsumer = newValue == nil ? nil : inlet
        }
    }

    var videoContentHint: VideoContentHint {
        get { inner.videoContentHint }
        set { if flaw != .forgetsHint { inner.videoContentHint = newValue } }
    }

    var isCaptureStarted: Bool {
        if flaw == .saysStartedWhileStopping, inner.state == .stopping { return true }
        return inner.isCaptureStarted
    }

    func captureSettings() -> CaptureSettings {
        var settings = inner.captureSettings()
        if flaw == .wrongSize { settings.format = settings.format.resized(width: 99, height: 99) }
        if flaw == .settingsFlicker {
            let reads = contents.withLock { contents in
                contents.settingsRead += 1
                return contents.settingsRead
            }
            settings.sourceName = "read \(reads) times"
        }
        return settings
    }

    func adapt(to wants: CaptureWants) {
        if flaw == .wantsBreakIt, wants.acceptsBlack { inlet.muteForGood() }
        inner.adapt(to: wants)
    }

    var state: CaptureState {
        switch (flaw, inner.state) {
        case (.initIsSkippedInState, .initialized): return .idle
        case (.releaseStaysInitialized, .idle) where contents.withLock({ $0.releases > 0 }): return .initialized
        case (.forgetsErrors, .stopped(.error)):
            return contents.withLock { $0.stopsRunning } > 0 ? inner.state : .stopped(.user)
        default: return inner.state
        }
    }

    func stateChanges() -> AsyncStream<CaptureState.Change> {
        let streams = contents.withLock { contents in
            contents.streams += 1
            return contents.streams
        }
        switch flaw {
        case .secondStreamIsEmpty where streams == 2: return AsyncStream { $0.finish() }
        case .leavesOutStates:
            let source = inner.stateChanges()
            let (stream, continuation) = AsyncStream<CaptureState.Change>.makeStream()
            Task.detached {
                for await change in source where change.new != .starting { continuation.yield(change) }
                continuation.finish()
            }
            return stream
        default: return inner.stateChanges()
        }
    }

    var statistics: CaptureStatistics {
        var statistics = inner.statistics
        let unseen = inlet.unseen
        statistics.framesDelivered -= min(unseen, statistics.framesDelivered)
        statistics.framesDropped.noConsumer += unseen
        if flaw == .losesUncounted { statistics.framesDropped.noConsumer = 0 }
        if flaw == .countsNothing { statistics.framesDelivered = 0 }
        return statistics
    }
}

/// What flawed captures hold for ever.
let kept = Locked<[any AnyObject & Sendable]>([])

func onThread(_ body: @escaping @Sendable () -> Void) {
    _ = try? CaptureThread(name: "broken", body)
}
