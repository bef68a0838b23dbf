import CaptureCore
import H264Bitstream
import Testing

@Suite struct ConversionTests {
    @Test(arguments: StreamEncoding.allCases)
    func generatedStreamsKeepEveryUnit(_ encoding: StreamEncoding) throws {
        var falseStartCodes = 0
        for seed in 0..<2500 {
            let stream = GeneratedStream(seed: seed, encoding: encoding)
            falseStartCodes += stream.falseStartCodes
            var annexB: [UInt8] = []
            if let size = encoding.lengthSize {
                try stream.bytes.withUnsafeBytes {
                    try AnnexB.append(lengthPrefixed: $0, lengthSize: size, to: &annexB)
                }
            } else {
                annexB = stream.bytes
            }
            #expect(annexBUnits(annexB) == stream.units, "seed \(seed)")
            // And back; delimiters have no place there.
            var prefixed: [UInt8] = []
            annexB.withUnsafeBytes { LengthPrefixed.append(annexB: $0, to: &prefixed) }
            var units: [[UInt8]] = []
            try prefixed.withUnsafeBytes { bytes in
                try LengthPrefixed.forEachUnit(in: bytes) { units.append(Array($0.bytes)) }
            }
            #expect(units == stream.units.filter { $0[0] & 31 != 9 }, "seed \(seed)")
        }
        #expect(falseStartCodes > 200)
    }

    @Test func parameterSetsAreLeftOut() throws {
        let stream = GeneratedStream(seed: 7, encoding: .longStartCodes)
        var prefixed: [UInt8] = []
        stream.bytes.withUnsafeBytes {
            LengthPrefixed.append(annexB: $0, keepsParameterSets: false, to: &prefixed)
        }
        var types: [UInt8] = []
        try prefixed.withUnsafeBytes { bytes in
            try LengthPrefixed.forEachUnit(in: bytes) { types.append($0.type.rawValue) }
        }
        #expect(types == stream.units.map { $0[0] & 31 }.filter { ![7, 8, 9].contains($0) })
    }

    @Test(arguments: [[0, 0, 0], [0, 0, 0, 5, 1], [255, 255, 255, 255, 1], [0, 0, 0, 1, 0x65, 0]])
    func lengthsBeyondTheDataAreRefused(_ bytes: [UInt8]) {
        var stream: [UInt8] = [1, 2, 3]
        #expect {
            try bytes.withUnsafeBytes { try AnnexB.append(lengthPrefixed: $0, to: &stream) }
        } throws: {
            ($0 as? CodecError)?.code == .corruptData
        }
        #expect(stream == [1, 2, 3])
    }

    @Test func unitsWithStartCodesAreRefused() {
        var stream: [UInt8] = []
        let bytes: [UInt8] = [0, 0, 0, 2, 0x06, 0x80, 0, 0, 0, 6, 0x65, 0x88, 0, 0, 1, 0x41]
        #expect {
            try bytes.withUnsafeBytes { try AnnexB.append(lengthPrefixed: $0, to: &stream) }
        } throws: {
            "\($0)".contains("start code")
        }
        #expect(stream.isEmpty)
    }

    @Test func lengthsHaveOneTwoOrFourBytes() {
        #expect {
            try [UInt8]([1]).withUnsafeBytes { try LengthPrefixed.forEachUnit(in: $0, lengthSize: 3) { _ in } }
        } throws: {
            ($0 as? CodecError)?.code == .invalidConfiguration
        }
    }
}

@Suite struct AVCDecoderConfigurationTests {
    private let sps: [UInt8] = [0x67, 0x64, 0x00, 0x1E, 0xAC, 0xD9, 0x40, 0xB4, 0x24, 0xD8, 0x08, 0x80]
    private let pps: [UInt8] = [0x68, 0xEB, 0xE3, 0xCB]

    @Test func isParsedAsWritten() throws {
        let baseline: [UInt8] = [0x67, 66, 0xC0, 31, 0x8C, 0x8D]
        for (sequence, count) in [(baseline, 1), (sps, 3)] {
            let made = try AVCDecoderConfiguration(
                sequenceParameterSets: [[UInt8]](repeating: sequence, count: count), pictureParameterSets: [pps, pps],
                lengthSize: 4)
            let parsed = try made.bytes.withUnsafeBytes { try AVCDecoderConfiguration(parsing: $0) }
            #expect(parsed == made)
            #expect(annexBUnits(made.annexB) == [[UInt8]](repeating: sequence, count: count) + [pps, pps])
        }
    }

    /// As ffmpeg 5.1 writes it of `testsrc2` by libx264, profile High.
    @Test func highProfileStatesTheFormatOfSamples() throws {
        let sequence: [UInt8] = [
            0x67, 0x64, 0x00, 0x1E, 0xAC, 0xD9, 0x40, 0xB4, 0x24, 0xD8, 0x08, 0x80, 0x00, 0x00, 0x03, 0x00, 0x80, 0x00,
            0x00, 0x19, 0x0F, 0x8A, 0x14, 0xCB,
        ]
        let made = try AVCDecoderConfiguration(sequenceParameterSets: [sequence], pictureParameterSets: [pps])
        #expect(
            made.bytes == [1, 0x64, 0, 0x1E, 0xFF, 0xE1, 0, 24] + sequence + [1, 0, 4] + pps + [0xFD, 0xF8, 0xF8, 0])
        #expect(made.parameters?.width == 720)
    }

    @Test func isCollectedFromAKeyFrame() throws {
        let stream: [UInt8] = [0, 0, 0, 1] + sps + [0, 0, 1] + pps + [0, 0, 0, 1] + sps + [0, 0, 1, 0x65, 0x88]
        let made = try stream.withUnsafeBytes { try AVCDecoderConfiguration(annexB: $0) }
        #expect(made.sequenceParameterSets == [sps])
        #expect(made.pictureParameterSets == [pps])
        #expect {
            try [UInt8]([0, 0, 1, 0x65, 0x88]).withUnsafeBytes { try AVCDecoderConfiguration(annexB: $0) }
        } throws: {
            ($0 as? CodecError)?.code == .invalidConfiguration
        }
    }

    @Test func everyTruncationIsRefusedOrWhole() throws {
        let made = try AVCDecoderConfiguration(sequenceParameterSets: [sps], pictureParameterSets: [pps])
        let bytes = made.bytes
        for count in 0..<(bytes.count - 4) {
            #expect(throws: CodecError.self) {
                try Array(bytes.prefix(count)).withUnsafeBytes { try AVCDecoderConfiguration(parsing: $0) }
            }
        }
        var numbers = TestNumbers(seed: 1)
        for _ in 0..<5000 {
            var mutated = bytes
            mutated[Int.random(in: 0..<bytes.count, using: &numbers)] = UInt8.random(in: 0...255, using: &numbers)
            guard let parsed = try? mutated.withUnsafeBytes({ try AVCDecoderConfiguration(parsing: $0) }) else {
                continue
            }
            // What was parsed can be written, and is the same then.
            let again = try parsed.bytes.withUnsafeBytes { try AVCDecoderConfiguration(parsing: $0) }
            #expect(again.sequenceParameterSets == parsed.sequenceParameterSets)
            #expect(again.pictureParameterSets == parsed.pictureParameterSets)
        }
    }
}
