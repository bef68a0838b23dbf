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

    /// The time from outage to outage: 22 s, or what makes 200 of them the hours that CAPTURER_RADIO_HOURS says. A debug
    /// build takes some 15 s for an hour.
    private static let interval =
        getenv("CAPTURER_RADIO_HOURS").flatMap { Double(String(cString: $0)) }.map { $0 * 18 } ?? 22

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
        listener.server.configure { $0.isDown = { (15..<25).contains($0) } }
        listener.player.start()
        #expect(listener.eventually { listener.server.time > 30 })
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
        let refusals = Locked<[Double]>([])
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
            // Now and then a server that is up is full, or has no source yet: it is back only after that.
            state.answer = { time, request in
                guard request % 11 == 5 || request % 17 == 3 else { return .sound }
                refusals.withLock { $0.append(time) }
                return .status(request % 11 == 5 ? 503 : 404)
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
        // AddressSanitizer keeps 16 MB of freed memory.
        let limit = getenv("ASAN_OPTIONS") == nil ? 8 << 20 : 32 << 20
        #expect(growth < limit, "memory has grown by \(growth) bytes")
        #expect(listener.player.isPlaying && listener.player.error == nil)
        let statistics = listener.player.status.statistics
        #expect(statistics.connections > 100)
        let start = listener.server.start
        let silences = listener.renderer.heard.withLock { $0.silences }
        let refused = refusals.withLock { $0 }
        #expect(silences.count > 20, "the outages were not heard")
        for silence in silences {
            let (from, to) = ((silence.from - start).seconds, (silence.to - start).seconds)
            // The server was up from each of these times to the next outage or refusal, or to the end of the silence.
            let ends = outages.map(\.end) + refused
            let begins = outages.map(\.start) + refused
            for back in [from] + ends.filter({ from < $0 && $0 < to }) {
                guard !outages.contains(where: { $0.start <= back && back < $0.end }) else { continue }
                let lost = begins.filter { back < $0 && $0 < to }.min() ?? to
                #expect(lost - back <= 5, "silent from \(from) to \(to), the server up from \(back) to \(lost)")
            }
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
        // 256 KB at 128 kbit/s, and decoded sound.
        #expect(status.buffered < .seconds(21))
        #expect(status.statistics.damages == 0 && status.statistics.underruns == 0)
        listener.player.stop()
    }

    @Test func `100,000 calls from eight threads in any order, of a station and a file, leave both whole`() throws {
        let station = Self.listener()
        station.server.configure { $0.closesAfter = 7 }
        let file = Self.listener()
        file.server.configure { $0.isFile = true }
        let group = Locked((ended: 0, seeks: 0))
        for thread in 0..<8 {
            // Of either kind four threads, since one that waits for a stop must not hold up the other player.
            let (player, stopsRarely) = thread % 2 == 0 ? (station.player, false) : (file.player, true)
            try CaptureThread(name: "caller") {
                var random = UInt64(thread) &* 7919 &+ 1
                var seeks = 0
                for number in 0..<12_500 {
                    // The player of the file gets time to come somewhere between the calls.
                    if stopsRarely, number % 64 == 0 {
                        MonotonicClock().wait(
                            until: MonotonicClock().now.advanced(by: .milliseconds(1)), or: ManualResetEvent())
                    }
                    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    switch random >> 33 % 16 {
                    case 0...3: player.start()
                    // A file must come so far that its length is known.
                    case 4: if !stopsRarely || random >> 40 % 32 == 0 { player.stop() } else { player.start() }
                    case 5...6: player.pause()
                    case 7...8: player.resume()
                    case 9: player.togglePause()
                    case 10: if (try? player.seek(to: .seconds(Int64(random >> 40 % 20)))) != nil { seeks += 1 }
                    case 11: player.volume = Float(random >> 40 % 100) / 50
                    case 12: _ = player.status
                    case 13: _ = (player.state, player.error, player.stopReason)
                    default: player.start()
                    }
                }
                group.withLock { group in
                    group.ended += 1
                    group.seeks += seeks
                }
                group.wakeAll()
            }
        }
        let end = MonotonicClock().now.advanced(by: .seconds(300))
        #expect(group.wait(until: end) { $0.ended == 8 ? () : nil } != nil, "a call has hung")
        #expect(group.withLock { $0.seeks } > 0)
        for listener in [station, file] {
            let isFile = listener === file
            // It still plays, and the last stop is the user's.
            listener.player.start()
            #expect(listener.eventually { listener.player.isPlaying })
            if isFile {
                let count = listener.seen.count
                #expect(listener.eventually { (try? listener.player.seek(to: .seconds(1))) != nil })
                #expect(listener.eventually { listener.seen.dropFirst(count).contains { $0.reason == .seek } })
            }
            listener.player.stop()
            #expect(listener.player.isIdle && listener.player.error == nil)
            #expect(listener.player.stopReason == .userAction)
            #expect(listener.renderer.heard.withLock { $0.opens == $0.closes && !$0.isOpen })
            #expect(listener.eventually { listener.seen.last?.new == .initialized })
            let changes = listener.seen
            #expect(changes.count > 1000)
            #expect(changes.suffix(3).allSatisfy { $0.reason == .requested })
            #expect(changes.contains { $0.reason == .seek } == isFile)
            // Every change continues the one before, and all are of the table.
            #expect(changes.first?.old == .initialized)
            #expect(zip(changes, changes.dropFirst()).allSatisfy { $0.new == $1.old })
            let odd = changes.first { !Self.isInTable($0, isFile: isFile) }
            #expect(odd == nil, "\(String(describing: odd))")
            // A stop keeps its reason to its end.
            let torn = zip(changes, changes.dropFirst()).first { before, after in
                [.stopping, .stopped].contains(before.new) && before.reason != after.reason
            }
            #expect(torn == nil, "\(String(describing: torn))")
        }
    }

    /// The transitions of docs/radio.md, with their reasons.
    private static func isInTable(_ change: RadioPlayer.StateChange, isFile: Bool) -> Bool {
        switch (change.old, change.new) {
        case (.initialized, .starting): change.reason == .requested
        case (.starting, .waitingForData), (.waitingForData, .waitingForRendererToStart),
            (.waitingForRendererToStart, .playing), (.waitingForRendererToStart, .flushingEnd), (.playing, .buffering),
            (.buffering, .playing), (.buffering, .flushingEnd), (.playing, .flushingEnd):
            change.reason == .stream
        case (.playing, .waitingForData), (.buffering, .waitingForData), (.flushingEnd, .waitingForData):
            change.reason == (isFile ? .seek : .stream)
        case (.stopping, .stopped), (.stopped, .initialized): [.requested, .stream].contains(change.reason)
        case (.initialized, _), (.stopping, _), (.stopped, _): false
        // Nothing fails, and only a file ends.
        case (_, .stopping): change.reason == .requested || isFile && change.reason == .stream
        case (_, .paused), (.paused, _): change.reason == .requested
        default: false
        }
    }
}
