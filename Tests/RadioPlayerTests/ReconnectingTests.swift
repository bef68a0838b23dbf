import AudioCapturing
import Testing

@testable import RadioPlayer

/// When, how soon and to which address a new connection is made; in virtual time.
@Suite(.serialized) struct ReconnectingTests {
    private static let clip = try! mp3(seconds: 10)

    @Test func `A server that sends a few frames and hangs up is not asked at full speed, and never given up`() throws {
        var configuration = RadioConfiguration()
        configuration.attemptsAfterLoss = 3
        let listener = Listener(Self.clip, configuration: configuration)
        listener.server.configure { state in
            // A third of a second.
            state.burst = 4800
            state.closesAfter = 0.1
        }
        listener.player.start()
        #expect(listener.eventually { listener.server.time > 60 || listener.player.error != nil })
        try #require(listener.player.error == nil)
        // After 0, 0.25, 0.5, 1 and each further 2 s, and what each connection lasts.
        let requests = listener.server.state.withLock { $0.requests.count }
        #expect((20...36).contains(requests), "\(requests) requests in a minute")
        #expect(listener.player.status.statistics.connections > 20)
        // One that lasts is replaced at once.
        listener.server.configure { state in
            state.burst = 64_000
            state.closesAfter = 15
        }
        let count = requests + 4
        #expect(listener.eventually { listener.server.state.withLock { $0.requests.count } > count })
        let times = listener.server.state.withLock { $0.requestTimes }
        for (before, after) in zip(times.suffix(3), times.suffix(2)) {
            #expect((15..<15.2).contains(after - before), "\(times.suffix(3))")
        }
        listener.player.stop()
    }

    @Test func `A connection that gives a little and dies is replaced before five seconds of silence`() throws {
        let listener = Listener(Self.clip)
        listener.server.configure { state in
            state.stallsAfter = 20
            state.adapt = { request, state in
                guard request == 1 else { return }
                // Half a second, which is not enough to be played.
                state.burst = 8000
                state.stallsAfter = 0
            }
        }
        listener.player.start()
        #expect(listener.awaitState(.playing, count: 2) != nil)
        let times = listener.server.state.withLock { $0.requestTimes }
        try #require(times.count == 3)
        #expect(times[2] - times[1] < 4, "\(times)")
        listener.player.stop()
    }

    @Test(arguments: [404, 403]) func `A playlist is read again when its entry has expired`(status: Int) throws {
        let listener = Listener(Self.clip)
        let server = listener.server
        let token: @Sendable (Double) -> String = { $0 < 30 ? "http://virtual/a?token=1" : "http://virtual/a?token=2" }
        server.configure { state in
            state.isDown = { (20..<30).contains($0) }
            state.answer = { [unowned server] time, request in
                let url = server.state.withLock { $0.requests[request].address.requestURL }
                if url.hasSuffix("/stream") { return .playlist([token(time)]) }
                return url == token(time) ? .sound : .status(status)
            }
        }
        listener.player.start()
        #expect(listener.awaitState(.playing) != nil)
        #expect(listener.eventually { server.time > 45 })
        #expect(listener.player.error == nil && listener.player.isPlaying)
        let addresses = server.state.withLock { $0.requests.map(\.address.requestURL) }
        #expect(addresses.prefix(2) == ["http://virtual/stream", "http://virtual/a?token=1"])
        #expect(addresses.suffix(2) == ["http://virtual/stream", "http://virtual/a?token=2"])
        listener.player.stop()
    }

