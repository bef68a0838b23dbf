import Testing
import VideoCapturing

@testable import VP8Codec

@Suite struct VP8EncoderTests {
    private func encode(
        _ frames: [VideoFrame], with encoder: VP8Encoder, forceKeyFrameAt forced: Set<Int> = []
    ) throws -> [MediaPacket] {
        var packets: [MediaPacket] = []
        for (index, frame) in frames.enumerated() {
            if forced.contains(index) { encoder.requestKeyFrame() }
            try encoder.encode(frame) { packets.append($0) }
        }
        return packets
    }

    private func decode(_ packets: [MediaPacket]) throws -> [PixelBuffer] {
        let decoder = try VP8Decoder()
        var pictures: [PixelBuffer] = []
        for packet in packets {
            try packet.data.withUnsafeBytes { try decoder.decode($0) { pictures.append($0) } }
        }
        return pictures
    }

    /// A sink that is added after a change of size begins with the size of its first picture.
    @Test func theTrackFollowsTheSize() throws {
        let encoder = try VP8Encoder(VP8Encoder.Configuration(bitrate: 500_000))
        for (width, height) in [(64, 48), (32, 24)] {
            _ = try encode([movingFrame(.i420, width: width, height: height, step: 0)], with: encoder)
            guard case .video(let video)? = encoder.track?.media else {
                Issue.record("no track")
                return
            }
            #expect((video.width, video.height) == (width, height))
        }
    }

    @Test(arguments: [PixelFormat.i420, .nv12], [(2, 2), (16, 16), (64, 48), (35, 29), (1, 1)])
    func survivesTheRoundTrip(format: PixelFormat, size: (width: Int, height: Int)) throws {
        let frames = try (0..<6).map { try movingFrame(format, width: size.width, height: size.height, step: $0) }
        let packets = try encode(frames, with: VP8Encoder(VP8Encoder.Configuration(bitrate: 2_000_000)))
        #expect(packets.count == frames.count)
        #expect(packets.map(\.isKeyFrame) == [true] + Array(repeating: false, count: 5))
        #expect(packets.map(\.timestamp) == frames.map(\.timestamp))
        #expect(packets.map(\.sequenceNumber) == Array(0..<6))
        #expect(packets.allSatisfy { $0.duration == FrameRate(30, per: 1)!.frameInterval })
        let pictures = try decode(packets)
        #expect(pictures.count == frames.count)
        for (picture, frame) in zip(pictures, frames) {
            #expect(picture.width == size.width)
            #expect(picture.height == size.height)
            #expect(lumaPSNR(picture, frame.buffer) > 30)
        }
    }

    @Test func bothPixelFormatsGiveTheSamePackets() throws {
        let sizes = [(64, 48), (35, 29)]
        for (width, height) in sizes {
            let packets = try [PixelFormat.i420, .nv12].map { format in
                let frames = try (0..<5).map { try movingFrame(format, width: width, height: height, step: $0) }
                return try encode(frames, with: VP8Encoder(VP8Encoder.Configuration(bitrate: 300_000))).map(bytes)
            }
            #expect(packets[0] == packets[1])
        }
    }

