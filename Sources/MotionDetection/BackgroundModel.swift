import VideoCapturing

/// What each cell of a picture looks like while nothing moves, and how much it varies.
///
/// ```
///  cell    mean ± (base + 4 × noise)      inside: background, which is learned within seconds
///                                         outside: foreground, which is learned once it has stopped
/// ```
/// The light of the whole picture is fitted first, as a gain and an offset, so that dawn and clouds move all means at once.
struct BackgroundModel: Sendable {
    let size: PixelSize
    /// The difference that counts where nothing varies, in levels of luma.
    let baseDifference: Float
    let stationaryTime: Float

    /// The expected luma of each cell.
    private(set) var mean: [Float]
    /// The mean deviation from it.
    private var noise: [Float]
    /// The last value of a cell in the foreground, and for how many seconds it has not changed.
    private var candidate: [Float]
    private var age: [Float]
    /// Where the picture differs from the expected luma.
    private(set) var foreground: [Bool]
    /// The size of the difference in each cell, as scratch.
    private var deviation: [Float]
    /// The number of cells in the foreground.
    private(set) var foregroundCount = 0
    /// The number of cells that differed before the light was fitted.
    private(set) var changedCount = 0

    private var learnedPictures = 0
    private var learnedTime: Float = 0
    /// How long the picture has kept changing while it was learned.
    private var unsettledTime: Float = 0

    /// How fast the background follows, in seconds.
    private static let meanTime: Float = 8
    private static let noiseTime: Float = 10
    /// How fast a cell that keeps changing becomes background.
    private static let flickerTime: Float = 30
    private static let noiseRange: ClosedRange<Float> = 0.4...30
    /// A cell in the foreground counts as moving for so long after a change.
    static let freshTime: Float = 1.5

    /// A model that has seen this picture only.
    init(_ plane: LumaPlane, baseDifference: Float, stationaryTime: Float) {
        size = plane.size
        self.baseDifference = baseDifference
        self.stationaryTime = stationaryTime
        let count = size.pixelCount
        mean = plane.samples.map { Float($0) }
        noise = [Float](repeating: 1, count: count)
        candidate = mean
        age = [Float](repeating: 0, count: count)
        foreground = [Bool](repeating: false, count: count)
        deviation = [Float](repeating: 0, count: count)
    }

    /// Whether the pictures up to now are too few to decide by.
    var isLearning: Bool { learnedPictures < 4 || learnedTime < 1 }

    /// Takes the picture for the background, whatever it shows, and learns from here on.
    mutating func restart(_ plane: LumaPlane) {
        for index in mean.indices {
            mean[index] = Float(plane.samples[index])
            candidate[index] = mean[index]
            age[index] = 0
            foreground[index] = false
        }
        foregroundCount = 0
        learnedPictures = 0
        learnedTime = 0
        unsettledTime = 0
    }

    /// Learns from a picture in which anything may move. While much of it changes, as before a camera that still turns, learning
    /// begins again, for five seconds at most.
    mutating func learn(_ plane: LumaPlane, _ seconds: Float) {
        let limit = 2 * baseDifference
        let changed = candidate.indices.count { abs(Float(plane.samples[$0]) - candidate[$0]) > limit }
        if changed * 10 > candidate.count, unsettledTime < 5 {
            let time = unsettledTime + seconds
            restart(plane)
            unsettledTime = time
            return
        }
        for index in candidate.indices { candidate[index] = Float(plane.samples[index]) }
        learnedPictures += 1
        learnedTime += seconds
        let share = 1 / Float(learnedPictures + 1)
        for index in mean.indices {
            let difference = Float(plane.samples[index]) - mean[index]
            mean[index] += difference * share
            // Of the first pictures the deviations are small, since the mean follows them.
            let deviation = min(abs(difference), 8)
            noise[index] = max(noise[index] + (deviation - noise[index]) * share, Self.noiseRange.lowerBound)
        }
    }

    /// Finds where the picture differs; the light of the whole picture is fitted first.
    mutating func compare(_ plane: LumaPlane) {
        mark(plane, .unchanged)
        changedCount = foregroundCount
        var fit = LightFit(plane, mean, except: foreground) ?? .unchanged
        if foregroundCount > foreground.count / 8, let whole = wholeLight(plane) { fit = whole }
        for index in mean.indices { mean[index] = fit.apply(mean[index]) }
        mark(plane, .unchanged)
    }

    /// A change of light that explains most of a large foreground: fitted to all cells, and then to those that agree.
    private mutating func wholeLight(_ plane: LumaPlane) -> LightFit? {
        let before = foregroundCount
        let none = [Bool](repeating: false, count: foreground.count)
        guard var fit = LightFit(plane, mean, except: none) else { return nil }
        for _ in 0..<3 {
            mark(plane, fit)
            guard let better = LightFit(plane, mean, except: foreground) else { return nil }
            fit = better
        }
        mark(plane, fit)
        return foregroundCount * 2 < before ? fit : nil
    }

