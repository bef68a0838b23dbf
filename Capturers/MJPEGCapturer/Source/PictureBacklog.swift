import VideoCapturing

/// The pictures that have come and are not delivered yet, in order; bounded, however slow the consumer.
struct PictureBacklog {
    /// The most pictures that wait.
    static let mostPictures = 64

    /// In nanoseconds; what is longer is a pause.
    private static let longestInterval: Int64 = 5_000_000_000

    /// The most bytes that wait; one picture may always.
    let mostBytes: Int
    private var pictures: [ReceivedPicture] = []
    private var bytes = 0
    /// The usual time between two pictures; nil until known. Not a `Duration`, whose 128 bits cost more than all else here.
    private(set) var intervalNanoseconds: Int64?
    private var lastRead: MediaTime?
    /// Nobody is late before this.
    var sessionStart = MediaTime.zero

    init(mostBytes: Int) {
        self.mostBytes = mostBytes
        pictures.reserveCapacity(PictureBacklog.mostPictures)
    }

    var isEmpty: Bool { pictures.isEmpty }
    var count: Int { pictures.count }
    /// The next one.
    var first: ReceivedPicture? { pictures.first }

    /// Adds the newest; the oldest go where there is no room.
    mutating func append(_ picture: ReceivedPicture, pool: JPEGBlockPool) {
        pictures.append(picture)
        bytes += picture.block.count
        while pictures.count > 1, pictures.count > PictureBacklog.mostPictures || bytes > mostBytes {
            skipFirst(pool)
        }
    }

    /// The last `count` pictures have been read at `now`, after nothing was read since `since`: they have come in
    /// between, at their usual distance, the last one just now.
    ///
    /// - Parameter isLate: whether they may have waited; otherwise they have just come.
    mutating func noteRead(count: Int, since: MediaTime, now: MediaTime, isLate: Bool) {
        guard count > 0 else { return }
        let sample = min(now.nanoseconds(since: lastRead ?? since) / Int64(count), PictureBacklog.longestInterval)
        if lastRead != nil { measure(sample) }
        lastRead = now
        guard isLate else { return }
        let distance = intervalNanoseconds ?? sample
        for (age, index) in pictures.indices.suffix(count).reversed().enumerated() {
            let estimate = now.advanced(by: .nanoseconds(-distance * Int64(age)))
            pictures[index].arrival = max(since, min(pictures[index].arrival, estimate))
        }
    }

    /// The next picture to deliver. Pictures come in order as long as they are fresh, so that a hiccup of the consumer
    /// loses none; when it is too slow for good, the newest win.
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

    /// Puts a picture back as the next one.
    mutating func putBack(_ picture: ReceivedPicture) {
        pictures.insert(picture, at: 0)
        bytes += picture.block.count
    }

    /// For a new connection: what waits is of the past.
    mutating func clear() {
        pictures.removeAll(keepingCapacity: true)
        bytes = 0
        intervalNanoseconds = nil
        lastRead = nil
    }

    /// A new connection: the pause is not measured.
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
