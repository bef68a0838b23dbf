import FrameProcessing
import JPEGCodec
import TestTools
import Testing
import VideoCapturing

@Suite struct DamageTests {
    private func error(_ jpeg: [UInt8], _ decoder: JPEGDecoder = JPEGDecoder()) -> CodecError? {
        do {
            _ = try decoder.samples(jpeg)
            return nil
        } catch {
            return error as? CodecError
        }
    }

    @Test(arguments: [["-sample", "2x2"], ["-sample", "1x1", "-progressive"], ["-grayscale", "-restart", "1"]])
    func everyCutIsDamage(arguments: [String]) throws {
        let jpeg = try TemporaryFolder().makeJPEG(width: 33, height: 17, arguments)
        let decoder = JPEGDecoder()
        for count in 0..<jpeg.count {
            #expect(error(Array(jpeg[..<count]), decoder)?.code == .corruptData, "\(count) of \(jpeg.count) bytes")
        }
        #expect(error(jpeg, decoder) == nil)
        let cut = try #require(error(Array(jpeg.dropLast(2))))
        #expect("\(cut)".contains("The picture is damaged: it is cut off before its end; drop it and go on"), "\(cut)")
    }

    @Test func bytesAfterTheEndAreFine() throws {
        let jpeg = try TemporaryFolder().makeJPEG(width: 33, height: 17)
        let expected = try JPEGDecoder().samples(jpeg)
        for tail in [[0], [0, 0, 0, 0], [0xFF, 0xD8, 0xFF], [UInt8](repeating: 0xAB, count: 5000)] as [[UInt8]] {
            #expect(try JPEGDecoder().samples(jpeg + tail) == expected)
        }
    }

    /// Webcams leave some bytes before a marker.
    @Test func someBytesTooManyAreLetPass() throws {
        let jpeg = try TemporaryFolder().makeJPEG(width: 33, height: 17)
        let expected = try JPEGDecoder().samples(jpeg)
        let some = Array(jpeg.dropLast(2)) + [0x12, 0x34, 0x56] + [0xFF, 0xD9]
        #expect(try JPEGDecoder().samples(some) == expected)
        let many = Array(jpeg.dropLast(2)) + [UInt8](repeating: 0x12, count: 40) + [0xFF, 0xD9]
        #expect(error(many)?.code == .corruptData)
    }

    @Test func whatIsMissingInTheMiddleIsDamage() throws {
        let jpeg = try TemporaryFolder().makeJPEG(width: 64, height: 48, ["-restart", "1"])
        let scan = try #require(segments(0xDA, in: jpeg).first)
        var gap = jpeg
        gap.removeSubrange((scan.upperBound + 100)..<(scan.upperBound + 200))
        #expect(error(gap)?.code == .corruptData)
    }

    @Test(arguments: [
        [], [0xFF], [0xFF, 0xD8], [0xFF, 0xD8, 0xFF, 0xD9], Array("GIF89a, which is no JPEG".utf8),
        [UInt8](repeating: 0, count: 3000), [UInt8](repeating: 0xFF, count: 3000),
    ])
    func garbageIsDamage(bytes: [UInt8]) {
        #expect(error(bytes)?.code == .corruptData)
    }

    @Test func absurdSizesAreRefused() throws {
        var jpeg = try TemporaryFolder().makeJPEG(width: 33, height: 17)
        #expect(error(jpeg, JPEGDecoder(maximumPixelCount: 33 * 17)) == nil)
        let tooLarge = error(jpeg, JPEGDecoder(maximumPixelCount: 33 * 17 - 1))
        #expect(tooLarge?.code == .formatUnsupported && tooLarge?.message.contains("33x17") == true)
        let size = try #require(segments(0xC0, in: jpeg).first).lowerBound + 5
        jpeg.replaceSubrange(size..<(size + 4), with: [0x3F, 0xFF, 0x3F, 0xFF])
        #expect(error(jpeg)?.message.contains("more pixels than its bytes can hold") == true)
        jpeg.replaceSubrange(size..<(size + 4), with: [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(error(jpeg)?.code == .formatUnsupported)
    }

    @Test(arguments: [["-rgb"], ["-arithmetic"], ["-sample", "3x1"], ["-sample", "1x1,2x2,2x2"]])
    func refusesOtherKinds(arguments: [String]) throws {
        let jpeg = try TemporaryFolder().makeJPEG(width: 33, height: 17, arguments)
        let refusal = error(jpeg)
        #expect(refusal?.code == .formatUnsupported, "\(refusal as Any)")
    }

    @Test func refusesOtherPrecisions() throws {
        var jpeg = try TemporaryFolder().makeJPEG(width: 33, height: 17)
        jpeg[try #require(segments(0xC0, in: jpeg).first).lowerBound + 4] = 12
        #expect(error(jpeg)?.code == .formatUnsupported)
        #expect(try header(jpeg).precision == 12)
    }

    /// A pass over the whole picture for each: few bytes must not make much work.
    @Test func refusesEndlessScans() throws {
        let tools = TemporaryFolder()
        try tools.write(Array("0;\n1;\n2;\n".utf8), to: "scans")
        let jpeg = try tools.makeJPEG(width: 33, height: 17, ["-scans", "scans"])
        #expect(error(jpeg) == nil)
        let last = try #require(jpeg.indices.dropLast().last { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xDA })
        let scan = jpeg[last..<(jpeg.count - 2)]
        let some = jpeg[..<last] + Array(repeating: scan, count: 20).joined() + [0xFF, 0xD9]
        #expect(error(Array(some)) == nil)
        let many = jpeg[..<last] + Array(repeating: scan, count: 200).joined() + [0xFF, 0xD9]
        #expect(error(Array(many))?.code == .formatUnsupported)
        // A component that no scan has.
        #expect(error(Array(jpeg[..<last] + [0xFF, 0xD9]))?.code == .corruptData)
    }

    @Test func refusesOtherTargets() throws {
        let jpeg = try TemporaryFolder().makeJPEG(width: 33, height: 17)
        #expect(error(jpeg, JPEGDecoder(pixelFormat: .argb))?.code == .invalidConfiguration)
    }

    /// Bytes changed, cut and added, thousands of times from one seed: errors at most.
    @Test func damagedPicturesNeverCrash() throws {
        let tools = TemporaryFolder()
        let jpegs = try [[], ["-sample", "2x1"], ["-progressive"], ["-grayscale"], ["-restart", "1"]].map {
            try tools.makeJPEG(width: 24, height: 19, $0)
        }
        var state: UInt64 = 42
        func random(_ below: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % below
        }
        let decoder = JPEGDecoder(maximumPixelCount: 1 << 16)
        let expected = try decoder.samples(jpegs[0])
        for _ in 0..<3000 {
            var jpeg = jpegs[random(jpegs.count)]
            for _ in 0..<(1 + random(8)) { jpeg[random(jpeg.count)] = UInt8(random(256)) }
            if random(3) == 0 { jpeg.removeLast(random(jpeg.count)) }
            _ = error(jpeg, decoder)
            _ = try? header(jpeg)
        }
        #expect(try decoder.samples(jpegs[0]) == expected)
    }
}
