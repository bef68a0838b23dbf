import AudioCapturing
import CapturerTestKit
import Testing

@Suite struct EncodingTests {
    /// Keeps what it is given, and fails where it is told to.
    private final class MemorySink: PacketSink {
        let calls = Locked<(tracks: [TrackDescription], packets: [MediaPacket], finishes: Int)>(([], [], 0))
        let failure: (at: Int, error: CodecError)?

        init(failure: (at: Int, error: CodecError)? = nil) { self.failure = failure }

        func begin(_ tracks: [TrackDescription]) { calls.withLock { $0.tracks = tracks } }

        func write(_ packet: MediaPacket) throws {
            let count = calls.withLock { calls in
                calls.packets.append(packet)
                return calls.packets.count
            }
            if let failure, count == failure.at { throw failure.error }
        }

        func finish() { calls.withLock { $0.finishes += 1 } }

        var samples: [Int16] {
            calls.withLock { $0.packets }.flatMap { packet in
                packet.data.withUnsafeBytes { bytes in
                    (0..<bytes.count / 2).map { bytes.loadUnaligned(fromByteOffset: $0 * 2, as: Int16.self) }
                }
            }
        }
    }

    private func chunk(
        _ samples: [Int16], at time: Double, frame: Int64, _ discontinuity: AudioChunk.Discontinuity? = nil
    ) throws -> AudioChunk {
        AudioChunk(
            buffer: try AudioBuffer(copying: samples, channels: .mono, sampleRate: 48_000), timestamp: ms(time),
            firstFrame: frame, discontinuity: discontinuity)
    }

    @Test func samplesArePacketsOfTheirTrack() throws {
        let sink = MemorySink()
        let encoding = AudioEncodingConsumer(PCMEncoder(), to: [("memory", sink)], track: 7)
        encoding.consumeAudio(try chunk([1, 2, 3], at: 1000, frame: 0, .start))
        encoding.consumeAudio(try chunk([4, 5], at: 1000.0625, frame: 3))
        encoding.finish()
        encoding.consumeAudio(try chunk([6], at: 1001, frame: 5))
        let calls = sink.calls.withLock { $0 }
        #expect(calls.tracks.map(\.id) == [7])
        #expect(calls.tracks[0].codec == .pcm)
        #expect(calls.tracks[0].media == .audio(.init(sampleRate: 48_000, channelCount: 1)))
        #expect(calls.packets.map(\.track) == [7, 7])
        #expect(calls.packets.map(\.timestamp) == [ms(1000), ms(1000.0625)])
        #expect(calls.packets.map(\.duration) == [.nanoseconds(62_500), .nanoseconds(41_666)])
        #expect(calls.finishes == 1)
        #expect(sink.samples == [1, 2, 3, 4, 5])
        #expect(encoding.statistics.packets == 2)
        #expect(encoding.statistics.framesIn == 5)
        #expect(!encoding.isActive)
    }

    @Test func gapsBecomeSilence() throws {
        let sink = MemorySink()
        let encoding = AudioEncodingConsumer(PCMEncoder(), to: [("memory", sink)])
        encoding.consumeAudio(try chunk([1, 1], at: 1000, frame: 0, .start))
        encoding.consumeAudio(try chunk([2, 2], at: 1000.125, frame: 6, .lost(frames: 4)))
        // The numbers go on over a restart, and the time tells the pause: 1000.125 + 2 frames to 1000.25 are 4 frames.
        encoding.consumeAudio(try chunk([3], at: 1000.25, frame: 8, .start))
        // A device whose time runs back adds nothing.
        encoding.consumeAudio(try chunk([4], at: 1000.1, frame: 9, .resynchronized(by: .milliseconds(-1))))
        encoding.finish()
        #expect(sink.samples == [1, 1, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 3, 4])
    }