    @Test func otherPixelFormatsAreRefused() throws {
        let encoder = try VP8Encoder(VP8Encoder.Configuration(bitrate: 300_000))
        let frame = VideoFrame(buffer: try PixelBuffer.make(.argb, width: 8, height: 8) { _ in }, timestamp: .zero)
        #expect { try encode([frame], with: encoder) } throws: {
            ($0 as? CodecError)?.code == .formatUnsupported && "\($0)".contains("ARGB")
        }
    }

    @Test func keyFramesComeWhenDueAndOnRequest() throws {
        var configuration = VP8Encoder.Configuration(bitrate: 300_000)
        configuration.keyFrameInterval = .milliseconds(500)
        let encoder = try VP8Encoder(configuration)
        let frames = try (0..<40).map { try movingFrame(width: 32, height: 32, step: $0) }
        let packets = try encode(frames, with: encoder, forceKeyFrameAt: [4])
        let keys = packets.indices.filter { packets[$0].isKeyFrame }
        // Every half second is every fifteenth frame, counted from the last key frame.
        #expect(keys == [0, 4, 19, 34])
        encoder.requestKeyFrame()
        let more = try encode([try movingFrame(width: 32, height: 32, step: 40)], with: encoder)
        #expect(more.map(\.isKeyFrame) == [true])
    }

    @Test func withoutAnIntervalThereIsOneKeyFrame() throws {
        var configuration = VP8Encoder.Configuration(bitrate: 300_000)
        configuration.keyFrameInterval = nil
        let frames = try (0..<200).map { try movingFrame(width: 16, height: 16, step: $0) }
        let packets = try encode(frames, with: VP8Encoder(configuration))
        #expect(packets.filter(\.isKeyFrame).count == 1)
    }

    @Test func theSizeMayChange() throws {
        let encoder = try VP8Encoder(VP8Encoder.Configuration(bitrate: 500_000))
        let sizes = [(64, 64), (64, 64), (32, 48), (48, 32), (96, 80), (96, 80), (64, 64)]
        let frames = try sizes.enumerated().map { step, size in
            try movingFrame(width: size.0, height: size.1, step: step)
        }
        let packets = try encode(frames, with: encoder)
        #expect(packets.map(\.isKeyFrame) == [true, false, true, true, true, false, true])
        let pictures = try decode(packets)
        #expect(pictures.map { [$0.width, $0.height] } == sizes.map { [$0.0, $0.1] })
        for (picture, frame) in zip(pictures, frames) { #expect(lumaPSNR(picture, frame.buffer) > 25) }
    }

    @Test func theBitrateMayChange() throws {
        let encoder = try VP8Encoder(VP8Encoder.Configuration(bitrate: 2_000_000))
        let frames = try (0..<60).map { try movingFrame(width: 96, height: 96, step: $0) }
        let rich = try encode(Array(frames[..<30]), with: encoder)
        try encoder.setBitrate(50_000)
        let poor = try encode(Array(frames[30...]), with: encoder)
        func size(_ packets: some Sequence<MediaPacket>) -> Int { packets.reduce(0) { $0 + $1.data.count } }
        #expect(size(poor.suffix(15)) * 2 < size(rich.suffix(15)))
        #expect(throws: CodecError.self) { try encoder.setBitrate(0) }
    }

    @Test(arguments: [2, 3])
    func higherTemporalLayersCanBeLeftOut(layers: Int) throws {
        var configuration = VP8Encoder.Configuration(bitrate: 500_000)
        configuration.temporalLayers = layers
        let frames = try (0..<24).map { try movingFrame(width: 64, height: 64, step: $0) }
        let packets = try encode(frames, with: VP8Encoder(configuration))
        let pattern = layers == 2 ? [0, 1] : [0, 2, 1, 2]
        #expect(packets.map(\.temporalLayer) == (0..<24).map { pattern[$0 % pattern.count] })
        #expect(packets.filter { $0.temporalLayer == layers - 1 }.allSatisfy { $0.isDroppable })
        #expect(packets.filter { $0.temporalLayer == 0 }.allSatisfy { !$0.isDroppable })
        for highest in 0..<layers {
            let kept = packets.indices.filter { packets[$0].temporalLayer <= highest }
            let pictures = try decode(kept.map { packets[$0] })
            #expect(pictures.count == kept.count)
            // What is left decodes to the same pictures as with all layers: nothing that was left out is missed.
            let all = try decode(packets)
            for (position, index) in kept.enumerated() {
                #expect(lumaPSNR(pictures[position], all[index]) == 100)
            }
        }
    }

    /// A server that forwards fewer layers counts on it: a frame of a period needs nothing of the period before but layer 0.
    @Test func aMiddleLayerThatWasLeftOutIsNotReferredTo() {
        func flags(encodingMiddle: Bool) -> [Int] {
            var pattern = TemporalLayerPattern(layerCount: 3)
            return (0..<8).map { index in
                let place = pattern.next(isKeyFrame: index == 0)
                if index < 4 || place.layer != 1 || encodingMiddle { pattern.didEncode(layer: place.layer) }
                return place.flags
            }
        }
        let (whole, gap) = (flags(encodingMiddle: true), flags(encodingMiddle: false))
        #expect(whole[1...3] == whole[5...7])
        #expect(gap[..<7] == whole[..<7])
        // As the first one of the topmost layer, which refers to layer 0 alone.
        #expect(gap[7] == whole[5] && whole[7] != whole[5])
    }

    @Test func aNewSizeBeginsAPeriodOfLayers() throws {
        var configuration = VP8Encoder.Configuration(bitrate: 500_000)
        configuration.temporalLayers = 3
        configuration.keyFrameInterval = nil
        let encoder = try VP8Encoder(configuration)
        let frames = try (0..<18).map { step in
            let size = step < 6 ? (64, 64) : step < 11 ? (48, 48) : (64, 64)
            return try movingFrame(width: size.0, height: size.1, step: step)
        }
        let packets = try encode(frames, with: encoder)
        #expect(packets.map(\.temporalLayer) == [0, 2, 1, 2, 0, 2, 0, 2, 1, 2, 0, 0, 2, 1, 2, 0, 2, 1])
        #expect(packets.indices.filter { packets[$0].isKeyFrame } == [0, 6, 11])
        let pictures = try decode(packets.filter { $0.temporalLayer == 0 })
        #expect(pictures.map(\.width) == [64, 64, 48, 48, 64, 64])
    }

    @Test func settingsAreChecked() {
        func refused(_ change: (inout VP8Encoder.Configuration) -> Void, naming word: String) {
            var configuration = VP8Encoder.Configuration(bitrate: 500_000)
            change(&configuration)
            #expect {
                _ = try VP8Encoder(configuration)
            } throws: {
                ($0 as? CodecError)?.code == .invalidConfiguration && "\($0)".contains(word)
            }
        }
        refused({ $0.bitrate = 0 }, naming: "bitrate")
        refused({ $0.bitrate = -5 }, naming: "bitrate")
        refused({ $0.threads = 0 }, naming: "threads")
        refused({ $0.minimumQuantizer = 64 }, naming: "minimum quantizer")
        refused({ $0.maximumQuantizer = 1 }, naming: "maximum quantizer")
        refused({ $0.speed = 4 }, naming: "speed")
        refused({ $0.temporalLayers = 4 }, naming: "temporal layers")
        refused({ $0.keyFrameInterval = .zero }, naming: "interval")
    }
}
