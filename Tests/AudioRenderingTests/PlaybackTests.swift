import AudioCapturing
import AudioRendering
import CapturerTestKit
import Testing

/// Plays by a clock of its own, which is off from the capture's by some millionths, and keeps what it was given.
private final class ScriptedRenderer: AudioRenderer {
    private struct State {
        var format: AudioFormat?
        var written: Int64 = 0
        var played: Int64 = 0
        var last = MediaTime.zero
        var rest = 0.0
        var samples: [Float] = []
        var opens = 0
        var failures: [AudioRendererErrorCode] = []
        var refusals = 0
    }

    let name = "scripted"
    private let clock: VirtualClock
    private let rate: Double
    private let sampleType: SampleType
    private let capacity: Duration
    private let state = Locked(State())

    init(_ clock: VirtualClock, ppm: Double = 0, _ sampleType: SampleType = .float32, capacity: Duration = .seconds(1))
    {
        self.clock = clock
        rate = 1 + ppm * 1e-6
        self.sampleType = sampleType
        self.capacity = capacity
    }

    var samples: [Float] { state.withLock { $0.samples } }
    var opens: Int { state.withLock { $0.opens } }

    /// The next write fails, and then this number of attempts to open it again.
    func unplug(refusals: Int) {
        state.withLock { state in
            state.failures = [.deviceLost]
            state.refusals = refusals
        }
    }

    func open(_ wanted: AudioFormat) throws(AudioRendererError) -> AudioFormat {
        let format = AudioFormat(sampleType, wanted.channels, sampleRate: wanted.sampleRate)
        let isRefused = state.withLock { state in
            state.opens += 1
            guard state.refusals == 0 else {
                state.refusals -= 1
                return true
            }
            state.format = format
            (state.written, state.played, state.last) = (0, 0, clock.now)
            return false
        }
        if isRefused { throw AudioRendererError(.deviceNotFound, operation: "open", message: "It is gone.") }
        return format
    }

    var bufferFrames: Int { state.withLock { Int($0.format?.frames(in: capacity) ?? 0) } }

    private func settle(_ state: inout State) {
        guard let format = state.format else { return }
        let elapsed = (clock.now - state.last).seconds * Double(format.sampleRate) * rate + state.rest
        state.last = clock.now
        // The part of a frame would be lost at each look.
        state.rest = elapsed - elapsed.rounded(.down)
        state.played = min(state.written, state.played + Int64(elapsed))
    }

    func write(_ samples: UnsafeRawBufferPointer) throws(AudioRendererError) -> Int {
        let room = bufferFrames - (try queuedFrames())
        let failure = state.withLock { $0.failures.popLast() }
        if let failure { throw AudioRendererError(failure, operation: "play", message: "It is gone.") }
        return state.withLock { state in
            guard let format = state.format else { return 0 }
            let frames = min(room, samples.count / format.bytesPerFrame)
            let count = frames * format.channels.count
            switch format.sampleType {
            case .float32: state.samples += samples.bindMemory(to: Float.self).prefix(count)
            case .int16: state.samples += samples.bindMemory(to: Int16.self).prefix(count).map { Float($0) / 32768 }
            }
            state.written += Int64(frames)
            return frames
        }
    }

    func queuedFrames() throws(AudioRendererError) -> Int {
        state.withLock { state in
            settle(&state)
            return Int(state.written - state.played)
        }
    }

    func pause() throws(AudioRendererError) {}
    func resume() throws(AudioRendererError) {}
    func flush() throws(AudioRendererError) {}
    func close() { state.withLock { $0.format = nil } }
}

/// Sound in chunks of 20 ms.
private struct Feed {
    let clock: VirtualClock
    let playback: AudioPlayback
    let format: AudioFormat
    private(set) var frame: Int64 = 0

    init(_ clock: VirtualClock, _ playback: AudioPlayback, _ format: AudioFormat) {
        (self.clock, self.playback, self.format) = (clock, playback, format)
    }

    /// Gives a number of chunks of a tone of a hundredth of the rate.
    mutating func give(_ chunks: Int, each interval: Duration = .milliseconds(20)) throws {
        for _ in 0..<chunks {
            let frames = Int(format.frames(in: .milliseconds(20)))
            let samples = (0..<frames).flatMap { index -> [Int16] in
                let isHigh = (frame + Int64(index)) % 100 < 50
                return Array(repeating: isHigh ? 8192 : -8192, count: format.channels.count)
            }
            let buffer = try AudioBuffer(copying: samples, channels: format.channels, sampleRate: format.sampleRate)
            clock.advance(by: interval)
            playback.consumeAudio(
                AudioChunk(buffer: buffer, timestamp: clock.now.advanced(by: .milliseconds(-20)), firstFrame: frame))
            frame += Int64(frames)
        }
    }
}

@Suite struct PlaybackTests {
    private static let mono = AudioFormat(.int16, .mono, sampleRate: 8000)
    private let clock = VirtualClock()

    @Test(arguments: [0.0, 100, -100, 1000, -1000])
    func theLevelIsHeldAgainstTheRenderersClock(ppm: Double) throws {
        let renderer = ScriptedRenderer(clock, ppm: ppm)
        let playback = AudioPlayback(renderer, clock: clock)
        var feed = Feed(clock, playback, Self.mono)
        var levels: [Double] = []
        for _ in 0..<300 {
            try feed.give(50)
            levels.append(playback.statistics.level.seconds)
        }
        let found = playback.statistics
        #expect(found.underruns == 0 && found.framesDropped == 0 && found.failures == 0, "\(found)")
        // At 1000 millionths half of the largest correction is needed, for which a quarter of the level is missing.
        let limit = 0.03 + abs(ppm) * 5e-5
        #expect(levels.allSatisfy { abs($0 - 0.15) < limit }, "\(levels.min()!) to \(levels.max()!)")
        #expect(abs(found.rateCorrection - ppm) < 100, "\(found.rateCorrection)")
    }

