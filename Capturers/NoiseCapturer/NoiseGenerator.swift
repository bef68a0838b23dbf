/// White noise at the speed of memory: four interleaved xoshiro256++ generators, one in each lane of a vector.
///
/// xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021) passes all known
/// statistical tests in all of its bits. The lanes are seeded through SplitMix64, as its authors advise.
struct NoiseGenerator {
    private typealias Lanes = SIMD4<UInt64>

    private var word0: Lanes
    private var word1: Lanes
    private var word2: Lanes
    private var word3: Lanes

    /// - Parameters:
    ///   - seed: chooses the noise.
    ///   - stream: chooses an independent part of it: the number of the frame.
    init(seed: UInt64, stream: UInt64) {
        var mixer = SplitMix64(state: seed)
        // Mixed twice, so that neighbouring seeds and streams share nothing.
        mixer = SplitMix64(state: mixer.next() ^ (stream &* 0xD1B5_4A32_D192_ED03))
        func lanes() -> Lanes { Lanes(mixer.next(), mixer.next(), mixer.next(), mixer.next()) }
        word0 = lanes()
        word1 = lanes()
        word2 = lanes()
        word3 = lanes()
    }

    /// The same state in every lane, for comparison with the authors' code.
    init(words: (UInt64, UInt64, UInt64, UInt64)) {
        word0 = Lanes(repeating: words.0)
        word1 = Lanes(repeating: words.1)
        word2 = Lanes(repeating: words.2)
        word3 = Lanes(repeating: words.3)
    }

    /// Overwrites all of `bytes`.
    mutating func fill(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        let step = MemoryLayout<Lanes>.size
        let whole = bytes.count / step * step
        // In registers for the length of the loop; as members they would be stored after each step.
        var generator = self
        var offset = 0
        while offset < whole {
            (start + offset).storeBytes(of: generator.next(), as: Lanes.self)
            offset += step
        }
        if whole < bytes.count {
            withUnsafeBytes(of: generator.next()) { last in
                UnsafeMutableRawBufferPointer(rebasing: bytes[whole...])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: last[..<(bytes.count - whole)]))
            }
        }
        self = generator
    }

    @inline(__always)
    private mutating func next() -> Lanes {
        let result = rotated(word0 &+ word3, by: 23) &+ word0
        let shifted = word1 &<< 17
        word2 ^= word0
        word3 ^= word1
        word1 ^= word2
        word0 ^= word3
        word2 ^= shifted
        word3 = rotated(word3, by: 45)
        return result
    }

    @inline(__always)
    private func rotated(_ lanes: Lanes, by bits: UInt64) -> Lanes {
        (lanes &<< Lanes(repeating: bits)) | (lanes &>> Lanes(repeating: 64 - bits))
    }
}

/// Turns any number into a sequence of well mixed ones (Steele, Lea, Flood, 2014).
private struct SplitMix64 {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
