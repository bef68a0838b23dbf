import FFmpegContainers
import H264Bitstream
import H264Codec
import Testing
import VideoCapturing

@Suite struct H264EncoderTests {
    private func decode(_ packets: [MediaPacket]) throws -> [PixelBuffer] {
        let decoder = try H264Decoder()
        var pictures: [PixelBuffer] = []
        for packet in packets {
            let before = pictures.count
            try packet.data.withUnsafeBytes { try decoder.decode($0) { pictures.append($0) } }
            #expect(pictures.count == before + 1, "a picture comes with its own packet")
        }
        return pictures
    }

    @Test(arguments: [PixelFormat.i420, .nv12])
    func framesSurviveWithoutDelay(_ format: PixelFormat) throws {
        let frames = try (0..<40).map { try numberedFrame(format, number: $0 + 300) }
        var configuration = H264Encoder.Configuration(bitrate: 1_500_000)
        configuration.keyFrameInterval = .milliseconds(500)
        let packets = try encode(frames, configuration)
        #expect(packets.map(\.sequenceNumber) == frames.map(\.sequenceNumber))
        #expect(packets.map(\.timestamp) == frames.map(\.timestamp))
        #expect(packets.indices.filter { packets[$0].isKeyFrame } == [0, 15, 30])
        let pictures = try decode(packets)
        #expect(pictures.map(shownNumber) == Array(300..<340))
        let (last, shown) = (frames[39].buffer, pictures[39])
        #expect(difference(last, shown, plane: 0) < 3)
        #expect(difference(last, shown, plane: 1, chroma: format == .nv12 ? 0 : nil) < 2)
        #expect(difference(last, shown, plane: 2, chroma: format == .nv12 ? 1 : nil) < 2)
    }

    @Test func packetsAreAccessUnitsWithLongStartCodes() throws {
        let packets = try encode(try (0..<4).map { try numberedFrame(number: $0) }, .init(bitrate: 500_000))
        #expect(packets.map { unitTypes(bytes($0)) } == [[7, 8, 5], [1], [1], [1]])
        for packet in packets {
            let stream = bytes(packet)
            var rebuilt: [UInt8] = []
            stream.withUnsafeBytes { for unit in AnnexB.units(in: $0) { AnnexB.append(unit, to: &rebuilt) } }
            #expect(rebuilt == stream)
        }
    }

    @Test func parameterSetsStateTheShapeOfPixels() throws {
        let wide = try #require(PixelAspect(width: 64, height: 45))
        var frames = try (0..<3).map { try numberedFrame(number: $0) }
        for index in 1..<3 { frames[index].pixelAspect = wide }
        let packets = try encode(frames, .init(bitrate: 500_000))
        // Another one needs new parameter sets, and so a key frame.
        #expect(packets.map(\.isKeyFrame) == [true, true, false])
        #expect(try parameterSet(bytes(packets[1]))?.videoUsability?.pixelAspect == wide)
    }

    @Test func parameterSetsStateRateAndColor() throws {
        for (rate, color) in [(FrameRate(30000, per: 1001)!, ColorDescription.bt709), (15, .jpeg)] {
            var configuration = H264Encoder.Configuration(bitrate: 500_000)
            configuration.frameRate = rate
            let packet = try encode([try numberedFrame(number: 0, rate: rate, color: color)], configuration)[0]
            let set = try #require(try parameterSet(bytes(packet)))
            #expect(set.frameRate == rate)
            #expect(set.color == color)
            // Chromium ignores the range where one of them is not stated.
            let signal = try #require(set.videoUsability?.signal)
            #expect(Set([signal.primaries, signal.transfer, signal.matrix]) == [UInt8(color.matrix.h273Code)])
            #expect(set.videoUsability?.pixelAspect == .square)
            #expect(set.profile == 66)
            #expect(set.constraintFlags & 0x40 != 0)
            #expect(set.videoUsability?.timing?.isFixed == false)
            #expect(set.videoUsability?.restriction?.reorderedFrameCount == 0)
            #expect((set.width, set.height) == (320, 240))
        }
    }

