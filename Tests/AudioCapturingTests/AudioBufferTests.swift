import AudioCapturing
import Testing

@Suite struct AudioBufferTests {
    @Test func formatsCount() throws {
        let format = AudioFormat(.float32, .discrete(6), sampleRate: 44_100)
        #expect(format.bytesPerFrame == 24)
        #expect(format.duration(ofFrames: 44_100) == .seconds(1))
        #expect(format.duration(ofFrames: 1) == .nanoseconds(22_675))
        #expect(format.frames(in: .nanoseconds(22_675)) == 1)
        #expect(format.frames(in: .milliseconds(20)) == 882)
        #expect(format.frames(in: .seconds(-1)) == -44_100)
        // A day of frames is exact, and what no clock can hold saturates.
        #expect(format.duration(ofFrames: 44_100 * 86_400) == .seconds(86_400))
        #expect(format.duration(ofFrames: .max) == .nanoseconds(Int64.max))
        #expect(ChannelLayout(count: 2) == .stereo)
        #expect(ChannelLayout(count: 5).count == 5)
        #expect("\(format)" == "44100 Hz 6 channels float32")
    }

    @Test(arguments: [
        AudioFormat(.int16, .mono, sampleRate: 0), AudioFormat(.int16, .mono, sampleRate: -48_000),
        AudioFormat(.int16, .discrete(0), sampleRate: 48_000), AudioFormat(.int16, .discrete(65), sampleRate: 48_000),
        AudioFormat(.float32, .discrete(.max), sampleRate: .max), AudioFormat(.int16, .discrete(-1), sampleRate: 8000),
    ])
    func refusesFormats(format: AudioFormat) {
        #expect { try AudioBufferPool().makeSilence(format, frameCount: 10) } throws: {
            ($0 as? CaptureError)?.code == .invalidConfiguration
        }
    }

    @Test(arguments: [-1, 48_000 * 3600 + 1, Int.max])
    func refusesLengths(frames: Int) {
        #expect(throws: CaptureError.self) { try AudioBufferPool().makeSilence(mono, frameCount: frames) }
    }

    @Test func keepsSamples() throws {
        let buffer = try AudioBuffer(copying: [1, 2, 3, 4, 5] as [Int16], channels: .stereo, sampleRate: 48_000)
        #expect(buffer.frameCount == 2)
        #expect(buffer.withSamples(as: Int16.self) { samples in samples.indices.map { samples[$0] } } == [1, 2, 3, 4])
        #expect(buffer.withSamples { $0.byteCount } == 8)
        #expect(buffer.withUnsafeBytes { $0.count } == 8)
    }

    @Test func recyclesOnlyWhatNobodyHolds() throws {
        let pool = AudioBufferPool(capacity: 4)
        func make(_ frames: Int) throws -> AudioBuffer {
            try pool.makeBuffer(mono, frameCapacity: 480) { writer in
                writer.withSamples(as: Int16.self) { $0[0] = Int16(frames) }
                return frames
            }
        }
        var first: AudioBuffer? = try make(480)
        let identity = ObjectIdentifier(first!)
        let second = try make(100)
        #expect(first !== second)
        #expect(second.frameCount == 100)
        first = nil
        let third = try make(7)
        #expect(ObjectIdentifier(third) == identity)
        #expect(third.frameCount == 7)
        #expect(second.withSamples(as: Int16.self) { $0[0] } == 100)
        // Smaller ones fit into the same memory, and are no larger than asked for.
        let capacity = try pool.makeBuffer(mono, frameCapacity: 10) { $0.frameCapacity }
        #expect(capacity.frameCount == 10)
    }

    /// In steady state a chunk costs no memory: a stream of them goes through as many buffers as are in flight.
    @Test func aStreamUsesFewBuffers() throws {
        let seen = Locked<Set<ObjectIdentifier>>([])
        let recorder = RecyclingRecorder { chunk in seen.withLock { _ = $0.insert(ObjectIdentifier(chunk.buffer)) } }
        let source = ScriptedSound(mono, pacing: .unpaced, Array(repeating: .chunk(frames: 960, at: nil), count: 5000))
        let capture = AudioSourceCapturer(source)
        capture.audioCaptureConsumer = recorder
        try capture.initCapture()
        try capture.startCapture()
        #expect(recorder.awaitChunks(5000))
        #expect(seen.withLock { $0.count } <= 2)
    }
}
