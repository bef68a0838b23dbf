import VideoCapturing

/// What is known of one viewer of the stream, for statistics. Safe to use from any thread.
final class ViewerRecord: Sendable {
    /// A random number, found again in `/state` and in the viewer's cookie.
    let id: UInt64
    let parameters: StreamParameters
    /// Where the viewer connects from.
    let peer: String

    struct Counts {
        var sent: UInt64 = 0
        var skipped: UInt64 = 0
        var bytes: UInt64 = 0
        var rate = RateMeter()
    }

    private let counts = Locked(Counts())

    init(_ parameters: StreamParameters, peer: String) {
        id = .random(in: 1 ... .max)
        self.parameters = parameters
        self.peer = peer
    }

    func noteSent(bytes: Int, at now: MediaTime) {
        counts.withLock { counts in
            counts.sent += 1
            counts.bytes += UInt64(bytes)
            counts.rate.add(1, at: now)
        }
    }

    func noteSkipped(_ frames: UInt64) { counts.withLock { $0.skipped += frames } }

    var current: Counts { counts.withLock { $0 } }

    func frameRate(at now: MediaTime) -> Double { counts.withLock { $0.rate.perSecond(at: now) } }
}
