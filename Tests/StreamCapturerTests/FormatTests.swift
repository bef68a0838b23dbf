import CapturerTestKit
import Digests
import FFmpegContainers
import H264Bitstream
import TestTools
import Testing
import VideoCapturing

@testable import StreamCapturer

#if canImport(Glibc)
    import Glibc
#endif

@Suite(.serialized) struct StreamFormatTests {
    private let folder = TemporaryFolder()

    /// The digests of a stream's pictures, decoded one by one.
    private func reference(_ stream: Stream) throws -> [String] {
        let decoder = try H264Decoder()
        var digests: [String] = []
        for unit in stream.units {
            try unit.withUnsafeBytes { bytes in
                try decoder.decode(bytes) { digests.append(MD5.hexDigest(of: $0)) }
            }
        }
        return digests
    }

    /// The digests of the pictures of a connection that ends, which ends the capture.
    private func received(
        _ bytes: [UInt8], option: String = "", pieces: Int = 1 << 20,
        _ change: @escaping (inout StreamCapturer.Configuration) -> Void = { _ in }
    ) throws -> (digests: [String], statistics: StreamCapturer.Statistics, state: CaptureState) {
        let sender = TestSender { connection in
            var rest = bytes[...]
            while !rest.isEmpty, connection.write(rest.prefix(pieces)) { rest = rest.dropFirst(pieces) }
            connection.hangUp()
            connection.awaitEnd()
        }
        defer { sender.stop() }
        let capture = StreamCapturer.test(sender.url + option) {
            $0.reconnectDelays = []
            change(&$0)
        }
        defer { capture.releaseCapture() }
        let consumer = DigestConsumer()
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        #expect(eventually { !capture.isCaptureStarted })
        return (consumer.frameDigests, capture.streamStatistics, capture.state)
    }

    /// Each form of the same pictures gives the same pictures, all of them, whatever pieces it comes in.
    @Test(arguments: ["annexb", "avcc", "matroska", "mpegts", "flv"], [1 << 20, 1])
    func isToldByItsFirstBytes(_ form: String, _ pieces: Int) throws {
        let stream = try Stream.standard.get()
        let bytes =
            switch form {
            case "annexb": stream.bytes
            case "avcc": stream.lengthPrefixed
            default: try stream.muxed(form, in: folder)
            }
        // Byte by byte takes long, so that is done with some only.
        guard pieces > 1 || form == "annexb" || form == "avcc" else { return }
        // A busy machine pauses anywhere.
        let (digests, statistics, state) = try received(bytes, pieces: pieces) { $0.endsPicturesAtPauses = false }
        let expected = try reference(stream)
        let isSame = digests == expected
        #expect(isSame, "\(digests.count) of \(expected.count) pictures")
        #expect(state == .stopped(.endOfStream))
        #expect(statistics.framesDecoded == 60 && statistics.framesLost == 0 && statistics.framesDamaged == 0)
        #expect(statistics.bytesReceived == UInt64(bytes.count))
    }

    /// The decoder holds back the last pictures of a stream that reorders them, until the stream ends.
    @Test(arguments: ["h264", "matroska", "mpegts", "flv"]) func theLastPicturesAreShown(_ form: String) throws {
        let bytes = try run(
            "ffmpeg",
            [
                "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=30", "-frames:v", "20", "-pix_fmt",
                "yuv420p", "-c:v", "libx264", "-preset", "veryfast", "-threads", "1", "-bf", "3", "-g", "10", "-f",
                form,
                "-",
            ])
        let (digests, statistics, state) = try received(bytes)
        #expect(digests.count == 20 && Set(digests).count == 20)
        #expect(state == .stopped(.endOfStream))
        #expect(statistics.framesLost == 0 && statistics.picturesSkipped == 0 && statistics.framesDamaged == 0)
    }