    @Test func `What a fresh playlist names and the server refuses ends it`() throws {
        let listener = Listener(Self.clip)
        let server = listener.server
        server.configure { state in
            state.closesAfter = 15
            state.answer = { [unowned server] time, request in
                let url = server.state.withLock { $0.requests[request].address.requestURL }
                if url.hasSuffix("/stream") { return .playlist(["http://virtual/a"]) }
                return time < 10 ? .sound : .status(403)
            }
        }
        listener.player.start()
        #expect(listener.awaitState(.initialized) != nil)
        #expect(listener.player.error?.code == .permissionDenied)
        #expect(server.state.withLock { $0.requests.count } == 5)
        // And at the first time at once.
        let refused = Listener(Self.clip)
        let other = refused.server
        other.configure { state in
            state.answer = { _, request in request == 0 ? .playlist(["http://virtual/a"]) : .status(404) }
        }
        refused.player.start()
        #expect(refused.awaitState(.initialized) != nil)
        #expect(refused.player.error?.code == .streamNotFound)
        #expect(other.state.withLock { $0.requests.count } == 2)
    }

    @Test func `Entries are tried while the playlist cannot be read`() throws {
        let listener = Listener(Self.clip)
        let server = listener.server
        server.configure { state in
            state.isDown = { (15..<25).contains($0) }
            state.answer = { [unowned server] time, request in
                let url = server.state.withLock { $0.requests[request].address.requestURL }
                if url.hasSuffix("/stream") { return time < 15 ? .playlist(["http://virtual/a"]) : .refused }
                return .sound
            }
        }
        listener.player.start()
        #expect(listener.eventually { server.time > 40 })
        #expect(listener.player.isPlaying && listener.player.status.statistics.connections == 2)
        listener.player.stop()
    }

    @Test func `A station whose length is not true is heard again soon after each loss`() throws {
        let listener = Listener(Self.clip)
        listener.server.configure { state in
            state.statedLength = 54_000_000
            state.closesAfter = 30
            state.adapt = { request, state in if request > 1 { state.closesAfter = nil } }
        }
        listener.player.start()
        #expect(listener.eventually { listener.server.time > 100 || listener.player.error != nil })
        #expect(listener.player.isPlaying && listener.player.error == nil)
        let silences = listener.renderer.heard.withLock { $0.silences }
        #expect(silences.allSatisfy { $0.to - $0.from < .seconds(4) }, "\(silences)")
        #expect(listener.player.status.duration == nil)
        listener.player.stop()
    }

    @Test func `A file whose server knows no ranges goes on where it was cut`() throws {
        let listener = Listener(Self.clip)
        listener.server.configure { state in
            state.isFile = true
            state.ignoresRanges = true
            state.speed = 20
            state.burst = 0
            state.isDown = { (0.2..<0.3).contains($0) }
        }
        listener.player.start()
        #expect(listener.awaitState(.initialized) != nil)
        #expect(listener.player.stopReason == .endOfStream)
        #expect(listener.server.state.withLock { $0.requests.count } >= 2)
        let heard = listener.renderer.heard.withLock { $0.frames }
        #expect(abs(heard - Int64(Parsed.frameCount(Self.clip) * 1152)) < 4000, "\(heard)")
    }

    @Test(arguments: [false, true]) func `Each entry of a playlist is tried`(isRefused: Bool) throws {
        let listener = Listener(Self.clip)
        let server = listener.server
        let entries = (0..<7).map { "http://virtual/\($0)" }
        server.configure { state in
            state.answer = { [unowned server] _, request in
                let url = server.state.withLock { $0.requests[request].address.requestURL }
                if url.hasSuffix("/stream") { return .playlist(entries) }
                return url == entries.last ? .sound : isRefused ? .refused : .status(404)
            }
        }
        listener.player.start()
        #expect(listener.awaitState(.playing) != nil)
        #expect(listener.player.error == nil)
        listener.player.stop()
        // With none that plays the error says how many there were.
        let dead = Listener(Self.clip)
        dead.server.configure { $0.answer = { _, request in request == 0 ? .playlist(entries) : .status(404) } }
        dead.player.start()
        #expect(dead.awaitState(.initialized) != nil)
        #expect(dead.player.error?.message.contains("None of the 7 entries") == true)
        #expect(dead.server.state.withLock { $0.requests.count } == 8)
    }
}