    @Test func whatIsPlayedIsWhatWasCaptured() throws {
        let renderer = ScriptedRenderer(clock, .int16)
        let playback = AudioPlayback(renderer, clock: clock)
        try playback.open(.int16At48kStereo)
        var feed = Feed(clock, playback, AudioFormat(.int16, .stereo, sampleRate: 48_000))
        try feed.give(10)
        playback.close()
        let samples = renderer.samples
        #expect(abs(samples.count / 2 - 10 * 960) <= 8, "all of it, at the end too: \(samples.count / 2)")
        let left = samples.indices.filter { $0.isMultiple(of: 2) }.map { samples[$0] }
        let right = samples.indices.filter { !$0.isMultiple(of: 2) }.map { samples[$0] }
        #expect(left == right)
        #expect((94...97).contains(zip(left, left.dropFirst()).count { $0 <= 0 && $1 > 0 }))
        // The edges of the square ring, as those of anything with limited bandwidth.
        #expect(left.allSatisfy { abs($0) < 0.33 })
        #expect(left.count { abs(abs($0) - 0.25) < 0.01 } > 5000)
        #expect(renderer.opens == 1)
    }

    @Test func whatRunsOutIsAnUnderrun() throws {
        let renderer = ScriptedRenderer(clock)
        let playback = AudioPlayback(renderer, clock: clock)
        var feed = Feed(clock, playback, Self.mono)
        try feed.give(7)
        #expect(playback.statistics.framesPlayed == 0, "too little to begin with")
        try feed.give(50)
        let played = playback.statistics.framesPlayed
        // The resampler holds some.
        #expect((9080...9120).contains(played), "\(played)")
        // A source that has nothing for a while; then as much is gathered as at the beginning.
        clock.advance(by: .seconds(3))
        try feed.give(7)
        #expect(playback.statistics.underruns == 1)
        #expect(playback.statistics.framesPlayed == played)
        try feed.give(50)
        #expect(playback.statistics.underruns == 1)
        #expect(playback.statistics.framesPlayed == played + 9120)
        #expect(playback.statistics.framesDropped == 0)
    }

    @Test func aBurstDoesNotDelayWhatFollows() throws {
        let renderer = ScriptedRenderer(clock)
        let playback = AudioPlayback(renderer, clock: clock)
        var feed = Feed(clock, playback, Self.mono)
        try feed.give(50)
        // Two seconds at once, as from a machine that was busy.
        try feed.give(100, each: .zero)
        let found = playback.statistics
        #expect(found.level <= .milliseconds(520), "\(found)")
        #expect(found.framesDropped > 8000, "\(found)")
        try feed.give(50)
        #expect(playback.statistics.level <= .milliseconds(170))
        #expect(playback.statistics.underruns == 0)
    }

    @Test func aBufferThatIsSmallerThanTheLevel() throws {
        let renderer = ScriptedRenderer(clock, capacity: .milliseconds(60))
        let playback = AudioPlayback(renderer, clock: clock)
        var feed = Feed(clock, playback, Self.mono)
        try feed.give(500)
        let found = playback.statistics
        #expect(found.underruns == 0 && found.framesDropped == 0, "\(found)")
        #expect(abs(found.level.seconds - 0.15) < 0.03, "\(found)")
    }

    @Test func aRendererThatIsUnpluggedIsOpenedAgain() throws {
        let renderer = ScriptedRenderer(clock)
        let reported = Locked<[AudioRendererErrorCode]>([])
        let playback = AudioPlayback(renderer, clock: clock) { error in reported.withLock { $0.append(error.code) } }
        var feed = Feed(clock, playback, Self.mono)
        try feed.give(50)
        renderer.unplug(refusals: 2)
        // An attempt a second; the third one succeeds.
        try feed.give(140)
        #expect(renderer.opens == 3)
        #expect(reported.withLock { $0 } == [.deviceLost], "once")
        let before = playback.statistics.framesPlayed
        try feed.give(50)
        #expect(renderer.opens == 4)
        #expect(playback.statistics.framesPlayed > before)
        #expect(playback.statistics.failures == 3)
        #expect(playback.statistics.framesDropped > 100 * 160)
        // What fails after that is another failure.
        renderer.unplug(refusals: 0)
        try feed.give(1)
        #expect(reported.withLock { $0 } == [.deviceLost, .deviceLost])
    }

    @Test func aFormatThatChanges() throws {
        let renderer = ScriptedRenderer(clock)
        let playback = AudioPlayback(renderer, clock: clock)
        var feed = Feed(clock, playback, Self.mono)
        try feed.give(50)
        var other = Feed(clock, playback, AudioFormat(.int16, .stereo, sampleRate: 16_000))
        try other.give(50)
        let found = playback.statistics
        #expect(renderer.opens == 1)
        #expect(abs(found.framesPlayed - 100 * 160) < 100, "\(found)")
        #expect(found.underruns == 0)
    }

    @Test func whatCannotBeOpenedIsAnError() {
        let renderer = ScriptedRenderer(clock)
        renderer.unplug(refusals: 1)
        let playback = AudioPlayback(renderer, clock: clock)
        let error = #expect(throws: AudioRendererError.self) { try playback.open(.int16At48kStereo) }
        #expect(error?.code == .deviceNotFound)
    }
}
