public import AudioCapturing
import AudioResampling

/// A consumer of captured sound that plays it, on a `Loudspeaker` or another renderer.
///
/// ```swift
/// let playback = AudioPlayback(Loudspeaker())
/// let publisher = AudioPublisher(MicrophoneCapturer())
/// try playback.open(.float48kStereo)            // or with the first chunk
/// try publisher.add(playback, name: "loudspeaker")
/// try publisher.start()
/// …
/// publisher.close()
/// playback.close()
/// ```
/// Sound is heard ``latency`` after it was delivered. The renderer's clock is 20 to 100 millionths off that of the capture,
/// so the buffer level is regulated by resampling, by at most 0.2 %. An underrun is detected by the level, whatever the
/// renderer reports; playback continues when the buffer is as full as at the beginning. Sound of a burst is dropped, so that
/// the delay does not grow.
///
/// A renderer that fails, as a headset does that is unplugged, is opened again each second while sound comes.
///
/// Safe to use from any thread; the renderer is used by one at a time.
public final class AudioPlayback: AudioCaptureConsumer {
    /// How much sound is held between a chunk and the ear.
    public let latency: Duration

    private let renderer: any AudioRenderer
    private let clock: any CaptureClock
    private let onFailure: @Sendable (AudioRendererError) -> Void
    private let state = Locked(State())
    private let line: Line

    /// The sound queued in a device when it counts as run dry: less than a period of any device.
    private static let dryLevel = Duration.milliseconds(5)
    private static let retryInterval = Duration.seconds(1)
    /// How often the rate is corrected.
    private static let lookInterval = Duration.milliseconds(500)

    private struct State {
        var isBusy = false
        var statistics = AudioPlayback.Statistics()
    }

    /// A playback that opens nothing yet.
    ///
    /// - Parameters:
    ///   - renderer: where the sound is played; used by no one else.
    ///   - latency: how much sound is held, 20 ms or more; more of it survives longer pauses of the machine.
    ///   - clock: the clock of the level and of further attempts.
    ///   - onFailure: called when the renderer fails, on the thread that delivers sound, and not again before it has
    ///     played. It must not call the playback.
    public init(
        _ renderer: any AudioRenderer, latency: Duration = .milliseconds(150),
        clock: any CaptureClock = MonotonicClock(),
        onFailure: @escaping @Sendable (AudioRendererError) -> Void = { _ in }
    ) {
        self.renderer = renderer
        self.latency = max(.milliseconds(20), latency)
        self.clock = clock
        self.onFailure = onFailure
        line = Line(level: LevelController(holding: self.latency.seconds))
    }

    deinit { renderer.close() }

    /// Statistics of the playback.
    public struct Statistics: Sendable, Hashable {
        /// Frames that the renderer took, at the renderer's rate.
        public var framesPlayed: Int64 = 0
        /// Frames that were left out: of a burst, and while there was no renderer.
        public var framesDropped: Int64 = 0
        /// How often the sound has run out.
        public var underruns: UInt64 = 0
        /// How often the renderer has failed.
        public var failures: UInt64 = 0
        /// The sound that was held when the last chunk had come.
        public var level = Duration.zero
        /// How much longer the sound is made so that the level stays, in millionths.
        public var rateCorrection = 0.0

        /// Counts that are all zero.
        public init() {}
    }

    /// The statistics so far.
    public var statistics: AudioPlayback.Statistics { state.withLock { $0.statistics } }

    // MARK: Life

    /// Opens the renderer, which the first chunk does otherwise.
    ///
    /// - Parameter format: the format of the sound that will come, as far as it is known.
    /// - Throws: what the renderer throws.
    public func open(_ format: AudioFormat) throws(AudioRendererError) {
        let opened: Result<Void, AudioRendererError> = exclusively { line in
            guard line.output == nil else { return .success(()) }
            return Result { () throws(AudioRendererError) in try begin(line, format) }
        }
        try opened.get()
    }

    public func consumeAudio(_ chunk: AudioChunk) {
        let failure: AudioRendererError? = exclusively { line in
            do throws(AudioRendererError) {
                try play(chunk, line)
                return nil
            } catch {
                return fail(line, error)
            }
        }
        if let failure { onFailure(failure) }
    }

