#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Samples between samples: the value of a band-limited signal at any position, by a windowed sinc.
///
/// Positions are handed in one by one, so that the caller decides where each output sample lies in time: a clock that is
/// off by any number of ppm, or that changes its rate, leaves no error behind that would have to be controlled away. A
/// position on a sample gives that sample.
///
/// 48 coefficients (more where the rate is lowered), a Kaiser window, linear interpolation between 512 phases: images and
/// interpolation are more than 90 dB down, the band is flat to 0.88 of its width.
struct FractionalResampler {
    /// How many frames on each side of a position are used.
    let reach: Int
    private let taps: Int
    /// `phases + 1` rows of ``taps``.
    private let table: [Float]
    private static let phases = 512

    /// - Parameter ratio: output rate by input rate, nominally; below 1 the band is limited to that of the output.
    init(ratio: Double) {
        let cutoff = min(1, max(ratio, 1.0 / 16))
        // A multiple of the width of a vector.
        let reach = (Int((24 / cutoff).rounded(.up)) + 3) / 4 * 4
        let taps = 2 * reach
        var table = [Float](repeating: 0, count: (FractionalResampler.phases + 1) * taps)
        for phase in 0...FractionalResampler.phases {
            let offset = Double(phase) / Double(FractionalResampler.phases)
            var row = (0..<taps).map { tap in
                let distance = Double(tap - reach + 1) - offset
                return FractionalResampler.sinc(distance * cutoff) * cutoff
                    * FractionalResampler.window(distance / Double(reach))
            }
            // A constant stays what it is, whatever the phase.
            let sum = row.reduce(0, +)
            for tap in row.indices { row[tap] /= sum }
            for tap in row.indices { table[phase * taps + tap] = Float(row[tap]) }
        }
        self.reach = reach
        self.taps = taps
        self.table = table
    }

    /// The frames at a position, one value for each channel.
    ///
    /// - Parameters:
    ///   - frame: the whole part of the position: an index into each channel, with ``reach`` frames on either side.
    ///   - fraction: 0 ..< 1.
    ///   - channels: the samples of each channel, one after the other, `stride` apart.
    ///   - output: takes one value for each channel.
    func interpolate(
        at frame: Int, _ fraction: Double, channels: UnsafePointer<Float>, stride: Int, count: Int,
        into output: UnsafeMutablePointer<Float>
    ) {
        let place = fraction * Double(FractionalResampler.phases)
        let phase = Int(place)
        let weight = SIMD8<Float>(repeating: Float(place - Double(phase)))
        let first = frame - reach + 1
        table.withUnsafeBufferPointer { table in
            let row = UnsafeRawPointer(table.baseAddress! + phase * taps)
            let nextRow = row + taps * 4
            // Two channels at a time, since to weigh two rows costs as much as to apply them.
            for channel in Swift.stride(from: 0, to: count, by: 2) {
                let other = min(channel + 1, count - 1)
                let samples = UnsafeRawPointer(channels + channel * stride + first)
                let otherSamples = UnsafeRawPointer(channels + other * stride + first)
                var sum = SIMD8<Float>.zero
                var otherSum = SIMD8<Float>.zero
                var offset = 0
                while offset < taps * 4 {
                    let low = row.loadUnaligned(fromByteOffset: offset, as: SIMD8<Float>.self)
                    let high = nextRow.loadUnaligned(fromByteOffset: offset, as: SIMD8<Float>.self)
                    let weights = low + (high - low) * weight
                    sum += weights * samples.loadUnaligned(fromByteOffset: offset, as: SIMD8<Float>.self)
                    if other > channel {
                        otherSum += weights * otherSamples.loadUnaligned(fromByteOffset: offset, as: SIMD8<Float>.self)
                    }
                    offset += 32
                }
                output[channel] = sum.sum()
                if other > channel { output[other] = otherSum.sum() }
            }
        }
    }

    /// Whether all of it is zero: between such samples there is nothing to compute.
    static func isSilence(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let first = bytes.first, let base = bytes.baseAddress else { return true }
        return first == 0 && memcmp(base, base + 1, bytes.count - 1) == 0
    }

    /// Makes samples zero.
    static func silence(_ samples: UnsafeMutablePointer<Float>, _ count: Int) {
        memset(samples, 0, count * MemoryLayout<Float>.stride)
    }

    private static func sinc(_ x: Double) -> Double { abs(x) < 1e-9 ? 1 : sin(.pi * x) / (.pi * x) }

    /// Kaiser's window with β = 9: side lobes are 90 dB down.
    private static func window(_ x: Double) -> Double {
        abs(x) >= 1 ? 0 : bessel(9 * (1 - x * x).squareRoot()) / bessel(9)
    }

    /// The modified Bessel function of order zero.
    private static func bessel(_ x: Double) -> Double {
        var sum = 1.0
        var term = 1.0
        var index = 1.0
        while term > sum * 1e-12 {
            term *= (x / (2 * index)) * (x / (2 * index))
            sum += term
            index += 1
        }
        return sum
    }
}
