import FFmpegCodec
import H264Bitstream
import TestTools
import Testing
import VideoCapturing

/// libx264 and others through libavcodec.
@Suite struct FFmpegVideoEncoderTests {
    private func makeEncoder(
        _ name: String = "libx264", bitrate: Int = 400_000,
        _ change: (inout FFmpegVideoEncoder.Configuration) -> Void = { _ in }
    ) throws -> FFmpegVideoEncoder {
        var configuration = FFmpegVideoEncoder.Configuration(encoder: name, bitrate: bitrate)
        change(&configuration)
        return try FFmpegVideoEncoder(configuration)
    }

    private func units(of packet: MediaPacket) -> [NALUnit.Kind] {
        packet.data.withUnsafeBytes { bytes in AnnexB.units(in: bytes).map(\.type) }
    }

    /// Each frame gives its packet at once, with all that was known of it, and decodes to what it was.
    @Test(arguments: [PixelFormat.nv12, .i420]) func framesBecomePackets(_ format: PixelFormat) throws {
        let encoder = try makeEncoder()
        let frames = try (0..<90).map { try movingFrame(format, step: $0) }
        var packets: [MediaPacket] = []
        for (index, frame) in frames.enumerated() {
            try encoder.encode(frame) { packets.append($0) }
            try #require(packets.count == index + 1)
        }
        for (packet, frame) in zip(packets, frames) {
            #expect(packet.timestamp == frame.timestamp && packet.sequenceNumber == frame.sequenceNumber)
            #expect(packet.width == 160 && packet.height == 96 && packet.duration == FrameRate(30).frameInterval)
        }
        // Key frames by time, each with its parameter sets.
        #expect(packets.indices.filter { packets[$0].isKeyFrame } == [0, 60])
        for packet in packets {
            let kinds = units(of: packet)
            #expect(kinds.contains(.sps) == packet.isKeyFrame && kinds.contains(.pps) == packet.isKeyFrame)
            #expect(kinds.contains(.idrSlice) == packet.isKeyFrame)
        }
        let decoded = try decode(packets, as: "h264", width: 160, height: 96)
        #expect(decoded.count == 90)
        for (frame, luma) in zip(frames, decoded) { #expect(lumaError(frame, luma) < 6) }
        var rest = 0
        try encoder.flush { _ in rest += 1 }
        #expect(rest == 0)
    }

    @Test func theTrackIsDescribed() throws {
        let encoder = try makeEncoder()
        #expect(encoder.track == nil)
        var frame = try movingFrame(step: 0)
        frame.attributes.color = .bt709
        frame.attributes.orientation = .left
        let packets = try encode(encoder, [frame])
        let track = try #require(encoder.track)
        #expect(track.codec == .h264)
        #expect(
            track.media
                == .video(.init(width: 160, height: 96, orientation: .left, color: .bt709, frameRate: 30)))
        let configuration = try #require(track.decoderConfiguration)
        let parsed = try configuration.withUnsafeBytes { try AVCDecoderConfiguration(parsing: $0) }
        #expect(parsed.parameters?.width == 160 && parsed.parameters?.height == 96)
        #expect(parsed.parameters?.color == .bt709)
        #expect(packets.count == 1)
    }

    @Test func sizesThatItDoesNotTakeAreLeftToOthers() {
        for entry in EncoderEntry.ffmpeg {
            #expect(!entry.acceptsSize(PixelSize(width: 1, height: 9)))
            #expect(entry.acceptsSize(PixelSize(width: 2, height: 2)))
        }
    }

    @Test func keyFramesOnRequest() throws {
        let encoder = try makeEncoder { $0.keyFrameInterval = nil }
        let packets = try encode(encoder, try (0..<100).map { try movingFrame(step: $0) }) {
            if $0 == 7 || $0 == 70 { encoder.requestKeyFrame() }
        }
        #expect(packets.indices.filter { packets[$0].isKeyFrame } == [0, 7, 70])
        #expect(packets.filter(\.isKeyFrame).allSatisfy { units(of: $0).contains(.idrSlice) })
    }