    /// Plays the buffered sound, which takes the time of ``latency``, and closes the renderer. A later chunk opens it
    /// again.
    public func close() {
        exclusively { line in
            try? drain(line)
            end(line)
        }
    }

    /// Runs `body` while no other thread does, and with no lock held.
    private func exclusively<Result>(_ body: (Line) -> Result) -> Result {
        _ = state.wait { state -> Void? in
            guard !state.isBusy else { return nil }
            state.isBusy = true
            return ()
        }
        defer {
            state.withLock { $0.isBusy = false }
            state.wakeAll()
        }
        return body(line)
    }

    // MARK: Playing

    /// `@unchecked Sendable`: ``exclusively(_:)`` lets one thread in, and hands over through its lock.
    private final class Line: @unchecked Sendable {
        /// The format of the renderer; nil while it is not open.
        @exclusivity(unchecked) var output: AudioFormat?
        @exclusivity(unchecked) var ring = SampleRing(channels: 1, capacity: 1)
        @exclusivity(unchecked) var resampler: AudioResampler?
        @exclusivity(unchecked) var level: LevelController
        @exclusivity(unchecked) var scratch: [Float] = []
        @exclusivity(unchecked) var integers: [Int16] = []
        /// Whether there was enough to begin with.
        @exclusivity(unchecked) var isSounding = false
        /// Whether sound is left out until no more is held than should be.
        @exclusivity(unchecked) var isTrimming = false
        /// Whether the last failure has been reported.
        @exclusivity(unchecked) var hasFailed = false
        @exclusivity(unchecked) var retryTime = MediaTime.zero
        @exclusivity(unchecked) var nextLook = MediaTime.zero

        init(level: LevelController) { self.level = level }
    }

    private func begin(_ line: Line, _ format: AudioFormat) throws(AudioRendererError) {
        let wanted = AudioFormat(.float32, format.channels, sampleRate: format.sampleRate)
        let opened = try renderer.open(wanted)
        line.output = opened
        line.ring = SampleRing(
            channels: opened.channels.count, capacity: Int(opened.frames(in: latency * 2 + .seconds(1))))
        line.resampler = nil
        line.isSounding = false
    }

    private func end(_ line: Line) {
        renderer.close()
        line.output = nil
        line.resampler = nil
        line.isSounding = false
        line.isTrimming = false
        line.level.restart()
    }

    /// - Returns: the error, if it is the first one since there was sound.
    private func fail(_ line: Line, _ error: AudioRendererError) -> AudioRendererError? {
        end(line)
        line.retryTime = clock.now.advanced(by: AudioPlayback.retryInterval)
        state.withLock { $0.statistics.failures &+= 1 }
        guard !line.hasFailed else { return nil }
        line.hasFailed = true
        return error
    }

    private func play(_ chunk: AudioChunk, _ line: Line) throws(AudioRendererError) {
        if line.output == nil {
            guard clock.now >= line.retryTime else { return drop(Int64(chunk.frameCount)) }
            try begin(line, chunk.format)
        }
        guard let output = line.output else { return }
        if line.isSounding, line.ring.count == 0, output.duration(ofFrames: try queued()) <= AudioPlayback.dryLevel {
            state.withLock { $0.statistics.underruns &+= 1 }
            line.isSounding = false
            line.level.restart()
        }
        try hold(chunk, line, output)
        if !line.isSounding {
            guard output.duration(ofFrames: Int64(line.ring.count)) >= latency else { return }
            line.isSounding = true
        }
        try pump(line, output)
        line.hasFailed = false
        let held = output.duration(ofFrames: Int64(line.ring.count) + (try queued()))
        let now = clock.now
        if now >= line.nextLook {
            line.nextLook = now.advanced(by: AudioPlayback.lookInterval)
            line.resampler?.compensation = line.level.update(level: held.seconds, now: now)
        }
        let correction = line.level.correction
        state.withLock { state in
            state.statistics.level = held
            state.statistics.rateCorrection = correction
        }
    }

