import VideoCapturing

/// Computes how often to write each frame of a capture, so that a format with one frame rate and no timestamps
/// plays as long as the capture lasted: arithmetic only, exact at any rate and over any time.
///
/// The output has slots, one for each interval of the rate. A frame is shown from its own slot to that of the next
/// frame: it is dropped when the two are the same, and repeated when others lie between. So each result is about the
/// previous frame:
///
/// ```swift
/// var schedule = ConstantRateSchedule(rate: 30)
/// for frame in frames {
///     let count = schedule.add(frame.timestamp)  // of `previous`; 0 for the first frame
///     for _ in 0..<count { write(previous) }
///     previous = frame
/// }
/// for _ in 0..<schedule.finish(at: end) { write(previous) }
/// ```
///
/// A frame takes the slot after the previous one as long as its timestamp is less than three quarters of an interval from
/// there, and the nearest one otherwise. So rounded or jittering timestamps of a constant rate neither repeat nor drop a
/// frame, and a drifting clock costs one correction per interval of drift.
package struct ConstantRateSchedule: Sendable {
    /// The rate of the slots.
    package let rate: FrameRate
    /// The time that was omitted: gaps in the timestamps that were longer than the maximum, less an interval each.
    package private(set) var timeLeftOut: Duration = .zero

    private let maximumGap: Duration
    private let maximumDuration: Duration?
    /// A slot and its time, to which all other times are relative.
    private var anchor: (time: MediaTime, slot: Int64)?
    /// The newest frame.
    private var last: (time: MediaTime, slot: Int64) = (.zero, 0)
    /// Slots up to here have been given to frames.
    private var filled: Int64 = 0

    /// Creates a schedule.
    ///
    /// - Parameters:
    ///   - rate: the rate of the output.
    ///   - maximumGap: the longest time between two frames that is filled by repeats. After a longer one, as caused by a
    ///     damaged timestamp, the next frame follows at once.
    ///   - maximumDuration: the time after the first frame from which nothing is written; nil for no limit.
    package init(rate: FrameRate, maximumGap: Duration = .seconds(3600), maximumDuration: Duration? = nil) {
        self.rate = rate
        self.maximumGap = maximumGap
        self.maximumDuration = maximumDuration
    }

    /// Adds the next frame.
    ///
    /// - Parameter timestamp: not earlier than that of the previous frame.
    /// - Returns: how often to write the previous frame: 0 drops it. Always 0 for the first.
    package mutating func add(_ timestamp: MediaTime) -> Int64 {
        guard let anchor else {
            anchor = (timestamp, 0)
            last = (timestamp, 0)
            return 0
        }
        let timestamp = max(timestamp, last.time)
        let next = last.slot + 1
        let gap = timestamp - last.time
        if gap > maximumGap {
            leaveOut(gap)
            self.anchor = (timestamp, next)
            last = (timestamp, next)
        } else {
            let position = ScaledPosition(timestamp, anchor: anchor, rate: rate)
            let slot = position.isNear(next) ? next : position.nearestSlot
            last = (timestamp, max(last.slot, slot))
        }
        return fill(to: last.slot)
    }

    /// Ends the schedule.
    ///
    /// - Parameter end: the time up to which the last frame is shown; nil for one interval.
    /// - Returns: how often to write the last frame: at least once, unless it is after the maximum duration; 0
    ///   without a frame.
    package mutating func finish(at end: MediaTime? = nil) -> Int64 {
        guard let anchor else { return 0 }
        var slot = last.slot + 1
        if let end, end > last.time {
            let gap = end - last.time
            if gap > maximumGap {
                leaveOut(gap)
            } else {
                slot = max(slot, ScaledPosition(end, anchor: anchor, rate: rate).nearestSlot)
            }
        }
        return fill(to: slot)
    }

    private mutating func leaveOut(_ gap: Duration) {
        timeLeftOut += gap - rate.frameInterval
    }

    private mutating func fill(to slot: Int64) -> Int64 {
        // The first slot that begins at the limit or after it.
        let limit = maximumDuration.map { max(1, rate.frameIndex(at: $0 - .nanoseconds(1)) + 1) }
        let end = min(slot, limit ?? slot)
        defer { filled = max(filled, end) }
        return max(0, end - filled)
    }
}

/// A time in slots, as an exact fraction.
private struct ScaledPosition {
    private let numerator: Int128
    private let denominator: Int128

    init(_ time: MediaTime, anchor: (time: MediaTime, slot: Int64), rate: FrameRate) {
        denominator = Int128(rate.seconds) * 1_000_000_000
        numerator =
            Int128((time - anchor.time).nanoseconds) * Int128(rate.frames) + Int128(anchor.slot) * denominator
    }

    /// Whether it is less than three quarters of a slot away.
    func isNear(_ slot: Int64) -> Bool {
        abs(numerator - Int128(slot) * denominator) * 4 < denominator * 3
    }

    var nearestSlot: Int64 { Int64(clamping: (2 * numerator + denominator) / (2 * denominator)) }
}