    /// Defects of the sample: start codes of three bytes are missed, one NAL unit is taken for one picture, and zeros and
    /// ones within the data for start codes.
    @Test(arguments: [
        "repeat-headers=1:slices=4", "repeat-headers=1:slices=4:aud=1", "repeat-headers=1:qp=1",
        "repeat-headers=1:qp=50",
    ])
    func unitsAreWholePictures(_ options: String) throws {
        let stream = Stream(try h264Clip(frames: 30, keyFrameInterval: 10, options: options))
        #expect(stream.units.count == 30)
        // Once with codes of three bytes only.
        var short: [UInt8] = []
        var zeros = 0
        for byte in stream.bytes {
            if byte == 1, zeros >= 3 { short.removeLast(zeros - 2) }
            zeros = byte == 0 ? zeros + 1 : 0
            short.append(byte)
        }
        for bytes in [stream.bytes, short] {
            let (digests, statistics, _) = try received(bytes) { $0.endsPicturesAtPauses = false }
            let isSame = try digests == reference(stream)
            #expect(isSame && statistics.picturesReceived == 30)
        }
    }

    /// Defect of the sample: times are always 0. Those of Matroska are kept where the network delays them, and placed on
    /// the clock.
    @Test func timesAreThoseOfTheStream() throws {
        let bytes = try Stream.standard.get().muxed("matroska", in: folder)
        let sender = TestSender { connection in
            // In pieces, so that pictures come in bursts.
            for start in stride(from: 0, to: bytes.count, by: 16_384) {
                connection.write(bytes[start..<min(start + 16_384, bytes.count)])
                usleep(200_000)
            }
            connection.hangUp()
            connection.awaitEnd()
        }
        defer { sender.stop() }
        let capture = StreamCapturer.test(sender.url) { $0.reconnectDelays = [] }
        defer { capture.releaseCapture() }
        let consumer = RecordingConsumer()
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        #expect(consumer.waitForFrames(60))
        let times = consumer.frames.map(\.timestamp)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        #expect(times.allSatisfy { $0 <= MonotonicClock().now })
    }

    /// A network's delays do not show in the times; a jump of the stream's scale begins it again.
    @Test func timesAreSmooth() {
        let connection = StreamConnection(nil, maximumPictureBytes: 1 << 20, now: .zero)
        var placed: [MediaTime] = []
        for number in 0..<100 {
            let time = Duration.milliseconds(40 * number)
            let jitter = Duration.milliseconds(number == 0 ? 0 : (number * 37) % 30)
            placed.append(
                connection.place(time + .seconds(1000), arrival: MediaTime(nanoseconds: 0).advanced(by: time + jitter)))
        }
        #expect(zip(placed, placed.dropFirst()).allSatisfy { $1 - $0 == .milliseconds(40) })
        let arrival = MediaTime(nanoseconds: 4_000_000_000)
        #expect(connection.place(.zero, arrival: arrival) == arrival)
        #expect(connection.place(nil, arrival: arrival) == arrival)
        #expect(connection.place(.nanoseconds(Int64.min), arrival: arrival) == arrival)
        #expect(connection.place(.nanoseconds(Int64.max), arrival: arrival) == arrival)
    }

    /// The address or the configuration overrules the first bytes.
    @Test func theFormatCanBeNamed() throws {
        let stream = try Stream.standard.get()
        let expected = try reference(stream)
        // Joined in the middle of a unit.
        let joined = Array(stream.bytes.dropFirst(stream.units[0].count + 20))
        let (digests, statistics, _) = try received(joined, option: "?format=h264") {
            $0.endsPicturesAtPauses = false
        }
        let isSame = digests == Array(expected.dropFirst(10))
        #expect(isSame && statistics.picturesSkipped >= 8)
        let (named, _, _) = try received(stream.lengthPrefixed) {
            $0.format = .lengthPrefixed
            $0.endsPicturesAtPauses = false
        }
        let isSameNamed = named == expected
        #expect(isSameNamed)
        let error = failure(of: StreamCapturer.test("tcp://127.0.0.1:1?format=avi"))
        #expect(error?.code == .invalidConfiguration)
    }

