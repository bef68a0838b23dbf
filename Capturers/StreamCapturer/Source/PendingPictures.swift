import VideoCapturing

/// The pictures that a decoder was handed and has not returned, in the order of decoding.
///
/// A decoder that reorders pictures holds up to 16 of them back (ITU-T H.264, max_num_reorder_frames), and says nothing of
/// those that it passes over. So a picture counts as lost when more are missing than it may hold, or when a later key frame
/// has been returned, which no picture before it follows.
struct PendingPictures {
    private struct Entry {
        /// Counts all pictures; given to the decoder in place of a time.
        var number: Int64
        var time: MediaTime
        /// Whether the stream states the time.
        var isStated: Bool
        var isKeyFrame: Bool
    }

    static let maximumHeld = 16

    private var entries: [Entry] = []
    private var nextNumber: Int64 = 0
    private var lost: UInt64 = 0

    init() { entries.reserveCapacity(PendingPictures.maximumHeld + 2) }

    /// Adds a picture.
    ///
    /// - Parameters:
    ///   - time: the one that the stream states, or that of its arrival.
    ///   - isStated: whether the stream states it.
    /// - Returns: the number by which the decoder returns it.
    mutating func add(_ time: MediaTime, isStated: Bool, isKeyFrame: Bool) -> Duration {
        nextNumber += 1
        entries.append(Entry(number: nextNumber, time: time, isStated: isStated, isKeyFrame: isKeyFrame))
        return .nanoseconds(nextNumber)
    }

    /// Takes a picture that the decoder has returned.
    ///
    /// - Returns: its time; of times of arrival the earliest one, since they are in the order of decoding. Nil for a picture
    ///   that was given up.
    mutating func take(_ number: Duration) -> MediaTime? {
        guard let index = index(of: number) else { return nil }
        var taken = entries.remove(at: index)
        if taken.isKeyFrame {
            lost += UInt64(index)
            entries.removeFirst(index)
        } else if !taken.isStated, let first = entries.indices.min(by: { entries[$0].time < entries[$1].time }),
            entries[first].time < taken.time
        {
            swap(&entries[first].time, &taken.time)
        }
        return taken.time
    }

    /// Forgets a picture that could not be decoded.
    mutating func remove(_ number: Duration) {
        if let index = index(of: number) { entries.remove(at: index) }
    }

    /// The number of pictures since the last call that the decoder has passed over.
    ///
    /// - Parameter isAtEnd: whether the decoder holds none back.
    mutating func takeLost(isAtEnd: Bool = false) -> UInt64 {
        let surplus = entries.count - (isAtEnd ? 0 : PendingPictures.maximumHeld)
        if surplus > 0 {
            lost += UInt64(surplus)
            entries.removeFirst(surplus)
        }
        defer { lost = 0 }
        return lost
    }

    private func index(of number: Duration) -> Int? {
        entries.firstIndex { .nanoseconds($0.number) == number }
    }
}
