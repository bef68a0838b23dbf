import CaptureCore
import Testing

@testable import H264Bitstream

@Suite struct SequenceParameterSetTests {
    /// By libx264 and FFmpeg's `trace_headers`.
    struct Sample: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var bytes: String
        var profile: UInt8
        var level: UInt8
        var size: (Int, Int)
        var coded: (Int, Int)
        var rate: FrameRate
        var chromaFormat = 1
        var bitDepth = 8
        var hasFramesOnly = true
        var color: ColorDescription?

        var unit: [UInt8] {
            var bytes: [UInt8] = []
            var digits = self.bytes[...]
            while digits.count >= 2 {
                bytes.append(UInt8(digits.prefix(2), radix: 16)!)
                digits = digits.dropFirst(2)
            }
            return bytes
        }
    }

    static let samples = [
        Sample(
            testDescription: "1080p at 29.97, High", bytes: "67640028acd940780227e5c04400000fa40003a9803c60c658",
            profile: 100, level: 40, size: (1920, 1080), coded: (1920, 1088), rate: FrameRate(30000, per: 1001)!),
        Sample(
            testDescription: "cropped at two sides, full range",
            bytes: "674d401eeca0521ff111180b70202014000003000400000300c83c58b658", profile: 77, level: 30,
            size: (642, 482), coded: (656, 496), rate: 25, color: ColorDescription(matrix: .bt709, range: .full)),
        Sample(
            testDescription: "4:4:4", bytes: "67f40015919b28283f6022000003000200000300c81e2c5b2c", profile: 244,
            level: 21, size: (320, 240), coded: (320, 240), rate: 50, chromaFormat: 3),
        Sample(
            testDescription: "interlaced", bytes: "6764001eacd940b424d8088000000300800000190f8a14cb", profile: 100,
            level: 30, size: (720, 576), coded: (720, 576), rate: 25, hasFramesOnly: false),
        Sample(
            testDescription: "4:2:2 of 10 bits", bytes: "677a0015b6cd941609fa8fc044000003000400000300783c58b658",
            profile: 122, level: 21, size: (350, 290), coded: (352, 304), rate: 15, chromaFormat: 2, bitDepth: 10),
    ]

    @Test(arguments: samples)
    func isParsed(_ sample: Sample) throws {
        let set = try withUnit(sample.unit) { try SequenceParameterSet($0) }
        #expect(set.profile == sample.profile)
        #expect(set.level == sample.level)
        #expect((set.width, set.height) == sample.size)
        #expect((set.codedWidth, set.codedHeight) == sample.coded)
        #expect(set.frameRate == sample.rate)
        #expect(set.chromaFormat == sample.chromaFormat)
        #expect(set.lumaBitDepth == sample.bitDepth)
        #expect(set.hasFramesOnly == sample.hasFramesOnly)
        #expect(set.frameNumberBits == 4)
        #expect(set.color == sample.color)
        #expect(
            set.videoUsability?.restriction
                == SequenceParameterSet.VideoUsability.Restriction(reorderedFrameCount: 2, bufferedFrameCount: 4))
    }

    @Test(arguments: samples)
    func videoUsabilityIsReplaced(_ sample: Sample) throws {
        let set = try withUnit(sample.unit) { try SequenceParameterSet($0) }
        var wanted = SequenceParameterSet.VideoUsability()
        wanted.timing = SequenceParameterSet.VideoUsability.Timing(unitsPerTick: 1, timeScale: 120)
        wanted.signal = SequenceParameterSet.VideoUsability.Signal(
            isFullRange: true, primaries: 1, transfer: 1, matrix: 1)
        wanted.restriction = SequenceParameterSet.VideoUsability.Restriction(
            reorderedFrameCount: 0, bufferedFrameCount: 1)
        wanted.pixelAspect = PixelAspect(width: 3, height: 4)
        let written = withUnit(sample.unit) { set.replacingVideoUsability(of: $0, with: wanted) }
        let read = try withUnit(written) { try SequenceParameterSet($0) }
        #expect(read.videoUsability == wanted)
        #expect(read.frameRate == 60)
        #expect((read.width, read.height, read.chromaFormat) == (set.width, set.height, set.chromaFormat))
        #expect(read.referenceFrameCount == set.referenceFrameCount)
        // No start code has come about.
        #expect(annexBUnits([0, 0, 1] + written) == [written])
    }

    @Test(arguments: samples)
    func damageIsRefusedOrRead(_ sample: Sample) {
        for count in 1...sample.unit.count {
            if let set = try? withUnit(Array(sample.unit.prefix(count)), { try SequenceParameterSet($0) }) {
                #expect((set.width, set.height) == sample.size)
            }
        }
        var numbers = TestNumbers(seed: 3)
        for _ in 0..<2000 {
            var mutated = sample.unit
            for _ in 0..<Int.random(in: 1...4, using: &numbers) {
                mutated[Int.random(in: 1..<mutated.count, using: &numbers)] = UInt8.random(in: 0...255, using: &numbers)
            }
            guard let set = try? withUnit(mutated, { try SequenceParameterSet($0) }) else { continue }
            #expect(set.width > 0 && set.height > 0 && set.codedWidth <= 65536 && set.codedHeight <= 131_072)
            _ = set.frameRate
        }
    }

    @Test func otherUnitsAreRefused() {
        #expect(throws: CodecError.self) { try withUnit([0x68, 1, 2, 3]) { try SequenceParameterSet($0) } }
    }

    @Test func numbersAreReadAsWritten() {
        var numbers = TestNumbers(seed: 4)
        let values =
            [0, 1, 2, 254, 255, 65535, UInt32.max - 1]
            + (0..<200).map { _ in
                UInt32(truncatingIfNeeded: numbers.next() >> UInt64.random(in: 0...40, using: &numbers))
            }
        var writer = BitWriter()
        for value in values where value < .max {
            writer.writeUnsigned(value)
            writer.writeSigned(Int32(truncatingIfNeeded: value / 4))
            writer.writeSigned(-Int32(truncatingIfNeeded: value / 4))
            writer.write(value, bits: 32)
        }
        let unit = writer.nalUnit(header: 0x06)
        unit.withUnsafeBytes { bytes in
            var reader = BitReader(bytes)
            for value in values where value < .max {
                let read = (reader.readUnsigned(), reader.readSigned(), reader.readSigned(), reader.read(32))
                let quarter = Int32(truncatingIfNeeded: value / 4)
                #expect(read == (value, quarter, -quarter, value))
            }
            let isStopBitSet = reader.readBit()
            #expect(reader.isValid && isStopBitSet)
        }
        #expect(annexBUnits([0, 0, 1] + unit) == [unit])
    }
}
