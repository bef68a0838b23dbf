import H264Bitstream
import Testing

@Suite struct AccessUnitParserTests {
    /// The units that a parser hands out, each as its NAL units, when it is given `bytes` in chunks of these sizes.
    private func parse(
        _ bytes: [UInt8], _ parser: inout AccessUnitParser, chunks: (inout TestNumbers) -> Int = { _ in .max }
    ) -> [[[UInt8]]] {
        var numbers = TestNumbers(seed: 99)
        var units: [[[UInt8]]] = []
        let take = { (unit: AccessUnitParser.Unit) in
            let parts = AnnexB.units(in: unit.bytes).map { Array($0.bytes) }
            #expect(unit.hasSlices == parts.contains { [1, 2, 5].contains($0[0] & 31) })
            #expect(unit.isKeyFrame == parts.contains { $0[0] & 31 == 5 })
            units.append(parts)
        }
        bytes.withUnsafeBytes { bytes in
            var index = 0
            while index < bytes.count {
                let count = min(chunks(&numbers), bytes.count - index)
                parser.append(UnsafeRawBufferPointer(rebasing: bytes[index..<index + count]), output: take)
                index += count
            }
        }
        parser.flush(output: take)
        return units
    }

    @Test(arguments: [StreamEncoding.longStartCodes, .mixedStartCodes])
    func anyChunksGiveTheSameUnits(_ encoding: StreamEncoding) {
        for seed in 0..<400 {
            let stream = GeneratedStream(seed: seed, encoding: encoding)
            // Filler after the last slice of a unit is a part of it.
            for chunks: (inout TestNumbers) -> Int in [
                { _ in .max }, { _ in 1 }, { Int.random(in: 1...9, using: &$0) },
                { Int.random(in: 1...300, using: &$0) },
            ] {
                var parser = AccessUnitParser()
                #expect(parse(stream.bytes, &parser, chunks: chunks) == stream.accessUnits, "seed \(seed)")
                #expect(parser.discardedByteCount == 0)
            }
        }
    }

    @Test func everySplitInTwoGivesTheSameUnits() {
        let stream = GeneratedStream(seed: 12, encoding: .mixedStartCodes)
        for split in 1..<stream.bytes.count {
            var parser = AccessUnitParser()
            var isFirst = true
            let units = parse(stream.bytes, &parser) { _ in
                defer { isFirst = false }
                return isFirst ? split : .max
            }
            #expect(units == stream.accessUnits, "split at \(split)")
        }
    }

    /// A unit is there as soon as the next one's first bytes are.
    @Test(arguments: [
        ([0, 0, 0, 1, 0x09] as [UInt8], true), ([0, 0, 1, 0x67], true), ([0, 0, 0, 1, 0x41], false),
        ([0, 0, 0, 1, 0x41, 0x9A], true), ([0, 0, 1, 0x41, 0x5A], false), ([0, 0, 1, 0x0C], false),
        ([0, 0, 0, 1, 0x01, 0x5A], true), ([0, 0, 1, 0x65, 0x5A], true), ([0, 0, 0, 1], false),
    ])
    func unitsAreHandedOutEarly(_ next: [UInt8], _ isComplete: Bool) {
        var parser = AccessUnitParser()
        var count = 0
        let unit: [UInt8] = [0, 0, 0, 1, 0x41, 0x9A, 1, 2, 3]
        unit.withUnsafeBytes { parser.append($0) { _ in count += 1 } }
        #expect(count == 0)
        next.withUnsafeBytes {
            parser.append($0) {
                #expect(Array($0.bytes) == unit)
                count += 1
            }
        }
        #expect(count == (isComplete ? 1 : 0))
    }

    @Test func garbageBeforeTheFirstStartCodeIsCounted() {
        for chunk in [1, 2, 5, 100] {
            var parser = AccessUnitParser()
            let units = parse([7, 0, 0, 9, 0, 0, 0, 0, 1, 0x65, 0x88, 1], &parser) { _ in chunk }
            #expect(units == [[[0x65, 0x88, 1]]])
            #expect(parser.discardedByteCount == 5)
        }
    }

    @Test func slicesWithoutTheirPicturesFirstAreDiscardedAtTheBeginning() {
        var parser = AccessUnitParser()
        #expect(parse([0, 0, 1, 0x41, 0x5A, 0, 0, 1, 0x41, 0x9A], &parser) == [[[0x41, 0x9A]]])
    }

    @Test func aUnitThatWasTakenForCompleteMayContinue() {
        var parser = AccessUnitParser()
        #expect(parse([0, 0, 1, 0x41, 0x9A, 2], &parser) == [[[0x41, 0x9A, 2]]])
        #expect(parse([5, 0, 0, 1, 0x41, 0x5A, 0, 0, 1, 0x41, 0x9A], &parser) == [[[0x41, 0x5A]], [[0x41, 0x9A]]])
        #expect(parser.discardedByteCount == 1)
    }

    @Test func unitsThatAreTooLongAreDiscarded() {
        let long: [UInt8] = [0, 0, 0, 1, 0x65, 0x88] + [UInt8](repeating: 7, count: 5000)
        let short: [UInt8] = [0, 0, 0, 1, 0x41, 0x9A, 1]
        for chunk in [1, 100, 7000, .max] {
            var parser = AccessUnitParser(maximumByteCount: 2000)
            let units = parse(short + long + short + long + short, &parser) { _ in chunk }
            #expect(units == [[UInt8]](repeating: [0x41, 0x9A, 1], count: 3).map { [$0] }, "chunks of \(chunk)")
            #expect(parser.discardedUnitCount == 2)
            #expect(parser.discardedByteCount == UInt64(2 * long.count))
        }
    }

    @Test func anyBytesAreTaken() {
        var numbers = TestNumbers(seed: 5)
        for _ in 0..<3000 {
            let bytes = (0..<Int.random(in: 0...200, using: &numbers)).map { _ in
                [0, 0, 0, 1, 0x65, 0x41, 0x6E, 0x67, 0x80, 3].randomElement(using: &numbers)! as UInt8
            }
            var whole = AccessUnitParser()
            let expected = parse(bytes, &whole)
            var parser = AccessUnitParser()
            #expect(parse(bytes, &parser) { Int.random(in: 1...7, using: &$0) } == expected)
            #expect(parser.discardedByteCount == whole.discardedByteCount)
        }
    }
}
