import H264Bitstream
import H264Codec
import Testing
import VideoCapturing

/// The encoder behind the driver of every encoder.
@Suite struct FeedbackTests {
    private final class Recorder: PacketSink {
        struct State {
            var tracks: [TrackDescription] = []
            var packets: [MediaPacket] = []
            var isFinished = false
        }
        let state = Locked(State())

        func begin(_ tracks: [TrackDescription]) { state.withLock { $0.tracks = tracks } }
        func write(_ packet: MediaPacket) { state.withLock { $0.packets.append(packet) } }
        func finish() { state.withLock { $0.isFinished = true } }
    }

    @Test func lateSinksBeginWithAKeyFrameAndItsParameterSets() throws {
        var configuration = H264Encoder.Configuration(bitrate: 500_000)
        configuration.keyFrameInterval = nil
        let (first, second) = (Recorder(), Recorder())
        let consumer = EncodingConsumer(try H264Encoder(configuration), to: [("first", first)], track: 4)
        for number in 0..<10 { consumer.consumeFrame(try numberedFrame(number: number)) }
        // Another size meanwhile, so that the first description would be wrong.
        consumer.consumeFrame(try numberedFrame(width: 160, height: 120, number: 10))
        consumer.add(second, name: "second")
        for number in 11..<20 { consumer.consumeFrame(try numberedFrame(width: 160, height: 120, number: number)) }
        consumer.finish()
        let early = first.state.withLock { $0 }
        let late = second.state.withLock { $0 }
        #expect(early.packets.map(\.sequenceNumber) == Array(0..<20))
        #expect(early.packets.filter(\.isKeyFrame).map(\.sequenceNumber) == [0, 10, 11])
        #expect(late.packets.map(\.sequenceNumber) == Array(11..<20))
        #expect(late.packets.allSatisfy { $0.track == 4 })
        let description = try #require(late.tracks.first?.decoderConfiguration)
        let width = try description.withUnsafeBytes { bytes throws(CodecError) in
            try AVCDecoderConfiguration(parsing: bytes).parameters?.width
        }
        #expect(width == 160)
        #expect(early.isFinished && late.isFinished)
    }

    @Test func bitrateAndKeyFramesAreAskedForThroughTheDriver() throws {
        var configuration = H264Encoder.Configuration(bitrate: 800_000)
        configuration.keyFrameInterval = nil
        let sink = Recorder()
        let consumer = EncodingConsumer(try H264Encoder(configuration), to: [("sink", sink)])
        for number in 0..<60 {
            if number == 20 { consumer.setBitrate(100_000) }
            if number == 40 { consumer.requestKeyFrame() }
            consumer.consumeFrame(try numberedFrame(number: number))
        }
        consumer.finish()
        let packets = sink.state.withLock { $0.packets }
        #expect(packets.filter(\.isKeyFrame).map(\.sequenceNumber) == [0, 40])
        let early = packets[10..<20].reduce(0) { $0 + $1.data.count }
        let late = packets[30..<40].reduce(0) { $0 + $1.data.count }
        #expect(late < early / 2)
    }
}