    /// Another bitrate has effect while running, in the same stream.
    @Test func bitrate() throws {
        let encoder = try makeEncoder(bitrate: 800_000) { $0.keyFrameInterval = nil }
        var noise = SystemRandomNumberGenerator()
        let frames = try (0..<240).map { step in
            let rate: FrameRate = 30
            let buffer = try PixelBuffer.make(.nv12, width: 320, height: 240) { pixels in
                pixels.fill(plane: 0) { x, y in
                    UInt8(60 + (x + y + step) % 100) &+ UInt8.random(in: 0..<12, using: &noise)
                }
                pixels.fill(plane: 1) { _, _ in 128 }
            }
            return VideoFrame(
                buffer: buffer, timestamp: MediaTime(nanoseconds: 0).advanced(by: rate.time(ofFrame: Int64(step))),
                sequenceNumber: UInt64(step), estimatedFrameRate: rate)
        }
        let packets = try encode(encoder, frames) { if $0 == 120 { try encoder.setBitrate(200_000) } }
        #expect(packets.count { $0.isKeyFrame } == 1)
        func rate(_ range: Range<Int>) -> Int { packets[range].reduce(0) { $0 + $1.data.count } * 8 * 30 / range.count }
        #expect((600_000...1_000_000).contains(rate(30..<120)), "\(rate(30..<120))")
        #expect((140_000...270_000).contains(rate(150..<240)), "\(rate(150..<240))")
        #expect(throws: CodecError.self) { try encoder.setBitrate(10) }
    }

    /// Another size or layout begins again with a key frame, and no frame is lost.
    @Test func anotherSize() throws {
        let encoder = try makeEncoder()
        let frames =
            try (0..<10).map { try movingFrame(step: $0) }
            + (10..<20).map { try movingFrame(.i420, width: 96, height: 64, step: $0) }
        let packets = try encode(encoder, frames)
        #expect(packets.count == 20)
        #expect(packets.indices.filter { packets[$0].isKeyFrame } == [0, 10])
        #expect(packets[10].width == 96)
        #expect(try decode(Array(packets[10...]), as: "h264", width: 96, height: 64).count == 10)
    }

    /// The parameter sets state both, and Chromium ignores the range without primaries and transfer.
    @Test func colorAndShapeOfPixels() throws {
        var frame = try movingFrame(step: 0)
        frame.color = ColorDescription(matrix: .bt709, range: .full)
        frame.pixelAspect = try #require(PixelAspect(width: 64, height: 45))
        let packet = try #require(try encode(try makeEncoder(), [frame]).first)
        let set = try packet.data.withUnsafeBytes { bytes in
            try AnnexB.units(in: bytes).first { $0.type == .sps }.map { try SequenceParameterSet($0) }
        }
        let usability = try #require(set?.videoUsability)
        #expect(usability.pixelAspect == frame.pixelAspect)
        #expect(usability.signal == .init(isFullRange: true, primaries: 1, transfer: 1, matrix: 1))
    }

