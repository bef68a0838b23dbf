import AudioCapturing
import CapturerTestKit
import Testing

@Suite struct AudioCapturerTests {
    static let suites: [AudioConformanceSuite] = [
        AudioConformanceSuite(
            name: "generator",
            makeFailingCapture: {
                // Once, after three chunks.
                let hasFailed = Locked(false)
                return AudioSourceCapturer(
                    ClosureSound(pacing: .clock) { index, _ in
                        if index == 3,
                            hasFailed.withLock({ flag in
                                defer { flag = true }
                                return !flag
                            })
                        {
                            throw CaptureError(.stalled, operation: "test", message: "x")
                        }
                        return true
                    })
            }, makeCapture: { AudioSourceCapturer(ClosureSound(pacing: .clock) { _, _ in true }) }),
        AudioConformanceSuite(name: "finite") {
            AudioSourceCapturer(ClosureSound(pacing: .clock) { index, _ in index < 12 })
        },
        AudioConformanceSuite(name: "device") {
            AudioSourceCapturer(
                ClosureSound(pacing: .device) { _, context in
                    context.wait(until: context.now.advanced(by: .milliseconds(5)))
                    return true
                })
        },
        AudioConformanceSuite(name: "unpaced", timestampsMayRunAhead: true) {
            AudioSourceCapturer(ClosureSound(pacing: .unpaced) { _, _ in true })
        },
    ]

    @Test(arguments: suites.indices)
    func runtimeConforms(index: Int) async {
        let report = await AudioCapturerTests.suites[index].runDetached()
        #expect(report.failures.isEmpty, "\(report)")
        #expect(report.checks.count == AudioConformanceSuite.Rule.allCases.count)
    }

    @Test func statesOfAnInterruption() async throws {
        let capture = AudioSourceCapturer(
            ScriptedSound(
                mono,
                [
                    .chunk(frames: 48, at: nil), .interruption(.deviceDisconnected), .interruption(.stalled),
                    .chunk(frames: 48, at: nil),
                    .failure(CaptureError(.deviceLost, operation: "read", subject: "hw:Mic", message: "Gone.")),
                ]))
        let changes = capture.stateChanges()
        _ = try run(capture)
        capture.releaseCapture()
        var seen: [CaptureState] = []
        for await change in changes {
            seen.append(change.new)
            if change.new == .idle { break }
        }
        let error = CaptureError(.deviceLost, operation: "read", subject: "hw:Mic", message: "Gone.")
        #expect(
            seen == [
                .initialized, .starting, .running, .interrupted(.deviceDisconnected), .interrupted(.stalled), .running,
                .stopped(.deviceLost(error)), .idle,
            ])
        #expect(capture.statistics.interruptions == 1)
    }

    @Test func pushedSoundEndsWithTheStream() throws {
        let capture = PushAudioCapturer(format: mono, policy: .block)
        let recorder = AudioRecorder()
        capture.audioCaptureConsumer = recorder
        let buffer = try AudioBuffer(copying: [Int16](repeating: 1, count: 480), channels: .mono, sampleRate: 48_000)
        #expect(!capture.push(buffer))
        try capture.initCapture()
        try capture.startCapture()
        let start = MonotonicClock().now
        for index in 0..<100 { #expect(capture.push(buffer, timestamp: start.advanced(by: .milliseconds(index * 10)))) }
        capture.finish()
        recorder.awaitEnd(of: capture)
        #expect(capture.state == .stopped(.endOfStream))
        #expect(recorder.chunks.count == 100)
        #expect(recorder.chunks.dropFirst().allSatisfy { $0.discontinuity == nil })
        #expect(!capture.push(try AudioBuffer(copying: [Int16](), channels: .mono, sampleRate: 48_000)))
    }

    @Test func catalogueFindsByNameAndScheme() throws {
        let mic = AudioCapturerEntry(name: "mic", summary: "", inputPlaceholder: "DEVICE") { request in
            AudioCatalogSource(PushAudioCapturer(format: mono, name: request.input ?? "default"))
        }
        let radio = AudioCapturerEntry(name: "radio", summary: "", schemes: ["http", "HTTPS"]) { request in
            AudioCatalogSource(PushAudioCapturer(format: mono, name: request.input ?? ""))
        }
        let tone = AudioCapturerEntry(name: "tone", summary: "") { _ in
            AudioCatalogSource(PushAudioCapturer(format: mono))
        }
        let catalog = AudioCapturerCatalog([mic, radio, tone])
        func found(_ text: String) throws -> String? {
            guard let (entry, request) = catalog.find(text) else { return nil }
            return try entry.make(request).capture.captureSettings().sourceName
        }
        #expect(try found("MIC") == "default")
        #expect(try found("mic:hw:CARD=Mic,DEV=0") == "hw:CARD=Mic,DEV=0")
        #expect(try found("https://radio.example/stream") == "https://radio.example/stream")
        #expect(try found("tone:1000") == nil)
        #expect(try found("ftp://x") == nil)
        #expect(try found("") == nil)
    }
}

/// Quiet sound in chunks of 5 ms, as long as a closure says that there is more.
struct ClosureSound: AudioSource {
    let settings = AudioSettings(format: mono, chunkDuration: .milliseconds(5), sourceName: "closure")
    let pacing: AudioPacing
    /// Called with the number of the chunk since the start: one that a stop has overtaken must not bring the next session
    /// to its end.
    let next: @Sendable (Int, AudioContext) throws -> Bool
    private var index = 0
    private var made = 0

    init(pacing: AudioPacing, _ next: @escaping @Sendable (Int, AudioContext) throws -> Bool) {
        self.pacing = pacing
        self.next = next
    }

    mutating func start(_ context: AudioContext) { index = 0 }

    mutating func nextChunk(_ context: AudioContext) throws -> SourceAudio? {
        defer { index += 1 }
        guard try next(index, context) else { return nil }
        made += 1
        return try context.makeAudio(settings) { [made] samples in
            samples.withSamples(as: Int16.self) { samples in
                for position in samples.indices { samples[position] = Int16(truncatingIfNeeded: made) }
            }
        }
    }
}
