import VideoCapturing

/// The images that are received and not delivered yet, in order; bounded, however slow the consumer.
struct ReceiveQueue {
    /// The maximum number of images.
    static let maximumPictures = 64

    /// In nanoseconds; a longer interval is a pause.
    private static let longestInterval: Int64 = 5_000_000_000

    /// The maximum number of bytes; one image is always allowed.
    let maximumBytes: Int
    private var pictures: [ReceivedPicture] = []
    private var bytes = 0
    /// The usual time between two images; nil until known. Not a `Duration`, whose 128 bits cost more than the rest here.
    private(set) var intervalNanoseconds: Int64?
    private var lastRead: MediaTime?
    /// The age of images counts from here.
    var sessionStart = MediaTime.zero

    init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
        pictures.reserveCapacity(ReceiveQueue.maximumPictures)
    }

    var isEmpty: Bool { pictures.isEmpty }
    var count: Int { pictures.count }
    /// The next one.
    var first: ReceivedPicture? { pictures.first }

    /// Adds the newest image; drops the oldest where there is no room.
    mutating func append(_ picture: ReceivedPicture, pool: JPEGBlockPool) {
        pictures.append(picture)
        bytes += picture.block.count
        while pictures.count > 1, pictures.count > ReceiveQueue.maximumPictures || bytes > maximumBytes {
            skipFirst(pool)
        }
    }

    /// Records that the last `count` images were read at `now`, after nothing was read since `since`: they have arrived in
    /// between, at their usual interval, the last one just now.
    ///
    /// - Parameters:
    ///   - count: the number of images.
    ///   - since: the time of the previous read.
    ///   - now: the time of this read.
    ///   - isLate: whether they may have waited; otherwise they have just arrived.
    mutating func recordRead(count: Int, since: MediaTime, now: MediaTime, isLate: Bool) {
        guard count > 0 else { return }
        let sample = min(now.nanoseconds(since: lastRead ?? since) / Int64(count), ReceiveQueue.longestInterval)
        if lastRead != nil { measure(sample) }
        lastRead = now
        guard isLate else { return }
        let distance = intervalNanoseconds ?? sample
        for (age, index) in pictures.indices.suffix(count).reversed().enumerated() {
            let estimate = now.advanced(by: .nanoseconds(-distance * Int64(age)))
            pictures[index].arrival = max(since, min(pictures[index].arrival, estimate))
        }
    }

    /// The next image to deliver. Images are delivered in order as long as they are fresh, so that a short delay of the
    /// consumer loses none; when it is permanently too slow, the oldest are dropped.
    mutating func next(now: MediaTime, pool: JPEGBlockPool) -> ReceivedPicture? {
        let freshness = max(2 * (intervalNanoseconds ?? 0), 100_000_000)
        while pictures.count > 1, now.nanoseconds(since: max(pictures[0].arrival, sessionStart)) > freshness {
            skipFirst(pool)
        }
        guard !pictures.isEmpty else { return nil }
        let picture = pictures.removeFirst()
        bytes -= picture.block.count
        return picture
    }

    /// Puts an image back as the next one.
    mutating func putBack(_ picture: ReceivedPicture) {
        pictures.insert(picture, at: 0)
        bytes += picture.block.count
    }

    /// Removes all images, for a new connection.
    mutating func clear() {
        pictures.removeAll(keepingCapacity: true)
        bytes = 0
        intervalNanoseconds = nil
        lastRead = nil
    }

    /// Begins a new connection: the pause is not measured.
    mutating func beginConnection() { lastRead = nil }

    private mutating func skipFirst(_ pool: JPEGBlockPool) {
        let skipped = pictures.removeFirst()
        bytes -= skipped.block.count
        var losses = skipped.losses
        losses.skipped &+= 1
        losses += pictures[0].losses
        pictures[0].losses = losses
        pool.giveBack(skipped.block)
    }

    private mutating func measure(_ sample: Int64) {
        intervalNanoseconds = intervalNanoseconds.map { $0 + (sample - $0) / 8 } ?? sample
    }
}
