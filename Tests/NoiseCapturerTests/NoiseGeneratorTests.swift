import Testing

@testable import NoiseCapturer

@Suite struct NoiseGeneratorTests {
    private func noise(_ count: Int, seed: UInt64 = 1, stream: UInt64 = 0) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var generator = NoiseGenerator(seed: seed, stream: stream)
        bytes.withUnsafeMutableBytes { generator.fill($0) }
        return bytes
    }

    /// Pearson's chi-square over the 256 values. With 255 degrees of freedom the statistic lies between 160 and
    /// 380 but for one time in a million; the seeds are fixed, so the test always says the same.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func everyValueIsEquallyLikely(seed: UInt64) {
        let bytes = noise(1 << 18, seed: seed)
        var counts = [Int](repeating: 0, count: 256)
        for byte in bytes { counts[Int(byte)] += 1 }
        let expected = Double(bytes.count) / 256
        let statistic = counts.reduce(0) { $0 + (Double($1) - expected) * (Double($1) - expected) / expected }
        #expect((160...380).contains(statistic))
        #expect(counts.allSatisfy { $0 > 0 })
    }

    /// The correlation of bytes `distance` apart is that of independent ones: within five standard deviations of
    /// zero. The distances are those of neighbours, vectors and rows.
    @Test(arguments: [1, 2, 4, 8, 16, 31, 32, 33, 64, 352, 640])
    func bytesAreIndependent(distance: Int) {
        let bytes = noise(1 << 17, seed: 3)
        var sum = 0.0
        for index in 0..<(bytes.count - distance) {
            sum += (Double(bytes[index]) - 127.5) * (Double(bytes[index + distance]) - 127.5)
        }
        let variance = (256.0 * 256 - 1) / 12
        let correlation = sum / Double(bytes.count - distance) / variance
        #expect(abs(correlation) < 5 / Double(bytes.count - distance).squareRoot())
    }

    @Test func framesAndSeedsDiffer() {
        let first = noise(4096, seed: 1, stream: 0)
        for other in [
            noise(4096, seed: 1, stream: 1), noise(4096, seed: 2, stream: 0), noise(4096, seed: 0, stream: 1),
        ] {
            let equal = zip(first, other).count { $0 == $1 }
            // One byte in 256 is equal by chance: 16 of 4096.
            #expect(equal < 48)
        }
    }

    @Test func sameSeedGivesTheSameNoise() {
        #expect(noise(1000, seed: 7, stream: 5) == noise(1000, seed: 7, stream: 5))
        // Whatever the length, the noise begins alike.
        #expect(noise(1000, seed: 7).prefix(33) == noise(33, seed: 7)[...])
    }

    /// What NumPy's SFC64 gives from the state 1, 2, 3 and the counter 1.
    @Test func isSFC64() {
        var generator = NoiseGenerator(stateOfLane: { _ in (a: 1, b: 2, c: 3, counter: 1) })
        var lanes = [UInt64](repeating: 0, count: 32)
        lanes.withUnsafeMutableBytes { generator.fill($0) }
        let expected: [UInt64] = [0x4, 0x1f, 0x1b00_0042, 0x1b_0000_3f03_613f]
        for index in lanes.indices { #expect(lanes[index] == expected[index / 8]) }
    }
}
