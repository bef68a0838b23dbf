#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Measures loudness as ITU-R BS.1770-4 defines it: momentary over 400 ms, and integrated over all with both gates.
///
/// Fixed memory: the loudness of blocks is kept in bins of 0.1 LU, from −70 to +10 LUFS. All channels count alike, as left,
/// right and centre do.
struct LoudnessMeter {
    /// Sums of a tenth of a second, of which four make a block.
    private static let stepsPerBlock = 4
    private static let binsPerUnit = 10.0
    private static let quietest = -70.0

    private let channels: Int
    private let framesPerStep: Int
    private var filters: [KWeighting]
    private var sum = 0.0
    private var frames = 0
    /// The mean squares of the last steps.
    private var steps = [Double](repeating: 0, count: stepsPerBlock)
    private var stepCount = 0
    /// How many blocks there were of each loudness, and the sum of their mean squares.
    private var counts = [UInt64](repeating: 0, count: 801)
    private var powers = [Double](repeating: 0, count: 801)

    init(_ format: AudioFormat) {
        channels = format.channels.count
        framesPerStep = max(1, format.sampleRate / 10)
        filters = Array(repeating: KWeighting(sampleRate: Double(format.sampleRate)), count: channels)
    }

    /// Takes a frame's sample of each channel, from channel 0 on.
    mutating func add(_ sample: Double, channel: Int) {
        let weighted = filters[channel].filter(sample)
        sum += weighted * weighted
    }

    /// The frame is complete.
    mutating func endFrame() {
        frames += 1
        guard frames == framesPerStep else { return }
        steps[stepCount % LoudnessMeter.stepsPerBlock] = sum / Double(frames)
        stepCount += 1
        sum = 0
        frames = 0
        guard stepCount >= LoudnessMeter.stepsPerBlock else { return }
        let power = blockPower
        let loudness = LoudnessMeter.loudness(power)
        guard loudness >= LoudnessMeter.quietest else { return }
        let bin = min(counts.count - 1, Int((loudness - LoudnessMeter.quietest) * LoudnessMeter.binsPerUnit))
        counts[bin] += 1
        powers[bin] += power
    }

    private var blockPower: Double { steps.reduce(0, +) / Double(LoudnessMeter.stepsPerBlock) }

    private static func loudness(_ power: Double) -> Double { -0.691 + 10 * log10(power) }

    /// The loudness of the last 400 ms in LUFS; nil before, and for silence.
    var momentary: Double? {
        guard stepCount >= LoudnessMeter.stepsPerBlock, blockPower > 0 else { return nil }
        return LoudnessMeter.loudness(blockPower)
    }

    /// The loudness of all so far in LUFS; nil while nothing was louder than −70 LUFS.
    var integrated: Double? {
        guard let gate = mean(from: 0).map({ LoudnessMeter.loudness($0) - 10 }) else { return nil }
        let first = (gate - LoudnessMeter.quietest) * LoudnessMeter.binsPerUnit
        return mean(from: max(0, Int(first.rounded(.up)))).map { LoudnessMeter.loudness($0) }
    }

    private func mean(from first: Int) -> Double? {
        guard first < counts.count else { return nil }
        let count = counts[first...].reduce(0, +)
        return count > 0 ? powers[first...].reduce(0, +) / Double(count) : nil
    }
}

/// The two filters of BS.1770 for one channel: a shelf for the head, and a high pass.
///
/// The standard states coefficients for 48 kHz only. These are of the analogue filters that they are of, for any rate:
/// B. De Man, "Evaluation of Implementations of the EBU R128 Loudness Measurement", 2018.
private struct KWeighting {
    private var shelf: Biquad
    private var highPass: Biquad

    init(sampleRate: Double) {
        let (gain, quality) = (3.999843853973347, 0.7071752369554196)
        // Beyond half the rate a filter cannot be; sound so slow has no head to be weighted for.
        let shelfTangent = tan(.pi * min(1681.974450955533 / sampleRate, 0.49))
        let (high, band) = (pow(10, gain / 20), pow(pow(10, gain / 20), 0.4996667741545416))
        let square = shelfTangent * shelfTangent
        let scale = 1 + shelfTangent / quality + square
        shelf = Biquad(
            b0: (high + band * shelfTangent / quality + square) / scale, b1: 2 * (square - high) / scale,
            b2: (high - band * shelfTangent / quality + square) / scale, a1: 2 * (square - 1) / scale,
            a2: (1 - shelfTangent / quality + square) / scale)
        let lowQuality = 0.5003270373238773
        let tangent = tan(.pi * min(38.13547087602444 / sampleRate, 0.49))
        let lowScale = 1 + tangent / lowQuality + tangent * tangent
        highPass = Biquad(
            b0: 1, b1: -2, b2: 1, a1: 2 * (tangent * tangent - 1) / lowScale,
            a2: (1 - tangent / lowQuality + tangent * tangent) / lowScale)
    }

    mutating func filter(_ sample: Double) -> Double { highPass.filter(shelf.filter(sample)) }
}

/// A filter of the second order, in the transposed direct form II.
private struct Biquad {
    let b0: Double, b1: Double, b2: Double, a1: Double, a2: Double
    private var first = 0.0
    private var second = 0.0

    init(b0: Double, b1: Double, b2: Double, a1: Double, a2: Double) {
        (self.b0, self.b1, self.b2, self.a1, self.a2) = (b0, b1, b2, a1, a2)
    }

    mutating func filter(_ sample: Double) -> Double {
        let result = b0 * sample + first
        first = b1 * sample - a1 * result + second
        second = b2 * sample - a2 * result
        return result
    }
}
