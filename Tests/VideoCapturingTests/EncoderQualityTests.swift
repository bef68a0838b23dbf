import Testing

@testable import VideoCapturing

@Suite struct EncoderQualityTests {
    private func quality(_ options: [String: String], bitrate: Int? = nil) throws -> EncoderQuality {
        let settings = EncodingSettings(bitrate: bitrate, options: OptionValues(options.mapValues { [$0] }))
        let request = EncoderEntry.Request(format: .i420(width: 64, height: 48), frameRate: 30, settings: settings)
        return try request.quality(quantizers: 0...63)
    }

    @Test func whatIsAskedFor() throws {
        #expect(try quality([:]) == EncoderQuality())
        #expect(try quality(["quality": "30", "speed": "4"]) == EncoderQuality(constantQuantizer: 30, speed: 4))
        #expect(
            try quality(["min-quantizer": "4", "max-quantizer": "40", "rate-control": "VBR"], bitrate: 1000)
                == EncoderQuality(minimumQuantizer: 4, maximumQuantizer: 40, isVariableBitrate: true))
    }

    @Test(arguments: [
        ["quality": "64"], ["quality": "-1"], ["speed": "0"], ["speed": "17"], ["rate-control": "abr"],
        ["min-quantizer": "40", "max-quantizer": "30"], ["quality": "3", "max-quantizer": "30"],
        ["quality": "3", "rate-control": "cbr"],
    ])
    func whatCannotBe(options: [String: String]) {
        let error = #expect(throws: OptionError.self) { try quality(options) }
        #expect(error.map { options.keys.contains($0.option) } == true)
    }

    @Test func aQualityHasNoBitrate() {
        #expect(throws: OptionError.self) { try quality(["quality": "30"], bitrate: 1_000_000) }
    }
}
