import AudioCapturing
import CapturerTestKit
import TestTools
import Testing

@testable import RadioPlayer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Hours of radio in seconds.
@Suite(.serialized) struct EnduranceTests {
    /// A small stream, so that hours are decoded soon.
    private static let clip = try! mp3(seconds: 20, rate: 11_025, channels: 1, bitrate: 16)

    private static func listener() -> Listener {
        let listener = Listener(clip, bitrate: 16_000)
        // Four seconds, as those of Icecast are at 128 kbit/s.
        listener.server.configure { $0.burst = 8000 }
        return listener
    }

    /// The time from outage to outage: 26 s, or what makes 200 of them the hours that CAPTURER_RADIO_HOURS says. A debug
    /// build takes some 15 s for an hour.
    private static let interval =
        getenv("CAPTURER_RADIO_HOURS").flatMap { Double(String(cString: $0)) }.map { $0 * 18 } ?? 26

    /// For hours, on a machine that does other things, too.
    private static let limit = Duration.seconds(3600)

    /// An outage lasts up to 14 s.
    private static func outage(_ number: Int) -> (start: Double, end: Double, isCut: Bool) {
        let start = 20 + Double(number) * interval
        return (start, start + 0.5 + Double(number * 37 % 140) / 10, number % 3 != 0)
    }

    /// Sound of the connection that was lost is still played during the first attempts, and must not count as theirs.
    @Test func `Attempts wait although sound of the connection before is still there`() throws {
        let listener = Self.listener()
        listener.server.configure { $0.isDown = { (10..<20).contains($0) } }
        listener.player.start()
        #expect(listener.eventually { listener.server.time > 25 })
        let statistics = listener.player.status.statistics
        listener.player.stop()
        #expect(statistics.connections == 2)
        // At once, and after 0.25, 0.5, 1 and each further 2 s.
        #expect((9...11).contains(statistics.attempts), "\(statistics.attempts) attempts in 10 s")
    }

    @Test func `After 200 outages it is never silent longer than 5 s once the server is back, and memory is flat`()
        throws
    {
        let listener = Self.listener()
        let outages = (0..<200).map(Self.outage)
        listener.server.configure { state in
            let number: @Sendable (Double) -> Int = { Int(max(0, ($0 - 20) / Self.interval)) }
            state.isDown = { time in
                let outage = Self.outage(number(time))
                return outage.isCut && time >= outage.start && time < outage.end && number(time) < 200
            }
            state.isStalled = { time in
                let outage = Self.outage(number(time))
                return !outage.isCut && time >= outage.start && time < outage.end && number(time) < 200
            }
            // Now and then a server that is back is full, or has no source yet.
            state.answer = { _, request in request % 11 == 5 ? .status(503) : request % 17 == 3 ? .status(404) : .sound
            }
            state.closesAfter = 500
        }
        listener.player.start()
        let quarter = outages[50].start
        #expect(listener.eventually(within: Self.limit) { listener.server.time > quarter })
        let before = residentMemory()
        let last = try #require(outages.last)
        #expect(listener.eventually(within: Self.limit) { listener.server.time > last.end + 30 })
        let growth = residentMemory() - before
        // AddressSanitizer keeps 16 MB of what was freed.
        let limit = getenv("ASAN_OPTIONS") == nil ? 8 << 20 : 32 << 20
        #expect(growth < limit, "memory has grown by \(growth) bytes")
        #expect(listener.player.isPlaying && listener.player.error == nil)
        let statistics = listener.player.status.statistics
        #expect(statistics.connections > 100)
        let start = listener.server.start
        let silences = listener.renderer.heard.withLock { $0.silences }
        #expect(silences.count > 20, "the outages were not heard")
        for silence in silences {
            let (from, to) = ((silence.from - start).seconds, (silence.to - start).seconds)
            // A request that was refused meanwhile is no fault of the player.
            let back = outages.last { $0.start <= to }?.end ?? 0
            let duration = to - max(from, back)
            #expect(duration <= 5, "silent from \(from) to \(to), and the server was back at \(back)")
        }
        listener.player.stop()
        #expect(listener.renderer.heard.withLock { $0.closes == $0.opens })
    }

