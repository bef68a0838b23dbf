import CNoiseKernel

/// White noise at the speed of memory: eight SFC64 generators, one in each lane of a vector.
///
/// SFC64 (Chris Doty-Humphrey, PractRand; also in NumPy) passes all known statistical tests in all of its bits and
/// takes few vector instructions. The lanes are seeded through SplitMix64, and twelve steps are thrown away, as
/// NumPy does it.
struct NoiseGenerator {
    private var state: noise_state

    /// - Parameters:
    ///   - seed: chooses the noise.
    ///   - stream: chooses an independent part of it: the number of the frame.
    init(seed: UInt64, stream: UInt64) {
        var mixer = SplitMix64(state: seed)
        // Mixed twice, so that neighbouring seeds and streams share nothing.
        mixer = SplitMix64(state: mixer.next() ^ (stream &* 0xD1B5_4A32_D192_ED03))
        self.init(stateOfLane: { _ in (mixer.next(), mixer.next(), mixer.next(), 1) })
        withUnsafeTemporaryAllocation(byteCount: 12 * 64, alignment: 16) { fill($0) }
    }

    /// A state of one's own in each lane, for comparison with other implementations.
    init(stateOfLane: (Int) -> (a: UInt64, b: UInt64, c: UInt64, counter: UInt64)) {
        state = noise_state()
        for lane in 0..<8 {
            let words = stateOfLane(lane)
            withUnsafeMutableBytes(of: &state.a) { $0.storeBytes(of: words.a, toByteOffset: lane * 8, as: UInt64.self) }
            withUnsafeMutableBytes(of: &state.b) { $0.storeBytes(of: words.b, toByteOffset: lane * 8, as: UInt64.self) }
            withUnsafeMutableBytes(of: &state.c) { $0.storeBytes(of: words.c, toByteOffset: lane * 8, as: UInt64.self) }
            withUnsafeMutableBytes(of: &state.counter) {
                $0.storeBytes(of: words.counter, toByteOffset: lane * 8, as: UInt64.self)
            }
        }
    }

    /// Overwrites all of `bytes`.
    mutating func fill(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        noise_fill(&state, start, bytes.count)
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
