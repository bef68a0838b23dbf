import FrameProcessing
import JPEGCodec
import TestTools
import Testing
import VideoCapturing

@Suite struct JPEGHeaderTests {
    @Test func tellsSizeAndKind() throws {
        let tools = TemporaryFolder()
        let plain = try header(tools.makeJPEG(width: 353, height: 28))
        #expect(plain.width == 353 && plain.height == 28 && plain.precision == 8 && plain.componentCount == 3)
        #expect(!plain.isProgressive && !plain.isArithmeticCoded && plain.hasHuffmanTables)
        #expect(plain.restartInterval == 0)
        #expect(plain.samplingFactors(ofComponent: 0) == .init(horizontal: 2, vertical: 2))
        #expect(plain.samplingFactors(ofComponent: 2) == .init(horizontal: 1, vertical: 1))

        let wide = try header(tools.makeJPEG(width: 40, height: 8, ["-sample", "4x1,1x1,2x1", "-restart", "2B"]))
        #expect(wide.samplingFactors(ofComponent: 0) == .init(horizontal: 4, vertical: 1))
        #expect(wide.samplingFactors(ofComponent: 2) == .init(horizontal: 2, vertical: 1))
        #expect(wide.restartInterval == 2)

        #expect(try header(tools.makeJPEG(width: 8, height: 8, ["-progressive"])).isProgressive)
        #expect(try header(tools.makeJPEG(width: 8, height: 8, ["-arithmetic"])).isArithmeticCoded)
        #expect(try header(tools.makeJPEG(width: 8, height: 8, ["-grayscale"])).componentCount == 1)
        #expect(try !header(removing(0xC4, from: tools.makeJPEG(width: 8, height: 8))).hasHuffmanTables)
    }

    @Test func passesOverWhatItDoesNotKnow() throws {
        let jpeg = try TemporaryFolder().makeJPEG(width: 33, height: 17)
        let expected = try header(jpeg)
        let segment: [UInt8] = [0xFF, 0xEB, 0, 7, 0xFF, 0xC0, 0xFF, 0xD9, 1]
        // The last has a length that does not count itself.
        let odd = jpeg[..<2] + segment + [0xFF, 0xEC, 0, 1] + [0xFF, 0xFF, 0xFF] + jpeg[2...]
        #expect(try header(Array(odd)) == expected)
        #expect(try JPEGDecoder().samples(Array(odd)) == JPEGDecoder().samples(jpeg))
    }

    @Test func everyCutOfTheHeadIsDamage() throws {
        let jpeg = try TemporaryFolder().makeJPEG(width: 33, height: 17)
        let whole = try #require(segments(0xDA, in: jpeg).first).upperBound
        for count in 0..<whole {
            #expect(throws: CodecError.self, "\(count) bytes") { try header(Array(jpeg[..<count])) }
        }
        // The pixels need not be there.
        #expect(try header(Array(jpeg[..<whole])).width == 33)
    }

    @Test func contradictionsAreDamage() throws {
        let jpeg = try TemporaryFolder().makeJPEG(width: 33, height: 17)
        let frame = try #require(segments(0xC0, in: jpeg).first)
        #expect(throws: CodecError.self) {
            try header(Array(jpeg[..<frame.upperBound] + jpeg[frame] + jpeg[frame.upperBound...]))
        }
        #expect(throws: CodecError.self) { try header(removing(0xC0, from: jpeg)) }
        for (offset, value, code) in [
            (5, 0, .formatUnsupported), (11, 0, .corruptData), (11, 0x51, .corruptData), (1, 0xC3, .formatUnsupported),
            (1, 0xC5, .formatUnsupported), (3, 9, .corruptData),
        ] as [(Int, UInt8, CodecError.Code)] {
            var bent = jpeg
            bent[frame.lowerBound + offset] = value
            if offset == 5 { bent[frame.lowerBound + 6] = value }
            #expect("\(offset)") { try header(bent) } throws: { ($0 as? CodecError)?.code == code }
        }
    }
}
