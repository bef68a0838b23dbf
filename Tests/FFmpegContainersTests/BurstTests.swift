import PacketCapturing
import TestTools
import Testing

@testable import FFmpegContainers

/// How old the first packet of a connection is, by when packets come.
@Suite struct BurstTests {
    private let opened = MediaTime.zero + .seconds(1000)

    /// Reads packets that come at their times, in milliseconds after the opening, from `begin` on.
    private func read(_ packets: [(own: Int, comes: Int)], from begin: Int, bytes: Int = 1000) -> Burst {
        var burst = Burst()
        var now = opened + .milliseconds(begin)
        burst.note(.zero + .milliseconds(packets[0].own), opened: opened, readAt: now)
        burst.begin(at: now)
        for (own, comes) in packets.dropFirst() {
            let began = now
            now = max(now + .microseconds(50), opened + .milliseconds(comes))
            burst.note(.zero + .milliseconds(own), opened: opened, readAt: now)
            guard burst.continues(after: began, at: now, bytes: bytes) else { return burst }
        }
        burst.end(isEndOfStream: true)
        return burst
    }

    /// Whatever a server has kept, however long opening takes, and however late the first packet comes.
    @Test(arguments: UInt64(0)..<300)
    func itIsAsOldAsItWasKept(seed: UInt64) {
        var random = SeededRandom(state: seed)
        let interval = Int.random(in: 16...200, using: &random)
        let kept = Bool.random(using: &random) ? 0 : Int.random(in: 0...15_000, using: &random)
        let late = kept > 0 ? 0 : Int.random(in: 0...3000, using: &random)
        let opening = late + Int.random(in: 0...1000, using: &random)
        let packets = (0..<2000).map { (own: $0 * interval, comes: max(0, $0 * interval - kept) + late) }
        let burst = read(packets, from: opening)
        #expect(!burst.isFilm)
        let error = Int(burst.age / 1_000_000) - (kept - late)
        #expect(abs(error) <= interval, "\(kept) ms, \(late) ms late, opened in \(opening) ms, each \(interval) ms")
    }

    /// A network that brings a burst at four times its speed, in pieces.
    @Test func aSlowNetworkIsWaitedFor() {
        let packets = (0..<1000).map { (own: $0 * 40, comes: max($0 / 4 * 40, $0 * 40 - 6000)) }
        #expect(abs(read(packets, from: 0).age - 6_000_000_000) < 100_000_000)
    }

    /// Films end, or are larger than anything that a server keeps: they begin at the opening.
    @Test(arguments: [(100, 1000), (10_000, 1000), (10_000, 1 << 20)])
    func filmsAreNotOld(count: Int, bytes: Int) {
        let burst = read((0..<count).map { (own: $0 * 40, comes: 0) }, from: 0, bytes: bytes)
        #expect(burst.isFilm && burst.age == 0)
    }

    @Test func extremeTimesDoNotTrap() {
        var burst = Burst()
        burst.begin(at: opened)
        for nanoseconds in [0, Int64.min, .max, 1, .min, .max, 2] {
            burst.note(MediaTime(nanoseconds: nanoseconds), opened: opened, readAt: opened)
            _ = burst.continues(after: opened, at: opened, bytes: 1)
        }
        burst.end(isEndOfStream: false)
    }
}