    @Test func floatsAreLimited() throws {
        let sink = MemorySink()
        let encoding = AudioEncodingConsumer(PCMEncoder(), to: [("memory", sink)])
        let samples: [Float] = [0, 0.5, -0.5, 1, -1, 7, -7, .nan, .infinity, -.infinity, 1 / 65_536]
        encoding.consumeAudio(
            AudioChunk(
                buffer: try AudioBuffer(copying: samples, channels: .mono, sampleRate: 48_000), timestamp: ms(1)))
        encoding.finish()
        #expect(
            sink.samples == [0, 16_384, -16_384, 32_767, -32_768, 32_767, -32_768, 0, 32_767, -32_768, 1])
    }

    @Test func aGapOfDaysIsShortened() throws {
        let sink = MemorySink()
        let encoding = AudioEncodingConsumer(
            PCMEncoder(longestSilence: .milliseconds(1)), to: [("memory", sink)])
        encoding.consumeAudio(try chunk([1], at: 1000, frame: 0, .start))
        encoding.consumeAudio(try chunk([2], at: 1e9, frame: 1 << 40, .lost(frames: 1 << 40)))
        encoding.finish()
        #expect(sink.samples.count == 50)
    }

    @Test func aChangeOfFormatIsRefused() throws {
        let failures = Locked<[AudioEncodingConsumer.Failure]>([])
        let sink = MemorySink()
        let encoding = AudioEncodingConsumer(PCMEncoder(), to: [("memory", sink)]) { failure in
            failures.withLock { $0.append(failure) }
        }
        encoding.consumeAudio(try chunk([1], at: 1000, frame: 0, .start))
        encoding.consumeAudio(
            AudioChunk(
                buffer: try AudioBuffer(copying: [1, 1] as [Int16], channels: .stereo, sampleRate: 48_000),
                timestamp: ms(1001), firstFrame: 1, discontinuity: .formatChanged))
        #expect(failures.withLock { $0.map { ($0.error as? CodecError)?.code } } == [.formatUnsupported])
        #expect(sink.calls.withLock { $0.finishes } == 1)
        #expect(!encoding.isActive)
    }

    @Test func aSinkThatFailsHarmsNoOther() throws {
        let failures = Locked<[String?]>([])
        let bad = MemorySink(failure: (2, CodecError(.library, operation: "test", message: "x")))
        let good = MemorySink()
        let encoding = AudioEncodingConsumer(PCMEncoder(), to: [("bad", bad), ("good", good)]) { failure in
            failures.withLock { $0.append(failure.sink) }
        }
        for index in 0..<4 { encoding.consumeAudio(try chunk([Int16(index)], at: 1000, frame: Int64(index))) }
        let late = MemorySink()
        encoding.add(late, name: "late")
        encoding.consumeAudio(try chunk([4], at: 1000, frame: 4))
        encoding.remove("good")
        encoding.consumeAudio(try chunk([5], at: 1000, frame: 5))
        encoding.finish()
        #expect(failures.withLock { $0 } == ["bad"])
        #expect(bad.calls.withLock { $0.finishes } == 1)
        #expect(good.samples == [0, 1, 2, 3, 4])
        #expect(late.samples == [4, 5])
        #expect(late.calls.withLock { $0.tracks.count } == 1)
    }

    /// A sink that calls its own encoding consumer while it is given a packet, and when it is finished.
    private final class CallingSink: PacketSink {
        let encoding = Locked<AudioEncodingConsumer?>(nil)
        let counts = Locked((packets: 0, finishes: 0))
        let call: @Sendable (AudioEncodingConsumer) -> Void

        init(_ call: @escaping @Sendable (AudioEncodingConsumer) -> Void) { self.call = call }

        func begin(_ tracks: [TrackDescription]) {}
        func write(_ packet: MediaPacket) {
            counts.withLock { $0.packets += 1 }
            if let encoding = encoding.withLock({ $0 }) { call(encoding) }
        }
        func finish() {
            counts.withLock { $0.finishes += 1 }
            if let encoding = encoding.withLock({ $0 }) { call(encoding) }
        }
    }

    /// Runs `body` on a thread of its own; false when it has not ended within a minute.
    private func ends(_ body: @escaping @Sendable () -> Void) throws -> Bool {
        let hasEnded = Locked(false)
        try CaptureThread(name: "encoding test") {
            body()
            hasEnded.withLock { $0 = true }
            hasEnded.wakeAll()
        }
        return hasEnded.wait(until: MonotonicClock().now.advanced(by: .seconds(60))) { $0 ? () : nil } != nil
    }

    @Test func aSinkMayFinishItsEncoder() throws {
        let other = MemorySink()
        let sink = CallingSink { encoding in
            _ = encoding.isActive
            _ = encoding.statistics
            encoding.finish()
        }
        let encoding = AudioEncodingConsumer(PCMEncoder(), to: [("calling", sink), ("other", other)])
        sink.encoding.withLock { $0 = encoding }
        defer { sink.encoding.withLock { $0 = nil } }
        let chunks = try (0..<3).map { try chunk([Int16($0)], at: 1000, frame: Int64($0)) }
        #expect(try ends { for chunk in chunks { encoding.consumeAudio(chunk) } })
        // The packet that was being handed out still reaches all of them; then they are finished.
        #expect(sink.counts.withLock { $0.packets } == 1 && sink.counts.withLock { $0.finishes } == 1)
        #expect(other.samples == [0] && other.calls.withLock { $0.finishes } == 1)
        #expect(!encoding.isActive)
    }

    @Test func aSinkMayRemoveItselfAndAnother() throws {
        let (other, late) = (MemorySink(), MemorySink())
        let sink = CallingSink { encoding in
            encoding.remove("calling")
            encoding.remove("other")
        }
        let encoding = AudioEncodingConsumer(PCMEncoder(), to: [("calling", sink), ("other", other)])
        sink.encoding.withLock { $0 = encoding }
        let first = try chunk([0], at: 1000, frame: 0)
        #expect(try ends { encoding.consumeAudio(first) })
        sink.encoding.withLock { $0 = nil }
        #expect(sink.counts.withLock { $0.packets } == 1 && sink.counts.withLock { $0.finishes } == 1)
        #expect(other.samples == [0] && other.calls.withLock { $0.finishes } == 1)
        encoding.add(late, name: "late")
        encoding.consumeAudio(try chunk([1], at: 1000, frame: 1))
        #expect(sink.counts.withLock { $0.packets } == 1 && other.samples == [0] && late.samples == [1])
        encoding.finish()
    }

    @Test func theFailureHandlerMayCallTheEncoder() throws {
        let held = Locked<AudioEncodingConsumer?>(nil)
        let bad = MemorySink(failure: (2, CodecError(.library, operation: "test", message: "x")))
        let good = MemorySink()
        let encoding = AudioEncodingConsumer(PCMEncoder(), to: [("bad", bad), ("good", good)]) { failure in
            guard let encoding = held.withLock({ $0 }), let sink = failure.sink else { return }
            encoding.remove(sink)
            if encoding.isActive { encoding.finish() }
        }
        held.withLock { $0 = encoding }
        defer { held.withLock { $0 = nil } }
        let chunks = try (0..<4).map { try chunk([Int16($0)], at: 1000, frame: Int64($0)) }
        #expect(try ends { for chunk in chunks { encoding.consumeAudio(chunk) } })
        #expect(bad.calls.withLock { $0.finishes } == 1)
        #expect(good.samples == [0, 1] && good.calls.withLock { $0.finishes } == 1)
    }

    /// Sinks that come and go on another thread get nothing after their removal.
    @Test func sinksComeAndGoWhileSoundIsEncoded() throws {
        let encoding = AudioEncodingConsumer(PCMEncoder())
        let sound = try chunk([1], at: 1000, frame: 0)
        let isOver = Locked(false)
        let feeder = try CaptureThread(name: "sound") {
            while !isOver.withLock({ $0 }) { encoding.consumeAudio(sound) }
        }
        for round in 0..<100 {
            let sink = MemorySink()
            encoding.add(sink, name: "\(round)")
            let limit = MonotonicClock().now.advanced(by: .seconds(60))
            while round % 3 == 0, sink.calls.withLock({ $0.packets.isEmpty }), MonotonicClock().now < limit {}
            encoding.remove("\(round)")
            let calls = sink.calls.withLock { $0 }
            #expect(calls.finishes == 1)
            #expect(round % 3 != 0 || !calls.packets.isEmpty)
            // One more chunk is encoded, and does not reach it.
            encoding.consumeAudio(sound)
            #expect(sink.calls.withLock { $0.packets.count } == calls.packets.count)
        }
        isOver.withLock { $0 = true }
        feeder.join()
        encoding.finish()
    }
}
