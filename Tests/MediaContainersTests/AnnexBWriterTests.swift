import CapturerTestKit
import H264Bitstream
import MediaContainers
import TestTools
import Testing
import VideoCapturing

@Suite struct AnnexBWriterTests {
    private let folder = TemporaryFolder()

    @Test func theFileIsThePackets() throws {
        let clip = try h264Clip(frames: 40)
        let path = folder.file("a.h264")
        let writer = try OutputFormat(path: path).makePacketWriter(path: path)
        try writer.begin([makeTrack(.h264)])
        for (index, unit) in units(clip).enumerated() {
            try writer.write(makePacket(unit.bytes, at: .milliseconds(33 * index), isKeyFrame: unit.isKeyFrame))
        }
        try writer.finish()
        try writer.finish()
        #expect(try readBytes(path) == clip)
        #expect(writer.bytesWritten == Int64(clip.count))
    }

    /// An encoder that gives its parameter sets only in the track's description.
    @Test func keyFramesGetTheirParameterSets() throws {
        let clip = try h264Clip(frames: 40)
        let record = try clip.withUnsafeBytes { try AVCDecoderConfiguration(annexB: $0) }
        var track = makeTrack(.h264)
        track.decoderConfiguration = record.bytes.withUnsafeBytes { PacketBuffer(copying: $0) }
        let path = folder.file("a.264")
        let writer = try OutputFormat(path: path).makePacketWriter(path: path)
        try writer.begin([track])
        for (index, unit) in units(clip).enumerated() {
            var bare: [UInt8] = []
            unit.bytes.withUnsafeBytes { bytes in
                for unit in AnnexB.units(in: bytes) where unit.type != .sps && unit.type != .pps {
                    AnnexB.append(unit, to: &bare)
                }
            }
            try writer.write(makePacket(bare, at: .milliseconds(33 * index), isKeyFrame: unit.isKeyFrame))
        }
        try writer.finish()
        let count = try readBytes(path).withUnsafeBytes { AnnexB.units(in: $0).count { $0.type == .sps } }
        #expect(count == 3)
    }

    @Test func theContractIsKept() throws {
        let clip = units(try h264Clip(frames: 100))
        let path = folder.file("a.h264")
        let suite = PacketSinkSuite(
            tracks: [makeTrack(.h264)], refused: [makeTrack(.vp8), makeTrack(.jpeg), makeTrack(.opus)],
            makePacket: { _, number in
                let unit = clip[number % clip.count]
                return makePacket(unit.bytes, at: .milliseconds(33 * number), isKeyFrame: unit.isKeyFrame)
            },
            makeTrial: {
                PacketSinkSuite.Trial(sink: AnnexBWriter(try OutputFile(path: path, overwrite: true))) {
                    units(try readBytes(path)).count
                }
            })
        let failures = suite.run()
        #expect(failures.isEmpty, "\(failures)")
    }
}

/// The access units of a clip.
private func units(_ stream: [UInt8]) -> [(bytes: [UInt8], isKeyFrame: Bool)] {
    var parser = AccessUnitParser()
    var units: [(bytes: [UInt8], isKeyFrame: Bool)] = []
    func add(_ unit: AccessUnitParser.Unit) { units.append((Array(unit.bytes), unit.isKeyFrame)) }
    stream.withUnsafeBytes { parser.append($0, output: add) }
    parser.flush(output: add)
    return units
}