    private func queued() throws(AudioRendererError) -> Int64 { Int64(max(0, try renderer.queuedFrames())) }

    private func drop(_ frames: Int64) { state.withLock { $0.statistics.framesDropped += frames } }

    /// Converts a chunk, and keeps it in the ring.
    private func hold(_ chunk: AudioChunk, _ line: Line, _ output: AudioFormat) throws(AudioRendererError) {
        let count: Int
        do throws(CodecError) {
            let target = AudioFormat(.float32, output.channels, sampleRate: output.sampleRate)
            let resampler: AudioResampler
            if let present = line.resampler, present.input == chunk.format {
                resampler = present
            } else {
                flush(line, output)
                resampler = try AudioResampler(from: chunk.format, to: target)
                resampler.compensation = line.level.correction
                line.resampler = resampler
            }
            let room = resampler.outputCapacity(forInput: chunk.frameCount) * output.channels.count
            if line.scratch.count < room { line.scratch = [Float](repeating: 0, count: room) }
            count = try line.scratch.withUnsafeMutableBufferPointer { (memory) throws(CodecError) in
                try chunk.buffer.withUnsafeBytes { (samples) throws(CodecError) in
                    try resampler.convert(samples, into: UnsafeMutableRawBufferPointer(memory))
                }
            }
        } catch {
            throw AudioRendererError(
                error.code == .formatUnsupported ? .formatUnsupported : .unavailable, operation: error.operation,
                subject: renderer.name, libraryCode: error.libraryCode, message: error.message)
        }
        // Sound beyond a limit would delay all that follows.
        let held = output.duration(ofFrames: Int64(line.ring.count) + (try queued()))
        let isTooMuch = held > (line.isTrimming ? latency : latency * 2 + .milliseconds(200))
        if isTooMuch, !line.isTrimming { line.level.restart() }
        line.isTrimming = isTooMuch
        guard !isTooMuch else { return drop(Int64(count)) }
        line.scratch.withUnsafeBufferPointer { samples in
            line.ring.write(UnsafeBufferPointer(rebasing: samples[..<(count * output.channels.count)]))
        }
    }

    /// Keeps what the resampler still holds, and ends it.
    private func flush(_ line: Line, _ output: AudioFormat) {
        guard let resampler = line.resampler.take() else { return }
        let channels = output.channels.count
        line.scratch.withUnsafeMutableBufferPointer { memory in
            // A failure loses a third of a millisecond.
            let count = (try? resampler.drain(into: UnsafeMutableRawBufferPointer(memory))) ?? 0
            line.ring.write(UnsafeBufferPointer(rebasing: memory[..<(count * channels)]))
        }
    }

    /// Gives the renderer what it takes.
    private func pump(_ line: Line, _ output: AudioFormat) throws(AudioRendererError) {
        while line.ring.count > 0 {
            let samples = line.ring.next(upTo: 2048)
            let frames = samples.count / output.channels.count
            let taken: Int
            switch output.sampleType {
            case .float32: taken = try renderer.write(UnsafeRawBufferPointer(samples))
            case .int16:
                line.integers.removeAll(keepingCapacity: true)
                for sample in samples {
                    line.integers.append(Int16(max(-32768, min(32767, (sample * 32767).rounded()))))
                }
                taken = try line.integers.withUnsafeBufferPointer { (integers) throws(AudioRendererError) in
                    try renderer.write(UnsafeRawBufferPointer(integers))
                }
            }
            line.ring.consume(taken)
            state.withLock { $0.statistics.framesPlayed += Int64(taken) }
            guard taken == frames else { return }
        }
    }

    /// Waits until all is played, and no longer than that takes.
    private func drain(_ line: Line) throws(AudioRendererError) {
        guard let output = line.output else { return }
        flush(line, output)
        let held = output.duration(ofFrames: Int64(line.ring.count) + (try queued()))
        let limit = clock.now.advanced(by: held + .milliseconds(500))
        while clock.now < limit {
            try pump(line, output)
            let left = try queued() + Int64(line.ring.count)
            guard left > 0 else { return }
            clock.wait(until: clock.now.advanced(by: .milliseconds(10)), or: ManualResetEvent())
        }
    }
}
