import AudioCapturing
import CapturerTestKit
import OpusCodec
import Testing
import VideoCapturing

@testable import MediaPublishing

/// Sound of a live output on a machine that does not keep up, in virtual time: it is lost rather than late.
@Suite struct StarvationTests {
    /// Takes packets, each of which costs time, and notes how late they are.
    private final class CostlySink: PacketSink {
        private struct Values {
            var cost = Duration.milliseconds(1)
            var packets: [(timestamp: MediaTime, delay: Duration)] = []
        }

        private let clock: VirtualClock
        private let values = Locked(Values())

        init(_ clock: VirtualClock) { self.clock = clock }

        var cost: Duration {
            get { values.withLock { $0.cost } }
            set { values.withLock { $0.cost = newValue } }
        }

        func takePackets() -> [(timestamp: MediaTime, delay: Duration)] {
            values.withLock { values in
                defer { values.packets = [] }
                return values.packets
            }
        }

        func begin(_ tracks: [TrackDescription]) throws {}

        func write(_ packet: MediaPacket) throws {
            clock.advance(by: cost)
            let end = packet.timestamp.advanced(by: packet.duration)
            values.withLock { $0.packets.append((packet.timestamp, clock.now - end)) }
        }

        func finish() throws {}
    }

    /// A microphone, the queue of a live output, and the encoder behind it, on one thread.
    private final class Machine {
        static let start = MediaTime(nanoseconds: 1_000_000_000)
        let clock = VirtualClock(.manual, start: Machine.start)
        let sink: CostlySink
        let stage: AudioStage
        private var queue: [AudioChunk] = []
        private var produced = 0
        private var lost: Int64 = 0

        init(isLive: Bool = true) throws {
            sink = CostlySink(clock)
            let format = AudioFormat(.float32, .mono, sampleRate: 48_000)
            let encoding = AudioEncodingConsumer(
                try OpusEncoder(OpusEncoder.Configuration(format: format)), to: [("sink", sink)], clock: clock)
            stage = AudioStage(
                format, encoder: nil, to: encoding, isLive: isLive, maximumDuration: nil,
                startTime: { _ in Machine.start }, endTime: { nil }, onLimit: {}, onFailure: { Issue.record("\($0)") })
        }

        /// Records sound up to now; what the queue has no room for is lost, oldest first.
        private func record() throws {
            while true {
                let time = Machine.start.advanced(by: .milliseconds(20 * produced))
                guard time.advanced(by: .milliseconds(20)) <= clock.now else { return }
                let samples = [Float](repeating: 0.25, count: 960)
                queue.append(
                    AudioChunk(
                        buffer: try AudioBuffer(copying: samples, channels: .mono, sampleRate: 48_000),
                        timestamp: time, firstFrame: Int64(960 * produced)))
                produced += 1
                if queue.count > AudioPublisher.liveQueue.capacity {
                    queue.removeFirst()
                    lost += 960
                }
            }
        }

        func run(for duration: Duration) throws {
            let end = clock.now.advanced(by: duration)
            while clock.now < end {
                try record()
                stage.advance(to: clock.now, waiting: queue.count)
                guard !queue.isEmpty else {
                    clock.advance(by: .milliseconds(5))
                    continue
                }
                var chunk = queue.removeFirst()
                if lost > 0 { chunk.discontinuity = .lost(frames: lost) }
                lost = 0
                stage.consumeAudio(chunk)
                clock.advance(by: .microseconds(100))
            }
        }
    }

    @Test(arguments: [60, 400]) func `A machine that does not keep up loses sound and gains no delay`(
        millisecondsPerPacket: Int
    ) throws {
        let machine = try Machine()
        try machine.run(for: .seconds(2))
        #expect(machine.sink.takePackets().allSatisfy { $0.delay < .milliseconds(50) })
        #expect(machine.stage.statistics.framesOfSilence == 0)
        // A packet has 20 ms.
        machine.sink.cost = .milliseconds(millisecondsPerPacket)
        try machine.run(for: .seconds(40))
        let starved = machine.sink.takePackets()
        // The queue has a second; a few packets are encoded on top of that.
        let limit = Duration.milliseconds(1100 + 5 * millisecondsPerPacket)
        #expect(starved.allSatisfy { $0.delay < limit }, "\(starved.map(\.delay).max() ?? .zero)")
        #expect(starved.count > 10)
        // What is missing is counted.
        let missing = Double(machine.stage.statistics.framesOfSilence) / 48_000
        #expect(missing > 40 * (1 - 20 / Double(millisecondsPerPacket)) * 0.8)
        machine.sink.cost = .milliseconds(1)
        try machine.run(for: .seconds(3))
        _ = machine.sink.takePackets()
        try machine.run(for: .seconds(2))
        let after = machine.sink.takePackets()
        #expect(after.count >= 95 && after.allSatisfy { $0.delay < .milliseconds(50) })
    }

    @Test func `A short hiccup loses nothing`() throws {
        let machine = try Machine()
        try machine.run(for: .seconds(2))
        machine.clock.advance(by: .milliseconds(600))
        try machine.run(for: .seconds(2))
        let packets = machine.sink.takePackets()
        #expect(machine.stage.statistics == AudioSynchronizer.Statistics())
        for (last, next) in zip(packets, packets.dropFirst()) {
            #expect(next.timestamp - last.timestamp == .milliseconds(20))
        }
    }

    /// Files have each moment, however late.
    @Test func `A file gets silence for what is missing`() throws {
        let machine = try Machine(isLive: false)
        try machine.run(for: .seconds(2))
        machine.sink.cost = .milliseconds(100)
        try machine.run(for: .seconds(10))
        let packets = machine.sink.takePackets()
        for (last, next) in zip(packets, packets.dropFirst()) {
            #expect(next.timestamp - last.timestamp == .milliseconds(20))
        }
        #expect(packets.contains { $0.delay > .seconds(3) }, "this is what live outputs must not have")
    }

    /// The sound behind a hole has its own times, to the sample.
    @Test func `A long hole is jumped over`() throws {
        let card = Card(rate: 48_000)
        let synchronizer = AudioSynchronizer(from: card.start, channels: .mono, mayJump: true)
        func ramp(_ time: Double) -> Float { Float(time / 100) }
        var chunks: [(first: Int64, samples: [Float], discontinuity: AudioChunk.Discontinuity?)] = []
        func take(_ chunk: AudioChunk) {
            let samples = chunk.buffer.withSamples(as: Float.self) { span in span.indices.map { span[$0] } }
            #expect(chunk.timestamp == card.time(Int(chunk.firstFrame)))
            chunks.append((chunk.firstFrame, samples, chunk.discontinuity))
        }
        for index in 0..<50 { try synchronizer.add(card.chunk(index * 960, sound: ramp)) { take($0) } }
        for index in 500..<550 { try synchronizer.add(card.chunk(index * 960, sound: ramp)) { take($0) } }
        try synchronizer.finish(at: card.time(550 * 960)) { take($0) }
        #expect(chunks.map(\.samples.count).reduce(0, +) == 100 * 960)
        let jump = try #require(chunks.first { $0.discontinuity == .lost(frames: 450 * 960) })
        #expect(jump.first == 500 * 960)
        #expect(synchronizer.statistics.framesOfSilence == 450 * 960)
        let behind: Range<Int64> = 480_961..<527_040
        for chunk in chunks where behind.contains(chunk.first) {
            for (index, sample) in chunk.samples.enumerated() {
                let expected: Float = ramp(Double(chunk.first + Int64(index)) / 48_000)
                #expect(abs(sample - expected) < 1e-4)
            }
        }
    }
}