    @Test(arguments: [1.0005, 0.9995]) func `The level is held against a server with another clock`(speed: Double)
        throws
    {
        let listener = Self.listener()
        listener.server.configure { $0.speed = speed }
        listener.player.start()
        #expect(listener.eventually(within: Self.limit) { listener.server.time > 120 })
        let target = listener.player.status.buffered.seconds
        // Without the correction the level would be 0.9 s away by then.
        #expect(listener.eventually(within: Self.limit) { listener.server.time > 1900 })
        let status = listener.player.status
        #expect(abs(status.buffered.seconds - target) < 0.5)
        #expect(status.statistics.underruns == 0)
        #expect(abs(status.rateCorrection) > 300 && abs(status.rateCorrection) <= 2000)
        #expect((status.rateCorrection < 0) == (speed > 1))
        listener.player.stop()
    }

    @Test func `A server that sends faster than sound is held back`() throws {
        let listener = Listener(try mp3(seconds: 20))
        listener.server.configure { $0.speed = 50 }
        listener.player.start()
        _ = listener.awaitState(.playing)
        #expect(listener.eventually { listener.server.time > 100 })
        let status = listener.player.status
        // 256 KB at 128 kbit/s, and what is decoded.
        #expect(status.buffered < .seconds(21))
        #expect(status.statistics.damages == 0 && status.statistics.underruns == 0)
        listener.player.stop()
    }

    @Test func `100,000 calls from eight threads in any order leave it whole`() throws {
        let listener = Self.listener()
        listener.server.configure { $0.closesAfter = 7 }
        let group = Locked(0)
        for thread in 0..<8 {
            try CaptureThread(name: "caller") { [player = listener.player] in
                var random = UInt64(thread) &* 7919 &+ 1
                for _ in 0..<12_500 {
                    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    switch random >> 33 % 16 {
                    case 0...3: player.start()
                    case 4: player.stop()
                    case 5...6: player.pause()
                    case 7...8: player.resume()
                    case 9: player.togglePause()
                    case 10: try? player.seek(to: .seconds(Int64(random >> 40 % 100)))
                    case 11: player.volume = Float(random >> 40 % 100) / 50
                    case 12: _ = player.status
                    case 13: _ = (player.state, player.error, player.stopReason)
                    default: player.start()
                    }
                }
                group.withLock { $0 += 1 }
                group.wakeAll()
            }
        }
        let end = MonotonicClock().now.advanced(by: .seconds(300))
        #expect(group.wait(until: end) { $0 == 8 ? () : nil } != nil, "a call has hung")
        listener.player.stop()
        #expect(listener.player.isIdle)
        #expect(listener.renderer.heard.withLock { $0.opens == $0.closes && !$0.isOpen })
        // Every change continues the one before, and all are of the table.
        #expect(listener.eventually { listener.seen.last?.new == .initialized })
        let changes = listener.seen
        #expect(changes.count > 1000)
        #expect(changes.first?.old == .initialized)
        #expect(zip(changes, changes.dropFirst()).allSatisfy { $0.new == $1.old })
        let odd = changes.first { !Self.isInTable($0.old, $0.new) }
        #expect(odd == nil, "\(String(describing: odd))")
        // It still plays.
        listener.player.start()
        #expect(listener.eventually { listener.player.isPlaying })
        listener.player.stop()
    }

    /// The transitions of docs/radio.md.
    private static func isInTable(_ old: RadioPlayer.State, _ new: RadioPlayer.State) -> Bool {
        switch (old, new) {
        case (.initialized, .starting), (.starting, .waitingForData), (.waitingForData, .waitingForRendererToStart),
            (.waitingForRendererToStart, .playing), (.waitingForRendererToStart, .flushingEnd), (.playing, .buffering),
            (.buffering, .playing), (.buffering, .flushingEnd), (.playing, .flushingEnd), (.stopping, .stopped),
            (.stopped, .initialized), (.playing, .waitingForData), (.buffering, .waitingForData),
            (.flushingEnd, .waitingForData):
            true
        case (.initialized, _), (.stopping, _), (.stopped, _): false
        case (_, .stopping), (_, .paused), (.paused, _): true
        default: false
        }
    }
}
