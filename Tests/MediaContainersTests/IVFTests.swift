import Glibc
import TestTools
import Testing
import VideoCapturing

@testable import MediaContainers

@Suite struct IVFTests {
    private let folder: TemporaryFolder

    init() throws { folder = TemporaryFolder() }

    @Test(arguments: [(IVFWriter.HeaderLength.duration, UInt32(66_368)), (.packetCount, 3)])
    func theFileIsByteExact(_ headerLength: IVFWriter.HeaderLength, _ stated: UInt32) throws {
        let path = folder.file("a.ivf")
        let writer = IVFWriter(try OutputFile(path: path), headerLength: headerLength)
        try writer.begin([makeTrack(width: 640, height: 480)])
        try writer.write(makePacket([1, 2, 3], at: .zero, isKeyFrame: true, width: 640, height: 480))
        try writer.write(makePacket([], at: .milliseconds(20)))
        try writer.write(makePacket([4], at: .nanoseconds(33_366_667)))
        // Earlier than the one before: put one microsecond after it.
        try writer.write(makePacket([5], at: .milliseconds(10)))
        try writer.finish()
        try writer.finish()
        let expected = ivf(
            width: 640, height: 480, denominator: 1_000_000, stated: stated,
            packets: [(0, [1, 2, 3]), (33_367, [4]), (33_368, [5])])
        #expect(try readBytes(path) == expected)
        #expect(writer.bytesWritten == Int64(expected.count))
    }

    /// GStreamer and vpxdec take the time base for the frame rate.
    @Test(arguments: [
        FrameRate(30), 25, FrameRate(30_000, per: 1001)!, FrameRate(60_000, per: 1001)!, FrameRate(25, per: 2)!,
    ])
    func evenTimesAreStatedInFrames(_ rate: FrameRate) throws {
        for (headerLength, stated) in [(IVFWriter.HeaderLength.duration, UInt32(2004)), (.packetCount, 2002)] {
            let path = folder.file("a.ivf")
            let writer = IVFWriter(try OutputFile(path: path, overwrite: true), headerLength: headerLength)
            try writer.begin([makeTrack(width: 640, height: 480)])
            // With a loss of two frames in the middle; the times are those of a clock that is not at zero.
            let frames = Array(0..<1000) + Array(1002..<2004)
            for frame in frames {
                try writer.write(
                    makePacket(
                        [UInt8](repeating: 1, count: frame % 5 + 1),
                        at: .seconds(77) + rate.time(ofFrame: Int64(frame)),
                        isKeyFrame: frame == 0, duration: rate.frameInterval, width: 640, height: 480))
            }
            try writer.finish()
            let expected = ivf(
                width: 640, height: 480, denominator: UInt32(rate.frames), numerator: UInt32(rate.seconds),
                stated: stated,
                packets: frames.map { (Int64($0), [UInt8](repeating: 1, count: $0 % 5 + 1)) })
            let isExact = try readBytes(path) == expected
            #expect(isExact)
        }
    }

