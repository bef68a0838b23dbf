import Glibc
import H264Bitstream
import PacketCapturing
import TestTools
import Testing

@testable import FFmpegContainers

private final class PacketRecorder: PacketCaptureConsumer {
    let packets = Locked<[MediaPacket]>([])
    func consumePacket(_ packet: MediaPacket) { packets.withLock { $0.append(packet) } }
}

/// Pictures that arrive in parts, and parameter sets whose picture never arrives.
@Suite struct LivePicturesTests {
    /// Two slices for each picture.
    private static let units = Result {
        try h264Clip(frames: 4, keyFrameInterval: 2, options: "repeat-headers=1:slices=2").withUnsafeBytes { bytes in
            AnnexB.units(in: bytes).map { Array($0.bytes) }
        }
    }

    private let sets: [UInt8]
    private let keySlices: [[UInt8]]
    private let otherSlices: [[UInt8]]

    init() throws {
        let units = try Self.units.get()
        func all(_ kinds: NALUnit.Kind...) -> [[UInt8]] {
            units.filter { kinds.contains(NALUnit.Kind(header: $0[0])) }.map { [0, 0, 0, 1] + $0 }
        }
        sets = all(.sps)[0] + all(.pps)[0]
        keySlices = all(.idrSlice)
        otherSlices = all(.slice)
        try #require(keySlices.count == 4 && otherSlices.count == 4)
    }

    private func pictures(of packets: [[UInt8]]) throws -> [[UInt8]] {
        var live = LivePictures(PacketBufferPool(), isUntimed: false)
        var made: [MediaPacket?] = []
        for (number, bytes) in packets.enumerated() {
            let isKey = bytes.withUnsafeBytes { AnnexB.units(in: $0).contains { $0.type == .idrSlice } }
            let packet = MediaPacket(
                data: bytes.withUnsafeBytes { PacketBuffer(copying: $0) }, track: TrackID(rawValue: 0),
                timestamp: MediaTime(nanoseconds: Int64(number)), isKeyFrame: isKey)
            let (before, picture, _) = try live.add(packet)
            made += [before, picture]
        }
        made.append(live.flush())
        return made.compactMap { $0?.data.withUnsafeBytes { Array($0) } }
    }

    @Test func slicesOfAKeyFrameAreOnePicture() throws {
        let (key, other) = (sets + keySlices[0] + keySlices[1], otherSlices[0] + otherSlices[1])
        #expect(try pictures(of: [sets + keySlices[0], sets + keySlices[1]]) == [key])
        #expect(try pictures(of: [sets + keySlices[0], keySlices[1], other]) == [key, other])
        // The first slice of the next picture is lost.
        #expect(try pictures(of: [key, otherSlices[1]]) == [key, otherSlices[1]])
    }

    /// Which packets are pictures, and the sets that are kept for the next picture.
    private func lone(_ codec: Codec, _ packets: [[UInt8]]) throws -> (pictures: [Bool], sets: [UInt8]) {
        var lone = try #require(LoneParameterSets(codec))
        let found = packets.map { packet in packet.withUnsafeBytes { !lone.absorb($0) } }
        return (found, lone.take())
    }

    @Test func parameterSetsAloneAreKeptForTheNextPicture() throws {
        let delimiter: [UInt8] = [0, 0, 0, 1, 9, 0xF0]
        var found = try lone(.h264, [sets + keySlices[0], otherSlices[0], delimiter, sets])
        #expect(found.pictures == [true, true, false, false] && found.sets == sets)
        let junk = [UInt8](repeating: 1, count: 100)
        found = try lone(.h264, [junk, []])
        #expect(found.pictures == [true, true] && found.sets.isEmpty)
        // A sender that never stops.
        found = try lone(.h264, Array(repeating: sets, count: 10000))
        #expect(!found.pictures.contains(true) && found.sets.suffix(sets.count) == sets[...])
        #expect(found.sets.count <= 65536)
        // Of H.265: sets, a delimiter, and slices.
        let others: [[UInt8]] = [[0x40, 1, 9], [0x42, 1, 9], [0x44, 1, 9]].map { [0, 0, 0, 1] + $0 }
        let slices: [[UInt8]] = [[0x26, 1, 0xAF], [0x02, 1, 0xD0]].map { [0, 0, 0, 1] + $0 }
        found = try lone(
            Codec(rawValue: "hevc"), [others[0] + slices[0], slices[1], [0, 0, 0, 1, 0x46, 1, 0x50]] + others)
        #expect(found.pictures == [true, true, false, false, false, false] && found.sets == others.flatMap { $0 })
        #expect(LoneParameterSets(.vp8) == nil)
    }

    /// The library hands the sets over as a packet, as if it were a picture.
    @Test(arguments: [Codec.h264, Codec(rawValue: "hevc")])
    func aConnectionThatEndsBehindParameterSets(codec: Codec) throws {
        let listener = try TestListener()
        let pictures = codec == .h264 ? try h264Clip(frames: 20) : try h265Clip(frames: 20)
        // They stand before the first picture.
        let clip = pictures + (codec == .h264 ? sets : Self.parameterSetsOfH265(pictures))
        startThread {
            guard let socket = try? listener.accept() else { return }
            _ = clip.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            close(socket)
        }
        var configuration = PacketStreamCapturer.Configuration()
        configuration.reconnectDelays = [.seconds(600)]
        let capture = PacketStreamCapturer(
            url: "tcp://127.0.0.1:\(listener.port)?format=\(codec)", configuration: configuration)
        let recorder = PacketRecorder()
        capture.packetCaptureConsumer = recorder
        try capture.initCapture()
        try capture.startCapture()
        #expect(eventually { if case .interrupted = capture.state { true } else { false } })
        capture.releaseCapture()
        let packets = recorder.packets.withLock { $0 }
        #expect(packets.count == 20)
        for packet in packets {
            #expect(
                packet.data.withUnsafeBytes {
                    AnnexB.units(in: $0).contains {
                        codec == .h264 ? $0.type.isSlice : $0.bytes[0] >> 1 & 0x3F < 32
                    }
                })
        }
    }

    private static func parameterSetsOfH265(_ clip: [UInt8]) -> [UInt8] {
        clip.withUnsafeBytes { bytes in
            AnnexB.units(in: bytes).prefix(3).flatMap { [0, 0, 0, 1] + Array($0.bytes) }
        }
    }

    private func h265Clip(frames: Int) throws -> [UInt8] {
        try run(
            "ffmpeg",
            [
                "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=30", "-frames:v", "\(frames)",
                "-pix_fmt",
                "yuv420p", "-c:v", "libx265", "-preset", "ultrafast", "-tune", "zerolatency", "-x265-params",
                "log-level=none:bframes=0:keyint=15:info=0", "-f", "hevc", "-",
            ])
    }
}
