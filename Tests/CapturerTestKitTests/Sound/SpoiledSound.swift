import AudioCapturing
import CapturerTestKit

/// One way each to break what the contract says of sound alone.
enum SoundFlaw: String, CaseIterable {
    case numbersBeginAgain, hidesGaps, hidesDiscontinuities, drifts, changesFormat
    case startIsNotStated, startIsStatedTwice, emptyChunks, notANumber, changesKeptChunks
    case lyingSettings, flickeringSettings, holdsConsumer, livesOn

    /// The rule that must catch it.
    var rule: AudioConformanceSuite.Rule {
        switch self {
        case .numbersBeginAgain: .numbersIncrease
        case .hidesGaps: .lossesAreCounted
        case .hidesDiscontinuities, .drifts, .changesFormat: .chunksContinue
        case .startIsNotStated, .startIsStatedTwice: .startIsStated
        case .emptyChunks, .notANumber: .samplesFit
        case .changesKeptChunks: .keptChunksStay
        case .lyingSettings, .flickeringSettings: .settingsAreTrue
        case .holdsConsumer: .consumerIsWeak
        case .livesOn: .givesBackDevice
        }
    }
}

/// A sound capture that works, but for one flaw.
final class SpoiledSound: AudioCapture {
    private let flaw: SoundFlaw
    private let inner = AudioSourceCapturer(Ramp())
    private let inlet: Inlet
    private let strong = Locked<(any AudioCaptureConsumer)?>(nil)
    private let reads = Locked(0)

    init(_ flaw: SoundFlaw) {
        self.flaw = flaw
        inlet = Inlet(flaw)
        if flaw == .livesOn { kept.withLock { $0.append(self) } }
    }

    var audioCaptureConsumer: (any AudioCaptureConsumer)? {
        get { inlet.outer }
        set {
            if flaw == .holdsConsumer { strong.withLock { $0 = newValue } }
            inlet.outer = newValue
            inner.audioCaptureConsumer = newValue == nil ? nil : inlet
        }
    }

    func initCapture() throws(CaptureError) { try inner.initCapture() }

    func startCapture() throws(CaptureError) {
        inlet.beginStart()
        try inner.startCapture()
    }

    func stopCapture() throws(CaptureError) { try inner.stopCapture() }
    func releaseCapture() { inner.releaseCapture() }
    var isCaptureStarted: Bool { inner.isCaptureStarted }

    func captureSettings() -> AudioSettings {
        var settings = inner.captureSettings()
        if flaw == .lyingSettings { settings.format.sampleRate = 44_100 }
        if flaw == .flickeringSettings {
            settings.sourceName = reads.withLock { reads in
                reads += 1
                return "read \(reads) times"
            }
        }
        return settings
    }

    var state: CaptureState { inner.state }
    func stateChanges() -> AsyncStream<CaptureState.Change> { inner.stateChanges() }
    var statistics: AudioStatistics { inner.statistics }

    /// Spoils chunks.
    private final class Inlet: AudioCaptureConsumer {
        private struct Contents {
            weak var outer: (any AudioCaptureConsumer)?
            var chunksInStart: Int64 = 0
            var frames: Int64 = 0
            var first: AudioBuffer?
        }

        private let flaw: SoundFlaw
        private let contents = Locked(Contents())

        init(_ flaw: SoundFlaw) { self.flaw = flaw }

        var outer: (any AudioCaptureConsumer)? {
            get { contents.withLock { $0.outer } }
            set { contents.withLock { $0.outer = newValue } }
        }

        func beginStart() { contents.withLock { $0.chunksInStart = 0 } }

        func consumeAudio(_ chunk: AudioChunk) {
            var chunk = chunk
            let (number, first, outer) = contents.withLock { contents in
                contents.chunksInStart += 1
                let first = contents.first ?? chunk.buffer
                contents.first = first
                return (contents.chunksInStart, first, contents.outer)
            }
            switch flaw {
            case .numbersBeginAgain: chunk.firstFrame = (number - 1) * Int64(chunk.frameCount)
            case .hidesGaps: chunk.firstFrame *= 2
            case .hidesDiscontinuities where chunk.discontinuity != .start: chunk.discontinuity = nil
            case .drifts: chunk.timestamp = chunk.timestamp.advanced(by: .milliseconds(number * 25))
            case .changesFormat where number % 3 == 0:
                chunk.buffer = buffer([Float](repeating: 0, count: chunk.frameCount), sampleRate: 8000) ?? chunk.buffer
            case .startIsNotStated where chunk.discontinuity == .start: chunk.discontinuity = nil
            case .startIsStatedTwice where number == 2: chunk.discontinuity = .start
            case .emptyChunks where number == 3: chunk.buffer = buffer([], sampleRate: 48_000) ?? chunk.buffer
            case .notANumber where number == 3:
                chunk.buffer = buffer([0, .nan, 0], sampleRate: 48_000) ?? chunk.buffer
            case .changesKeptChunks where number > 20:
                first.withUnsafeBytes { bytes in
                    UnsafeMutableRawBufferPointer(mutating: bytes)[0] = UInt8(truncatingIfNeeded: 100 + number)
                }
            default: break
            }
            outer?.consumeAudio(chunk)
        }

        private func buffer(_ samples: [Float], sampleRate: Int) -> AudioBuffer? {
            try? AudioBuffer(copying: samples, channels: .mono, sampleRate: sampleRate)
        }
    }
}

/// Chunks of 5 ms that can be told apart.
struct Ramp: AudioSource {
    let settings = AudioSettings(
        format: AudioFormat(.float32, .mono, sampleRate: 48_000), chunkDuration: .milliseconds(5), sourceName: "ramp")

    func nextChunk(_ context: AudioContext) throws -> SourceAudio? {
        let first = context.nextFrame
        return try context.makeAudio(settings) { writer in
            writer.withSamples(as: Float.self) { samples in
                for index in samples.indices { samples[index] = Float((first + Int64(index)) % 1000) / 1000 }
            }
        }
    }
}
