import VideoCapturing

/// Makes the times of a track increase strictly, also where recordings were joined or restarted within a file.
///
/// A time that goes back by more than a frame begins a new stretch: its first frame follows the last one before it, one
/// frame later, and the times after it keep their distances. So does a time that is further ahead than ``largestStep``. A
/// single wrong time among right ones moves none of those after it.
package struct ContinuousTime {
    /// The largest step forward that is taken for a pause; nil for any.
    package let largestStep: Duration?
    /// The time of the last frame.
    package private(set) var last: Duration?
    /// The number of stretches after the first.
    package private(set) var stretches = 0

    /// The offset added to the times of the current stretch.
    private var offset = Duration.zero
    /// The length of the last frame.
    private var length: Duration
    /// The stretch before, while few frames of the current one have come.
    private var previous: (offset: Duration, stretches: Int, framesLeft: Int)?

    /// The number of wrong times in a row that are not a new stretch.
    private static let longestGlitch = 8
    /// How far frames may be out of order within a stretch.
    private static let longestDisorder = Duration.seconds(1)

    /// - Parameters:
    ///   - frameLength: of a frame whose own is unknown; later the distance of the last two.
    ///   - largestStep: see ``largestStep``.
    package init(frameLength: Duration, largestStep: Duration? = nil) {
        length = frameLength
        self.largestStep = largestStep
    }

    /// The time of the next frame.
    ///
    /// - Parameters:
    ///   - stated: what the file says.
    ///   - length: how long the frame is shown; nil when unknown.
    package mutating func place(_ stated: Duration, length: Duration? = nil) -> Duration {
        let time = timeInStretch(of: stated)
        if let last, length == nil, time > last, time - last <= largestStep ?? .seconds(1) { self.length = time - last }
        if let length { self.length = length }
        last = time
        return time
    }

    /// After a seek within the first stretch.
    package mutating func forgetLast() { last = nil }

    private mutating func timeInStretch(of stated: Duration) -> Duration {
        let time = stated + offset
        guard let last else { return time }
        if let previous {
            // The frames since were the exception.
            let former = stated + previous.offset
            if former > last, !isTooFar(former, after: last) {
                (offset, stretches) = (previous.offset, previous.stretches)
                self.previous = nil
                return former
            }
            self.previous?.framesLeft -= 1
            if previous.framesLeft <= 1 { self.previous = nil }
        }
        if time > last, !isTooFar(time, after: last) { return time }
        // Frames with the same time, or slightly out of order, are no new stretch.
        if time <= last, last - time < min(length, ContinuousTime.longestDisorder) { return last + .nanoseconds(1) }
        let next = last + length
        previous = previous ?? (offset, stretches, ContinuousTime.longestGlitch)
        offset = next - stated
        stretches += 1
        return next
    }

    private func isTooFar(_ time: Duration, after last: Duration) -> Bool {
        largestStep.map { time - last > $0 + length * 2 } ?? false
    }
}