    /// One packet is two microseconds late: no rate has all of them at whole frames.
    @Test func unevenTimesStayMicroseconds() throws {
        let path = folder.file("a.ivf")
        let writer = IVFWriter(try OutputFile(path: path))
        try writer.begin([makeTrack()])
        let times = [0, 33_333, 66_669, 100_000].map { Int64($0) }
        for time in times { try writer.write(makePacket([1], at: .microseconds(time), isKeyFrame: time == 0)) }
        try writer.finish()
        let reader = try IVFReader(InputFile(path: path))
        for time in times { #expect(try reader.nextPacket()?.timestamp == .microseconds(time)) }
        #expect(try readBytes(path)[16..<24].elementsEqual([0x40, 0x42, 0x0F, 0, 1, 0, 0, 0]))
    }

    @Test func aDurationBeyond32BitsStaysUnknown() throws {
        let path = folder.file("a.ivf")
        let writer = IVFWriter(try OutputFile(path: path))
        try writer.begin([makeTrack()])
        try writer.write(makePacket([1], at: .zero, isKeyFrame: true))
        try writer.write(makePacket([1], at: .seconds(4295), duration: .seconds(Int64.max)))
        try writer.finish()
        #expect(try readBytes(path)[24..<32].allSatisfy { $0 == 0 })
    }

    @Test func aLengthThatCannotBeACountIsNone() throws {
        for (stated, expected) in [(UInt32(0), nil), (3, Int64(3)), (4, nil), (33_000, nil)] {
            let path = folder.file("a.ivf")
            try writeBytes(ivf(stated: stated, packets: [(0, [1]), (1, [1]), (2, [1])]), to: path)
            #expect(try IVFReader(InputFile(path: path)).statedPacketCount == expected)
        }
    }

    @Test func intoAPipeTheCountStaysZero() throws {
        var ends: [Int32] = [0, 0]
        try #require(closingPipe(&ends) == 0)
        let writer = IVFWriter(OutputFile(descriptor: ends[1], name: "pipe", closing: true))
        try writer.begin([makeTrack()])
        try writer.write(makePacket([7], at: .zero, isKeyFrame: true))
        try writer.finish()
        let reader = try IVFReader(InputFile(descriptor: ends[0], name: "pipe", closing: true))
        #expect(reader.statedPacketCount == nil)
        #expect(!reader.canRewind)
        #expect(try reader.nextPacket()?.data.count == 1)
        #expect(try reader.nextPacket() == nil)
        #expect(mediaFileError { try reader.rewind() }?.code == .formatUnsupported)
    }

    @Test func timesAreExact() throws {
        let bytes = ivf(
            denominator: 30000, numerator: 1001, stated: 5, headerLength: 40,
            packets: [(0, [0]), (1, [1]), (30000, [0]), (-30, [1]), (.max, [0])])
        try writeBytes(bytes, to: folder.file("a.ivf"))
        let reader = try IVFReader(InputFile(path: folder.file("a.ivf")))
        #expect(reader.fourCC == "VP80")
        #expect(reader.width == 64)
        #expect(reader.height == 48)
        #expect(reader.statedPacketCount == 5)
        for _ in 0..<2 {
            #expect(try reader.nextPacket()?.timestamp == .zero)
            let second = try #require(try reader.nextPacket())
            #expect(second.timestamp == Duration(secondsComponent: 0, attosecondsComponent: 33_366_666_666_666_666))
            #expect(second.isKeyFrame == false)
            let third = try #require(try reader.nextPacket())
            #expect(third.timestamp == .seconds(1001))
            #expect(third.isKeyFrame == true)
            // Back in time: one packet later.
            #expect(try reader.nextPacket()?.timestamp == .seconds(1001) + second.timestamp)
            // 2⁶³ − 1 frames are more than 64 bits of nanoseconds.
            #expect(try reader.nextPacket()?.timestamp == .nanoseconds(Int64.max))
            #expect(try reader.nextPacket() == nil)
            try reader.rewind()
        }
    }

    /// As where two files were joined, or a stream began again.
    @Test func timesThatGoBackGoOn() throws {
        let times: [Int64] = [900, 901, 902, 0, 1, 2, 3]
        let path = folder.file("a.ivf")
        try writeBytes(ivf(packets: times.map { ($0, [$0 == 0 || $0 == 900 ? 0 : 1]) }), to: path)
        let reader = try IVFReader(InputFile(path: path))
        func readTimes() throws -> [Duration] {
            var times: [Duration] = []
            while let packet = try reader.nextPacket() { times.append(packet.timestamp) }
            return times
        }
        let first = try readTimes()
        let frame = first[1] - first[0]
        #expect((0..<7).allSatisfy { ((first[0] + frame * $0) - first[$0]).nanoseconds.magnitude < 10 })
        #expect(reader.discontinuities == 1)
        try reader.seekToKeyFrame(before: first[5])
        #expect(try readTimes() == Array(first[3...]))
        try reader.seekToKeyFrame(before: first[2])
        #expect(try readTimes() == first)
    }

    @Test func aTruncatedPacketIsToldAfterTheWholeOnes() throws {
        let bytes = ivf(packets: [(0, [0, 1, 2]), (1, [1, 2, 3, 4])])
        for length in (32 + 15 + 1)..<bytes.count {
            let reader = try IVFReader(
                InputFile(descriptor: pipeHolding(Array(bytes[..<length])), name: "pipe", closing: true))
            #expect(try reader.nextPacket()?.data.count == 3)
            #expect(mediaFileError { try reader.nextPacket() }?.code == .corruptData)
            #expect(try reader.nextPacket() == nil)
        }
    }

    @Test func headersThatLieAreTold() throws {
        let sound = ivf(packets: [(0, [0])])
        var cases = (0..<32).map { Array(sound[..<$0]) }
        cases.append(ivf(denominator: 0, packets: []))
        cases.append(ivf(numerator: 0, packets: []))
        cases.append(ivf(headerLength: 31, packets: []))
        cases.append(Array(ivf(headerLength: 500, packets: [])[..<100]))
        cases.append(Array("RIFF".utf8) + sound)
        for bytes in cases {
            let file = InputFile(descriptor: try pipeHolding(bytes), name: "pipe", closing: true)
            #expect(mediaFileError { try IVFReader(file) }?.code == .corruptData)
        }
    }

    @Test(arguments: [UInt32(60 << 20), 64 << 20 + 1, .max])
    func aSizeThatLiesTakesNoMemory(_ size: UInt32) throws {
        let bytes = ivf(packets: []) + littleEndian(UInt64(size), 4) + [UInt8](repeating: 0, count: 1000)
        let reader = try IVFReader(InputFile(descriptor: pipeHolding(bytes), name: "pipe", closing: true))
        #expect(mediaFileError { try reader.nextPacket() }?.code == .corruptData)
    }

    @Test func largePacketsComeWhole() throws {
        let large = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 3) }
        try writeBytes(ivf(packets: [(0, large), (1, [9])]), to: folder.file("a.ivf"))
        let reader = try IVFReader(InputFile(path: folder.file("a.ivf")))
        let first = try #require(try reader.nextPacket())
        #expect(first.data.withUnsafeBytes { Array($0) } == large)
        #expect(try reader.nextPacket()?.data.count == 1)
    }
}
