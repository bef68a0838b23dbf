/// Counts the frames that a driver has lost, from the gaps in its sequence numbers.
///
/// The numbers wrap at 2³². A driver that begins anew or does not count is believed for no gap.
struct SequenceCounter {
    /// Gaps above this are taken for a driver that has begun anew: ten minutes at 60 frames a second.
    private static let largestGap: UInt32 = 36_000

    private var last: UInt32?

    /// How many frames are missing between the last buffer and this one.
    mutating func lost(before sequence: UInt32) -> UInt64 {
        defer { last = sequence }
        guard let last else { return 0 }
        let step = sequence &- last
        guard step > 1, step <= SequenceCounter.largestGap else { return 0 }
        return UInt64(step - 1)
    }
}