    private mutating func mark(_ plane: LumaPlane, _ fit: LightFit) {
        var count = 0
        let base = baseDifference
        plane.samples.withUnsafeBufferPointer { samples in
            mean.withUnsafeBufferPointer { mean in
                noise.withUnsafeBufferPointer { noise in
                    deviation.withUnsafeMutableBufferPointer { deviation in
                        foreground.withUnsafeMutableBufferPointer { foreground in
                            for index in 0..<samples.count {
                                let difference = abs(Float(samples[index]) - fit.apply(mean[index]))
                                deviation[index] = difference
                                let differs = difference > base + 4 * noise[index]
                                foreground[index] = differs
                                count += differs ? 1 : 0
                            }
                        }
                    }
                }
            }
        }
        foregroundCount = count
    }

    /// Takes the picture of a camera that has moved for background, but for the foreground elsewhere than in `matches`.
    mutating func adopt(_ plane: LumaPlane, where matches: [Bool]) {
        for index in mean.indices where matches[index] || !foreground[index] {
            mean[index] = Float(plane.samples[index])
            guard foreground[index] else { continue }
            // The edges of a scene before which the camera shakes vary from now on.
            noise[index] = min(noise[index] + deviation[index] / 4, Self.noiseRange.upperBound)
            foreground[index] = false
            foregroundCount -= 1
        }
    }

    /// Learns from the picture that was compared.
    mutating func update(_ plane: LumaPlane, _ seconds: Float) {
        let meanShare = seconds / (Self.meanTime + seconds)
        let noiseShare = seconds / (Self.noiseTime + seconds)
        let flickerShare = seconds / (Self.flickerTime + seconds)
        let (base, range, stationary) = (baseDifference, Self.noiseRange, stationaryTime)
        plane.samples.withUnsafeBufferPointer { samples in
            mean.withUnsafeMutableBufferPointer { mean in
                noise.withUnsafeMutableBufferPointer { noise in
                    candidate.withUnsafeMutableBufferPointer { candidate in
                        age.withUnsafeMutableBufferPointer { age in
                            for index in 0..<samples.count {
                                let sample = Float(samples[index])
                                let level = noise[index]
                                if foreground[index] {
                                    // Limited, so that something that passes by blinds the cell hardly.
                                    let limited = min(deviation[index], 4 * (level + 1))
                                    noise[index] = min(level + (limited - level) * flickerShare, range.upperBound)
                                    if abs(sample - candidate[index]) <= base + 4 * level {
                                        age[index] += seconds
                                        if age[index] >= stationary {
                                            mean[index] = sample
                                            age[index] = 0
                                        }
                                    } else {
                                        candidate[index] = sample
                                        age[index] = 0
                                    }
                                } else {
                                    mean[index] += (sample - mean[index]) * meanShare
                                    noise[index] = max(
                                        level + (deviation[index] - level) * noiseShare, range.lowerBound)
                                    candidate[index] = sample
                                    age[index] = 0
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Whether a cell in the foreground has changed lately.
    func isFresh(_ index: Int, _ seconds: Float) -> Bool { age[index] < max(Self.freshTime, 1.5 * seconds) }
}

/// How the light of a whole picture has changed: luma is `gain × luma + offset` of before.
struct LightFit: Sendable {
    var gain: Float = 1
    var offset: Float = 0

    static let unchanged = LightFit()

    private init() {}

    /// Least squares over the cells that are not excepted; nil where these are too few. With little contrast the gain stays
    /// near one.
    init?(_ plane: LumaPlane, _ mean: [Float], except foreground: [Bool]) {
        var (count, x, y, xx, xy) = (0 as Double, 0 as Double, 0 as Double, 0 as Double, 0 as Double)
        plane.samples.withUnsafeBufferPointer { samples in
            mean.withUnsafeBufferPointer { mean in
                foreground.withUnsafeBufferPointer { foreground in
                    // Every other one is enough; an odd step visits all columns.
                    for index in stride(from: 0, to: samples.count, by: 3) where !foreground[index] {
                        let (before, now) = (Double(mean[index]), Double(samples[index]))
                        // White that is clipped follows no light.
                        guard now < 250, before < 250 else { continue }
                        count += 1
                        x += before
                        y += now
                        xx += before * before
                        xy += before * now
                    }
                }
            }
        }
        guard count * 3 * 8 >= Double(foreground.count), count > 0 else { return nil }
        let (meanX, meanY) = (x / count, y / count)
        let variance = max(0, xx / count - meanX * meanX)
        let covariance = xy / count - meanX * meanY
        let damping = 25.0
        gain = Float((covariance + damping) / (variance + damping))
        offset = Float(meanY) - gain * Float(meanX)
    }

    func apply(_ luma: Float) -> Float { gain * luma + offset }
}