    @Test func trackHasTheParameterSetsOfItsKeyFrames() throws {
        let encoder = try H264Encoder(H264Encoder.Configuration(bitrate: 500_000))
        #expect(encoder.track == nil)
        var packets: [MediaPacket] = []
        try encoder.encode(try numberedFrame(number: 0)) { packets.append($0) }
        let track = try #require(encoder.track)
        #expect(track.codec == .h264)
        let configuration = try #require(track.decoderConfiguration).withUnsafeBytes { bytes throws(CodecError) in
            try AVCDecoderConfiguration(parsing: bytes)
        }
        let stream = bytes(packets[0])
        #expect(stream.starts(with: configuration.annexB))
        // A decoder that has it needs no other.
        let decoder = try H264Decoder(configuration: configuration)
        var pictures = 0
        try stream.dropFirst(configuration.annexB.count).withUnsafeBytes {
            try decoder.decode($0) {
                #expect(shownNumber($0) == 0)
                pictures += 1
            }
        }
        #expect(pictures == 1)
    }

    @Test(arguments: [(322, 242), (321, 243), (18, 16), (160, 1200)])
    func anySizeIsCropped(_ width: Int, _ height: Int) throws {
        for format in [PixelFormat.i420, .nv12] {
            let frame = try numberedFrame(format, width: width, height: height, number: 5)
            let packets = try encode([frame], .init(bitrate: 4_000_000))
            #expect((packets[0].width, packets[0].height) == (width & ~1, height & ~1))
            let picture = try decode(packets)[0]
            #expect((picture.width, picture.height) == (width & ~1, height & ~1))
            #expect(difference(frame.buffer, picture, plane: 0) < 8)
        }
    }

    @Test(arguments: [(1, 1), (8, 8), (15, 200), (9000, 64), (8192, 8192)])
    func otherSizesAreRefused(_ width: Int, _ height: Int) throws {
        let frame = VideoFrame(
            buffer: try PixelBuffer.black(.i420, width: width, height: height, color: .bt601), timestamp: .zero)
        let encoder = try H264Encoder(H264Encoder.Configuration(bitrate: 500_000))
        #expect { try encoder.encode(frame) { _ in } } throws: {
            let error = $0 as? CodecError
            return error?.code == .formatUnsupported && error?.message.contains("not \(width)x\(height)") ?? false
        }
        // The next one of a good size is encoded.
        var packets = 0
        try encoder.encode(try numberedFrame(number: 1)) { _ in packets += 1 }
        #expect(packets == 1)
    }

    @Test func largestSizesAreEncoded() throws {
        for (width, height) in [(4096, 2304), (8688, 64), (64, 8688)] {
            let frame = VideoFrame(
                buffer: try PixelBuffer.black(.i420, width: width, height: height, color: .bt601), timestamp: .zero)
            #expect(try encode([frame], .init(bitrate: 500_000)).count == 1)
        }
    }

    @Test func aChangeOfSizeOrColorBeginsWithAKeyFrame() throws {
        let frames = [
            try numberedFrame(number: 0), try numberedFrame(number: 1),
            try numberedFrame(width: 160, height: 120, number: 2),
            try numberedFrame(width: 160, height: 120, number: 3),
            try numberedFrame(width: 640, height: 480, number: 4),
            try numberedFrame(width: 640, height: 480, number: 5, color: .bt709),
            try numberedFrame(width: 640, height: 480, number: 6, color: .bt709),
        ]
        let encoder = try H264Encoder(H264Encoder.Configuration(bitrate: 1_000_000))
        var packets: [MediaPacket] = []
        var sizes: [Int?] = []
        for frame in frames {
            try encoder.encode(frame) { packets.append($0) }
            sizes.append(
                try encoder.track?.decoderConfiguration?.withUnsafeBytes { bytes throws(CodecError) in
                    try AVCDecoderConfiguration(parsing: bytes).parameters?.width
                })
        }
        #expect(packets.map(\.isKeyFrame) == [true, false, true, false, true, true, false])
        #expect(sizes == [320, 320, 160, 160, 640, 640, 640])
        #expect(try decode(packets).map(\.width) == [320, 320, 160, 160, 640, 640, 640])
        #expect(try parameterSet(bytes(packets[5]))?.color == .bt709)
    }

    @Test func keyFramesComeOnRequest() throws {
        var configuration = H264Encoder.Configuration(bitrate: 500_000)
        configuration.keyFrameInterval = nil
        let encoder = try H264Encoder(configuration)
        var keys: [Int] = []
        for number in 0..<80 {
            if number == 30 || number == 31 || number == 70 { encoder.requestKeyFrame() }
            try encoder.encode(try numberedFrame(width: 160, height: 128, number: number)) {
                if $0.isKeyFrame { keys.append(number) }
                #expect(unitTypes(bytes($0)) == ($0.isKeyFrame ? [7, 8, 5] : [1]))
            }
        }
        #expect(keys == [0, 30, 31, 70])
    }

    @Test func bitrateIsFollowedWithoutAKeyFrame() throws {
        var configuration = H264Encoder.Configuration(bitrate: 600_000)
        configuration.keyFrameInterval = nil
        let encoder = try H264Encoder(configuration)
        var sizes: [Int] = []
        var keys = 0
        for number in 0..<240 {
            if number == 120 { try encoder.setBitrate(200_000) }
            try encoder.encode(try noisyFrame(number)) {
                sizes.append($0.data.count)
                keys += $0.isKeyFrame ? 1 : 0
            }
        }
        let before = sizes[30..<120].reduce(0, +) * 8 * 30 / 90
        let after = sizes[150..<240].reduce(0, +) * 8 * 30 / 90
        #expect((480_000...720_000).contains(before), "\(before)")
        #expect((160_000...240_000).contains(after), "\(after)")
        #expect(keys == 1)
        #expect(throws: CodecError.self) { try encoder.setBitrate(10) }
    }

    /// Light noise on a picture that moves.
    private func noisyFrame(_ number: Int, noise: Int = 6) throws -> VideoFrame {
        var state = UInt32(number + 1) &* 2_654_435_761
        let buffer = try PixelBuffer.make(.i420, width: 320, height: 240) { pixels in
            pixels.fill(plane: 0) { x, y in
                state = state &* 1_664_525 &+ 1_013_904_223
                return UInt8(clamping: 60 + (x + y + number * 2) % 120 + Int(state >> 24) % noise)
            }
            pixels.fill(plane: 1, with: 120)
            pixels.fill(plane: 2, with: 130)
        }
        return VideoFrame(
            buffer: buffer, timestamp: MediaTime.zero.advanced(by: FrameRate(30).time(ofFrame: Int64(number))),
            sequenceNumber: UInt64(number), estimatedFrameRate: 30)
    }

    /// openh264's buffer for a frame holds no more than its pixels; it must be made coarser, not given up.
    @Test(arguments: [300_000, 1_000_000, 2_000_000, 20_000_000, 200_000_000])
    func whiteNoiseIsEncodedAtAnyBitrate(bitrate: Int) throws {
        var generator = SystemRandomNumberGenerator()
        let encoder = try H264Encoder(H264Encoder.Configuration(bitrate: bitrate))
        var packets: [MediaPacket] = []
        for number in 0..<20 {
            let buffer = try PixelBuffer.make(.i420, width: 320, height: 240) { pixels in
                for plane in 0..<3 {
                    pixels.withBytes(ofPlane: plane) { bytes in
                        for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: generator.next()) }
                    }
                }
            }
            let frame = VideoFrame(
                buffer: buffer, timestamp: MediaTime(nanoseconds: Int64(number) * 33_333_333),
                sequenceNumber: UInt64(number))
            try encoder.encode(frame) { packets.append($0) }
        }
        #expect(packets.count == 20)
        #expect(try decode(packets).count == 20)
    }

    /// A quantizer for all frames that is too fine for openh264's buffer: the frame is encoded again, and the user told once.
    @Test(arguments: [(1, 1), (10, 10), (5, 12)])
    func noiseIsEncodedWithAnyQuantizer(_ minimum: Int, _ maximum: Int) throws {
        var configuration = H264Encoder.Configuration(bitrate: 200_000_000)
        configuration.minimumQuantizer = minimum
        configuration.maximumQuantizer = maximum
        configuration.dropsFrames = false
        let encoder = try H264Encoder(configuration)
        var packets: [MediaPacket] = []
        var notices: [String] = []
        for number in 0..<10 {
            // A picture with little detail comes first.
            try encoder.encode(try noisyFrame(number, noise: number < 3 ? 1 : 190)) { packets.append($0) }
            if let notice = encoder.takeNotice() { notices.append(notice) }
            if number == 2 { #expect(notices.isEmpty) }
        }
        #expect(packets.map(\.sequenceNumber) == Array(0..<10))
        #expect(try decode(packets).count == 10)
        #expect(notices.count == 1 && notices[0].contains("at the quantizer \(maximum), "), "\(notices)")
    }

    @Test func noiseIsDroppedOnlyWhereAsked() throws {
        for purpose in EncodingSettings.Purpose.allCases {
            let frames = try (0..<60).map { try noisyFrame($0, noise: 190) }
            let packets = try encode(frames, .init(bitrate: 300_000, purpose: purpose))
            if purpose == .file { #expect(packets.count == 60) } else { #expect(packets.count < 50) }
            // What was dropped is no loss for a decoder.
            let decoder = try H264Decoder()
            for packet in packets { try packet.data.withUnsafeBytes { try decoder.decode($0) { _ in } } }
            #expect(decoder.lostFrameCount == 0)
        }
    }

    @Test func slicesFitIntoPackets() throws {
        var configuration = H264Encoder.Configuration(bitrate: 3_000_000)
        configuration.maximumNALUnitSize = 1200
        let frames = try (0..<20).map { try noisyFrame($0, noise: 40) }
        let packets = try encode(frames, configuration)
        for packet in packets {
            packet.data.withUnsafeBytes { for unit in AnnexB.units(in: $0) { #expect(unit.bytes.count <= 1200) } }
        }
        #expect(packets.contains { unitTypes(bytes($0)).count > 3 })
        #expect(try decode(packets).count == 20)
    }

    @Test func threadsDivideThePicture() throws {
        var configuration = H264Encoder.Configuration(bitrate: 1_000_000)
        configuration.threads = 2
        let packets = try encode(try (0..<10).map { try numberedFrame(number: $0 + 9) }, configuration)
        #expect(
            packets.map { unitTypes(bytes($0)).suffix(2) } == [[5, 5]]
                + [ArraySlice<UInt8>](repeating: [1, 1], count: 9))
        #expect(try decode(packets).map(shownNumber) == Array(9..<19))
    }

    @Test(arguments: [8, 60, 120, 240])
    func anyRateKeepsTheBitrate(_ rate: Int32) throws {
        let rate = FrameRate(rate, per: 1)!
        let encoder = try H264Encoder(H264Encoder.Configuration(bitrate: 600_000))
        var bytes = 0
        for number in 0..<120 {
            var frame = try noisyFrame(number)
            frame.timestamp = MediaTime.zero.advanced(by: rate.time(ofFrame: Int64(number)))
            frame.estimatedFrameRate = rate
            try encoder.encode(frame) { if number >= 20 { bytes += $0.data.count } }
        }
        let bitrate = Double(bytes * 8) * rate.framesPerSecond / 100
        #expect((380_000...850_000).contains(bitrate), "\(bitrate)")
    }

    @Test func screensAtRestAreRefinedAndThenLeftOut() throws {
        let encoder = try H264Encoder(H264Encoder.Configuration(bitrate: 200_000, contentHint: .text))
        var packets = 0
        for number in 0..<40 {
            var frame = try numberedFrame(number: 3)
            frame.timestamp = MediaTime.zero.advanced(by: FrameRate(30).time(ofFrame: Int64(number)))
            frame.damage = number == 0 ? nil : []
            try encoder.encode(frame) { _ in packets += 1 }
            if number == 1 { #expect(encoder.wants.minimumFrameRate == 12) }
        }
        #expect(packets == 13)
        #expect(encoder.framesUnchanged == 27)
        #expect(encoder.wants.minimumFrameRate == nil)
    }

    @Test func otherFormatsAndSettingsAreRefused() throws {
        let encoder = try H264Encoder(H264Encoder.Configuration(bitrate: 500_000))
        let frame = VideoFrame(
            buffer: try PixelBuffer.black(.yuy2, width: 32, height: 32, color: .bt601), timestamp: .zero)
        #expect { try encoder.encode(frame) { _ in } } throws: { ($0 as? CodecError)?.code == .formatUnsupported }
        let changes: [(inout H264Encoder.Configuration) -> Void] = [
            { $0.bitrate = 0 }, { $0.threads = 0 }, { $0.minimumQuantizer = 0 }, { $0.maximumQuantizer = 5 },
            { $0.maximumNALUnitSize = 10 }, { $0.keyFrameInterval = .zero }, { $0.maximumQuantizer = 52 },
        ]
        for change in changes {
            var configuration = H264Encoder.Configuration(bitrate: 500_000)
            change(&configuration)
            #expect { try H264Encoder(configuration) } throws: { ($0 as? CodecError)?.code == .invalidConfiguration }
        }
    }
}
