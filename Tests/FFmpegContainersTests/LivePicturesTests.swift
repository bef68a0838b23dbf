import H264Bitstream
import PacketCapturing
import TestTools
import Testing

@testable import FFmpegContainers

/// Pictures that arrive in parts, and those of which a part never arrives.
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

    private func pictures(of packets: [[UInt8]], _ codec: Codec = .h264) throws -> [[UInt8]] {
        var live = LivePictures(codec, PacketBufferPool(), isUntimed: false)
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
        let whole = sets + keySlices[0] + keySlices[1]
        #expect(try pictures(of: [sets + keySlices[0], sets + keySlices[1]]) == [whole])
        #expect(
            try pictures(of: [sets + keySlices[0], sets, keySlices[1], otherSlices[0] + otherSlices[1]])
                == [whole, otherSlices[0] + otherSlices[1]])
    }

    @Test func parameterSetsAloneAreNoPicture() throws {
        let first = sets + keySlices[0] + keySlices[1]
        let second = otherSlices[0] + otherSlices[1]
        #expect(try pictures(of: [first, second, sets]) == [first, second])
        #expect(try pictures(of: [first, sets, second]) == [first, sets + second])
        // The rest of the key frame was never sent.
        #expect(try pictures(of: [first, second, sets + keySlices[2], sets]) == [first, second])
        #expect(try pictures(of: [sets]) == [])
        let junk = [UInt8](repeating: 1, count: 100)
        #expect(try pictures(of: [junk]) == [junk])
    }

    /// Of H.265: sets, a delimiter, and slices (ITU-T H.265, table 7-1).
    @Test func soItIsWithH265() throws {
        let sets: [UInt8] = [0, 0, 1, 0x40, 1, 9, 0, 0, 1, 0x42, 1, 9, 0, 0, 1, 0x44, 1, 9]
        let key: [UInt8] = [0, 0, 1, 0x26, 1, 0xAF]
        let other: [UInt8] = [0, 0, 1, 0x46, 1, 0x50, 0, 0, 1, 0x02, 1, 0xD0]
        #expect(try pictures(of: [sets, key, other, sets], Codec(rawValue: "hevc")) == [sets + key, other])
    }
}