    /// Another size in mid-stream.
    @Test func theSizeMayChange() throws {
        let stream = try Stream.standard.get()
        let larger = Stream(try h264Clip(frames: 20, size: "320x240", keyFrameInterval: 10))
        let (digests, statistics, _) = try received(stream.bytes + larger.bytes) { $0.endsPicturesAtPauses = false }
        let isSame = try digests == reference(stream) + reference(larger)
        #expect(isSame && statistics.framesLost == 0)
    }

    /// Nothing is shown after a loss until the next key frame, which does not come: all of it counts nevertheless.
    @Test func lossAfterTheLastFrameCounts() throws {
        let stream = try Stream.standard.get()
        let bytes = stream.units.enumerated().filter { $0.offset != 56 }.flatMap(\.element)
        let sender = TestSender { connection in
            connection.write(bytes)
            connection.hangUp()
            connection.awaitEnd()
        }
        defer { sender.stop() }
        let capture = StreamCapturer.test(sender.url) {
            $0.reconnectDelays = []
            $0.endsPicturesAtPauses = false
        }
        defer { capture.releaseCapture() }
        let consumer = DigestConsumer()
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        #expect(eventually { !capture.isCaptureStarted })
        #expect(consumer.frameDigests.count == 56 && capture.streamStatistics.framesLost == 1)
        #expect(capture.statistics.framesDropped.source == 4)
    }

    /// Frames that were lost on the way are counted, by the numbers in the stream.
    @Test func lossIsCounted() throws {
        let stream = try Stream.standard.get()
        let bytes = stream.units.enumerated().filter { ![13, 14, 27].contains($0.offset) }.flatMap(\.element)
        let (digests, statistics, _) = try received(bytes) { $0.endsPicturesAtPauses = false }
        #expect(statistics.framesLost == 3)
        // Nothing is shown that refers to what was lost.
        let expected = try reference(stream)
        let isSubset = Set(digests).isSubset(of: expected)
        #expect(isSubset && statistics.picturesReceived == 57)
        #expect(digests.count == 57 - 5 - 2)
    }

    /// Parameter sets before each slice of a key frame, which each begin an access unit by the standard; GStreamer's RTP
    /// payloader sends such streams.
    @Test(arguments: [2, 4]) func aKeyFrameMayComeInPieces(_ slices: Int) throws {
        let whole = Stream(
            try h264Clip(frames: 60, keyFrameInterval: 10, options: "repeat-headers=1:aud=1:slices=\(slices)"))
        var sets: [UInt8] = []
        var bytes: [UInt8] = []
        whole.bytes.withUnsafeBytes { stream in
            for unit in AnnexB.units(in: stream) {
                if unit.type == .sps { sets = [] }
                if unit.type == .sps || unit.type == .pps { AnnexB.append(unit, to: &sets) }
                if unit.type == .idrSlice, !unit.beginsPicture { bytes += sets }
                AnnexB.append(unit, to: &bytes)
            }
        }
        #expect(Stream(bytes).units.count == 60 + 6 * (slices - 1))
        let (digests, statistics, _) = try received(bytes) { $0.endsPicturesAtPauses = false }
        let isSame = try digests == reference(whole)
        #expect(isSame, "\(digests.count) of 60")
        #expect(statistics.framesDamaged == 0 && statistics.framesLost == 0)
    }

    /// A unit that is damaged is counted, and the next key frame shows again.
    @Test func damageIsCounted() throws {
        var units = try Stream.standard.get().units
        for index in units[15].indices.dropFirst(12) { units[15][index] = UInt8(truncatingIfNeeded: index &* 37 | 4) }
        let (digests, statistics, state) = try received(units.flatMap { $0 })
        #expect(digests.count >= 50 && state == .stopped(.endOfStream))
        #expect(statistics.picturesReceived == 60)
    }
}
