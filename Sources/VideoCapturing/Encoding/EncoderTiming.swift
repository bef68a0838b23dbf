/// An encoder's own time, in 100 ns: an even line at the nominal rate.
///
/// Rate control budgets each frame by its duration; the true intervals of a live capture would make the budget
/// jump, so the encoder is given even ones (1 to 125 ms). The true timestamps travel with the packets.
///
/// Of a screen, though, frames come when something changes. The bits saved meanwhile may be spent: there a
/// pause is reported, up to 125 ms.
package struct EncoderTiming {
    package struct Slot {
        package var start: Int64
        package var duration: UInt
        /// The frame's interval as far as it is known.
        package var nominalDuration: Duration
    }

    /// libvpx counts in these inside, so nothing is rounded twice.
    package static let unitsPerSecond: Int64 = 10_000_000

    private let nominal: FrameRate
    /// The rate of the line: the nominal one until frames state another.
    package private(set) var rate: FrameRate
    private var epoch: Int64 = 0
    private var index: Int64 = 0
    private var lastTimestamp: MediaTime?

    private static let longestInterval = Duration.milliseconds(125)

    package init(nominal: FrameRate) {
        self.nominal = nominal
        rate = nominal
    }

    /// The frame's interval as far as it is known.
    package func nominalDuration(of frame: VideoFrame) -> Duration {
        EncoderTiming.clamped(frame.estimatedFrameRate ?? nominal).frameInterval
    }

    package mutating func place(_ frame: VideoFrame, reportsPauses: Bool = false) -> Slot {
        let wanted = EncoderTiming.clamped(frame.estimatedFrameRate ?? nominal)
        // Measured rates tremble; a new line is begun only for a change that matters.
        if abs(wanted.framesPerSecond - rate.framesPerSecond) > rate.framesPerSecond * 0.02 {
            epoch += units(index)
            index = 0
            rate = wanted
        }
        if reportsPauses, let lastTimestamp {
            let elapsed = min(frame.timestamp - lastTimestamp, EncoderTiming.longestInterval)
            if elapsed > rate.frameInterval * 3 / 2 { epoch += (elapsed - rate.frameInterval).nanoseconds / 100 }
        }
        lastTimestamp = frame.timestamp
        let start = epoch + units(index)
        index += 1
        return Slot(start: start, duration: UInt(epoch + units(index) - start), nominalDuration: rate.frameInterval)
    }

    private func units(_ index: Int64) -> Int64 {
        let step = Int64(rate.seconds) * EncoderTiming.unitsPerSecond
        let (product, isTooLarge) = index.multipliedReportingOverflow(by: step)
        guard isTooLarge else { return product / Int64(rate.frames) }
        return Int64(clamping: Int128(index) * Int128(step) / Int128(rate.frames))
    }

    private static func clamped(_ rate: FrameRate) -> FrameRate {
        min(max(rate, 8), 1000)
    }
}