    /// Encoders that cannot change their bitrate, others codecs, and such as hold frames back.
    @Test(arguments: [("mpeg4", "m4v"), ("mjpeg", "mjpeg"), ("libvpx", nil)]) func others(
        _ name: String, _ format: String?
    ) throws {
        let encoder = try makeEncoder(name)
        let isFull = name == "mjpeg"
        let frames = try (0..<30).map {
            var frame = try movingFrame(.i420, step: $0)
            if isFull { frame.attributes.color = .jpeg }
            return frame
        }
        let packets = try encode(encoder, frames) { if $0 == 15 { try encoder.setBitrate(300_000) } }
        #expect(packets.count == 30)
        #expect(packets[15].isKeyFrame)
        #expect(packets.map(\.timestamp) == frames.map(\.timestamp))
        #expect(encoder.track?.codec == (name == "mjpeg" ? .jpeg : name == "libvpx" ? .vp8 : Codec(rawValue: "mpeg4")))
        if let format { #expect(try decode(packets, as: format, width: 160, height: 96).count == 30) }
    }

    /// With frames in flight each packet keeps its own frame's number, and the rest comes with the flush.
    @Test func delayedPackets() throws {
        let encoder = try makeEncoder { $0.options = ["tune": "psnr", "preset": "veryfast"] }
        let frames = try (0..<60).map { try movingFrame(step: $0) }
        var packets = try encode(encoder, frames)
        #expect(packets.count < 60)
        try encoder.flush { packets.append($0) }
        #expect(packets.map(\.sequenceNumber) == Array(0..<60))
        #expect(packets.map(\.timestamp) == frames.map(\.timestamp))
        // Frames may follow.
        packets = try encode(encoder, [try movingFrame(step: 60)])
        try encoder.flush { packets.append($0) }
        #expect(packets.count == 1 && packets[0].isKeyFrame)
    }

    /// The encoder's holders are gone with it, so that a pool can use the memory again.
    @Test func buffersAreReleased() throws {
        weak var held: PixelBuffer?
        let encoder = try makeEncoder()
        do {
            let frame = try movingFrame(step: 0)
            held = frame.buffer
            _ = try encode(encoder, [frame])
        }
        #expect(held == nil)
    }

    @Test func wrongSettings() throws {
        func code(_ body: () throws -> Void) -> CodecError? {
            do {
                try body()
                return nil
            } catch { return error as? CodecError }
        }
        let unknown = code { _ = try makeEncoder("libx246") }
        #expect(unknown?.code == .invalidConfiguration)
        #expect(unknown?.message.contains("libx264") == true)
        // A decoder, and sound.
        for name in ["h264", "aac", ""] { #expect(code { _ = try makeEncoder(name) }?.code == .invalidConfiguration) }
        #expect(code { _ = try makeEncoder(bitrate: 1) }?.code == .invalidConfiguration)
        #expect(code { _ = try makeEncoder { $0.keyFrameInterval = .zero } }?.code == .invalidConfiguration)
        let misspelt = try makeEncoder { $0.options = ["presett": "fast"] }
        let error = code { _ = try encode(misspelt, [try movingFrame(step: 0)]) }
        #expect(error?.code == .invalidConfiguration && error?.message.contains("presett") == true)
        let argb = try PixelBuffer.make(.argb, width: 16, height: 16) { $0.fill(plane: 0) { _, _ in 0 } }
        let frame = VideoFrame(buffer: argb, timestamp: .zero, sequenceNumber: 0)
        #expect(code { _ = try encode(try makeEncoder(), [frame]) }?.code == .formatUnsupported)
        let nv12Only = code { _ = try encode(try makeEncoder("mpeg4"), [try movingFrame(.nv12, step: 0)]) }
        #expect(nv12Only?.code == .formatUnsupported && nv12Only?.message.contains("I420") == true)
    }

    /// Frames that come each millisecond, by what they say, of which none can be encoded in that time.
    @Test(arguments: [EncodingSettings.Purpose.live, .file])
    func anOverloadedEncoderAsksForLess(_ purpose: EncodingSettings.Purpose) throws {
        var configuration = FFmpegVideoEncoder.Configuration(encoder: "libx264", bitrate: 400_000, purpose: purpose)
        configuration.frameRate = 1000
        configuration.threads = 1
        configuration.options = ["preset": "veryslow"]
        let encoder = try FFmpegVideoEncoder(configuration)
        #expect(encoder.wants == CaptureWants())
        let picture = try movingFrame(width: 640, height: 480, step: 0, rate: 1000).buffer
        for step in 0..<40 {
            let time = MediaTime.zero.advanced(by: .milliseconds(100 * step))
            try encoder.encode(VideoFrame(buffer: picture, timestamp: time, estimatedFrameRate: 1000)) { _ in }
        }
        // In a file every frame counts.
        #expect((encoder.wants.maximumFrameRate != nil) == (purpose == .live))
    }

    /// Those of hardware that is not here say what they need, and do not crash; the rest works.
    @Test func whatWorksHere() throws {
        #expect(FFmpegVideoEncoder.failure(of: "libx264") == nil)
        #expect(FFmpegVideoEncoder.failure(of: "libvpx") == nil)
        #expect(FFmpegVideoEncoder.failure(of: "no such")?.code == .invalidConfiguration)
        let names = FFmpegVideoEncoder.names(of: .h264)
        #expect(names.contains("libx264") && names.contains("h264_v4l2m2m"))
        for name in names where name != "libx264" {
            guard let failure = FFmpegVideoEncoder.failure(of: name) else { continue }
            #expect([.unavailable, .formatUnsupported].contains(failure.code), "\(failure)")
            #expect(failure.subject == name)
        }
        let missing = FFmpegVideoEncoder.failure(of: "h264_vaapi", device: "/dev/dri/none")
        #expect(missing?.code == .unavailable && missing?.message.contains("/dev/dri/none") == true)
    }
}
