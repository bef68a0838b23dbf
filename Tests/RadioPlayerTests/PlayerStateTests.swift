import AudioCapturing
import AudioRendering
import CapturerTestKit
import Testing

@testable import RadioPlayer

/// Each transition of the table in docs/radio.md, each group of errors, and the rules of both; in virtual time.
@Suite(.serialized) struct PlayerStateTests {
    private static let clip = try! mp3(seconds: 10)

    private func states(_ changes: [RadioPlayer.StateChange]?) -> [RadioPlayer.State] { (changes ?? []).map(\.new) }

    @Test func `A station goes from initialized to playing, and by a stop back`() throws {
        let listener = Listener(Self.clip)
        #expect(listener.player.isIdle && listener.player.stopReason == .none)
        listener.player.start()
        let up = try #require(listener.awaitState(.playing))
        #expect(up.map(\.new) == [.starting, .waitingForData, .waitingForRendererToStart, .playing])
        #expect(up.map(\.reason) == [.requested, .stream, .stream, .stream])
        #expect(up.map(\.old) == [.initialized, .starting, .waitingForData, .waitingForRendererToStart])
        #expect(listener.player.isPlaying)
        listener.player.stop()
        #expect(listener.player.isIdle && listener.player.stopReason == .userAction && listener.player.error == nil)
        let down = try #require(listener.awaitState(.initialized)).suffix(3)
        #expect(down.map(\.new) == [.stopping, .stopped, .initialized])
        #expect(down.allSatisfy { $0.reason == .requested })
        #expect(listener.renderer.heard.withLock { $0.opens == 1 && $0.closes == 1 && $0.loudest > 0.05 })
    }

    @Test func `A file is played to its end, sample by sample`() throws {
        let file = try mp3(seconds: 6, hasInformation: true)
        let listener = Listener(file)
        listener.server.configure { $0.isFile = true }
        listener.player.start()
        let all = states(listener.awaitState(.initialized))
        #expect(
            all == [
                .starting, .waitingForData, .waitingForRendererToStart, .playing, .flushingEnd, .stopping, .stopped,
                .initialized,
            ])
        #expect(listener.player.stopReason == .endOfStream && listener.player.error == nil)
        // What the encoder and the decoder add is left out.
        #expect(abs(listener.renderer.heard.withLock { $0.frames } - 6 * 44_100) < 64)
    }

    @Test func `A short file is flushed without playing before`() throws {
        let listener = Listener(try mp3(seconds: 0.5))
        listener.server.configure { $0.isFile = true }
        listener.player.start()
        #expect(
            states(listener.awaitState(.initialized)) == [
                .starting, .waitingForData, .waitingForRendererToStart, .flushingEnd, .stopping, .stopped, .initialized,
            ])
    }

    @Test func `An underrun buffers, and a new connection with its burst ends it`() throws {
        let listener = Listener(Self.clip)
        listener.server.configure { $0.stallsAfter = 20 }
        listener.player.start()
        let changes = try #require(listener.awaitState(.playing, count: 2))
        #expect(changes.suffix(2).map(\.new) == [.buffering, .playing])
        #expect(listener.eventually { listener.player.status.statistics.connections >= 2 })
        #expect(listener.player.status.statistics.underruns >= 1)
        listener.player.stop()
    }

    @Test func `A pause holds all phases, and going on returns to them`() throws {
        let listener = Listener(Self.clip)
        listener.server.configure { $0.answer = { _, request in request == 0 ? .silence : .sound } }
        listener.player.start()
        _ = listener.awaitState(.waitingForData)
        listener.player.pause()
        #expect(listener.player.isPaused)
        listener.player.pause()
        listener.player.resume()
        #expect(listener.awaitState(.playing) != nil)
        listener.player.togglePause()
        #expect(listener.player.isPaused)
        let frames = listener.renderer.heard.withLock { $0.frames }
        let before = listener.server.time
        #expect(listener.eventually { listener.server.time > before + 3 })
        #expect(listener.renderer.heard.withLock { $0.frames } - frames < 44_100)
        listener.player.start()
        #expect(listener.eventually { listener.renderer.heard.withLock { $0.frames } > frames + 88_200 })
        listener.player.togglePause()
        listener.player.stop()
        #expect(listener.player.isIdle)
        let all = listener.seen
        #expect(all.contains { $0.old == .paused && $0.new == .playing && $0.reason == .requested })
    }

    @Test func `A long pause of a station goes on with what is sent then`() throws {
        let listener = Listener(Self.clip)
        listener.player.start()
        _ = listener.awaitState(.playing)
        listener.player.pause()
        let before = listener.server.time
        #expect(listener.eventually { listener.server.time > before + 60 })
        let requests = listener.server.state.withLock { $0.requests.count }
        listener.player.resume()
        #expect(listener.awaitState(.playing, count: 3) != nil)
        #expect(listener.server.state.withLock { $0.requests.count } > requests)
        listener.player.stop()
    }

    @Test func `A seek in a file waits for data and goes on there`() throws {
        let file = try mp3(seconds: 60, hasInformation: true)
        let listener = Listener(file)
        listener.server.configure { $0.isFile = true }
        listener.player.start()
        _ = listener.awaitState(.playing)
        #expect(listener.eventually { listener.player.status.duration != nil })
        #expect(abs((listener.player.status.duration ?? .zero).seconds - 60) < 0.1)
        try listener.player.seek(to: .seconds(50))
        let changes = try #require(listener.awaitState(.waitingForData, count: 2))
        #expect(changes.last?.reason == .seek)
        #expect(listener.awaitState(.initialized) != nil)
        let offsets = listener.server.state.withLock { $0.requests.map(\.offset) }
        let share = Double(offsets.last ?? 0) / Double(file.count)
        #expect((0.81...0.86).contains(share))
        #expect(listener.player.stopReason == .endOfStream)
        #expect(abs(listener.player.status.progress.seconds - 60) < 0.5)
    }

    @Test func `A station cannot be sought in, and a player at rest neither`() throws {
        let listener = Listener(Self.clip)
        #expect(throws: RadioError.self) { try listener.player.seek(to: .zero) }
        listener.player.start()
        _ = listener.awaitState(.playing)
        let error = #expect(throws: RadioError.self) { try listener.player.seek(to: .seconds(1)) }
        #expect(error?.code == .streamSeekFailed)
        #expect(listener.player.isPlaying && listener.player.error == nil)
        listener.player.stop()
    }

    // MARK: - Errors

    private func failure(
        _ clip: [UInt8]? = nil, _ configure: (inout VirtualServer.State) -> Void
    ) throws -> (RadioPlayer, [RadioPlayer.StateChange]) {
        let listener = Listener(clip ?? Self.clip)
        listener.server.configure(configure)
        listener.player.start()
        let changes = try #require(listener.awaitState(.initialized))
        #expect(listener.player.stopReason == .error)
        return (listener.player, changes)
    }

    @Test(arguments: [
        (404, RadioErrorCode.streamNotFound), (401, .permissionDenied), (403, .permissionDenied),
        (410, .streamNotFound), (418, .streamUnsupported), (503, .networkConnectionFailed),
    ])
    func `A refusal of the server ends it with its own code`(status: Int, code: RadioErrorCode) throws {
        let (player, changes) = try failure { $0.answer = { _, _ in .status(status) } }
        #expect(player.error?.code == code)
        #expect(changes.suffix(3).map(\.new) == [.stopping, .stopped, .initialized])
        let reason = RadioPlayer.StateChange.Reason.failure(try #require(player.error))
        #expect(changes.suffix(3).allSatisfy { $0.reason == reason })
        #expect(player.status.statistics.attempts == (status == 503 ? 3 : 1))
    }

    @Test func `A server that is not there ends it after its attempts`() throws {
        let (player, _) = try failure { $0.answer = { _, _ in .refused } }
        #expect(player.error?.code == .networkConnectionFailed)
        #expect(player.status.statistics.attempts == 3)
    }

    @Test func `A server that never sends ends it after its attempts`() throws {
        let (player, _) = try failure { $0.answer = { _, _ in .silence } }
        #expect(player.error?.code == .networkStalled)
    }

    @Test(arguments: ["audio/aacp", "application/ogg", "text/html", "audio/flac", "video/mp4"])
    func `Other codecs and pages are refused by their name`(type: String) throws {
        let (player, _) = try failure(Array("<html></html>".utf8)) { $0.contentType = type }
        #expect(player.error?.code == .streamUnsupported)
    }

    @Test func `What is not MP3 ends it`() throws {
        let noise = (0..<300_000).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) & 0x7F }
        let (player, _) = try failure(noise) { $0.contentType = "audio/mpeg" }
        #expect(player.error?.code == .audioDataNotFound)
    }

    @Test func `An address that cannot be read ends it`() throws {
        let player = RadioPlayer("no address", renderer: NullRenderer())
        player.start()
        #expect(player.stopped(within: .seconds(20)))
        #expect(player.error?.code == .invalidConfiguration && player.stopReason == .error)
    }

    @Test(arguments: [
        (ListeningRenderer.Call.open, RadioErrorCode.rendererCreationFailed), (.write, .rendererWriteFailed),
        (.queued, .rendererTimeFailed),
    ])
    func `A failure of the renderer has the code of the call`(call: ListeningRenderer.Call, code: RadioErrorCode) throws
    {
        let listener = Listener(Self.clip)
        listener.renderer.fail([call])
        listener.player.start()
        #expect(listener.awaitState(.initialized) != nil)
        #expect(listener.player.error?.code == code)
        #expect(listener.player.error?.description.contains("listener") == true)
    }

    @Test(arguments: [ListeningRenderer.Call.write, .queued])
    func `A renderer whose device comes back is opened again`(call: ListeningRenderer.Call) throws {
        let listener = Listener(Self.clip)
        listener.player.start()
        _ = listener.awaitState(.playing)
        // By the count of openings: virtual time would run past the limit while this thread waits for a processor.
        listener.renderer.fail([call, .open], .deviceLost, opens: 3)
        #expect(listener.awaitState(.playing, count: 2) != nil)
        #expect(listener.player.error == nil && listener.player.status.statistics.lastError != nil)
        #expect(listener.renderer.heard.withLock { $0.opens } == 2)
        // One that stays away ends it, with its first failure.
        listener.renderer.fail([call, .open], .deviceLost)
        #expect(listener.awaitState(.initialized) != nil)
        #expect(listener.player.error?.code == (call == .write ? .rendererWriteFailed : .rendererTimeFailed))
    }

    @Test(arguments: [
        (ListeningRenderer.Call.pause, RadioErrorCode.rendererPauseFailed), (.resume, .rendererStartFailed),
    ])
    func `A renderer that cannot pause or go on ends it`(call: ListeningRenderer.Call, code: RadioErrorCode) throws {
        let listener = Listener(Self.clip)
        listener.renderer.fail([call])
        listener.player.start()
        _ = listener.awaitState(.playing)
        listener.player.pause()
        if call == .resume {
            let before = listener.server.time
            #expect(listener.eventually { listener.server.time > before + 1 })
            listener.player.resume()
        }
        #expect(listener.awaitState(.initialized) != nil)
        #expect(listener.player.error?.code == code)
    }

    @Test func `A renderer that cannot flush ends a seek`() throws {
        let listener = Listener(try mp3(seconds: 60))
        listener.server.configure { $0.isFile = true }
        listener.renderer.fail([.flush])
        listener.player.start()
        _ = listener.awaitState(.playing)
        #expect(listener.eventually { listener.player.status.duration != nil })
        try listener.player.seek(to: .seconds(30))
        #expect(listener.awaitState(.initialized) != nil)
        #expect(listener.player.error?.code == .rendererFlushFailed)
    }

    @Test func `The first of two errors wins`() throws {
        // Of the renderer first, while the server begins to refuse.
        let listener = Listener(Self.clip)
        listener.player.start()
        _ = listener.awaitState(.playing)
        listener.renderer.before(.write) { [server = listener.server, renderer = listener.renderer] in
            server.configure { state in
                state.isDown = { _ in true }
                state.answer = { _, _ in .status(403) }
            }
            renderer.fail([.write, .queued, .pause, .resume, .flush])
        }
        #expect(listener.awaitState(.initialized) != nil)
        #expect(listener.player.error?.code == .rendererWriteFailed)
        // Of the server first, while the renderer begins to fail.
        let other = Listener(Self.clip)
        other.server.configure { state in
            state.closesAfter = 5
            state.answer = { [renderer = other.renderer] _, request in
                guard request > 0 else { return .sound }
                renderer.fail([.write, .queued, .pause, .resume, .flush])
                return .status(403)
            }
        }
        other.player.start()
        let changes = try #require(other.awaitState(.initialized))
        let error = try #require(other.player.error)
        #expect(error.code == .permissionDenied)
        #expect(changes.suffix(3).allSatisfy { $0.reason == .failure(error) })
        // Neither a stop nor time changes it.
        other.player.stop()
        #expect(other.player.error == error && other.player.stopReason == .error)
    }

    @Test func `An error after the order to stop is not told`() throws {
        let listener = Listener(Self.clip)
        listener.player.start()
        _ = listener.awaitState(.playing)
        listener.renderer.before(.write) { [player = listener.player, renderer = listener.renderer] in
            player.stop()
            renderer.fail([.write])
        }
        let changes = try #require(listener.awaitState(.initialized))
        #expect(changes.suffix(3).allSatisfy { $0.reason == .requested })
        #expect(listener.player.error == nil && listener.player.stopReason == .userAction)
    }

    @Test func `A stop between the order to seek and the seek is a stop of the user`() throws {
        let listener = Listener(try mp3(seconds: 60))
        listener.server.configure { $0.isFile = true }
        listener.player.start()
        _ = listener.awaitState(.playing)
        #expect(listener.eventually { listener.player.status.duration != nil })
        // Both orders are obeyed at once, the pause first; the stop comes in between.
        listener.renderer.before(.write) { [player = listener.player, renderer = listener.renderer] in
            try? player.seek(to: .seconds(30))
            player.pause()
            renderer.before(.pause) {
                if player.stopReason == .temporarily { player.stop() }
            }
        }
        let changes = try #require(listener.awaitState(.initialized))
        #expect(changes.suffix(3).map(\.new) == [.stopping, .stopped, .initialized])
        #expect(changes.suffix(3).allSatisfy { $0.reason == .requested })
        #expect(listener.player.stopReason == .userAction)
    }

    @Test func `A restart clears the error and plays`() throws {
        let listener = Listener(Self.clip)
        listener.renderer.fail([.write])
        listener.player.start()
        _ = listener.awaitState(.initialized)
        #expect(listener.player.error != nil)
        listener.renderer.fail([])
        listener.player.start()
        #expect(listener.player.error == nil && listener.player.stopReason == .none)
        #expect(listener.awaitState(.playing, count: 2) != nil)
        listener.player.stop()
        #expect(listener.player.error == nil)
    }
}

extension RadioPlayer {
    /// Whether it is at rest before long.
    func stopped(within limit: Duration) -> Bool {
        let end = MonotonicClock().now.advanced(by: limit)
        while state != .initialized {
            guard MonotonicClock().now < end else { return false }
            MonotonicClock().wait(until: MonotonicClock().now.advanced(by: .milliseconds(1)), or: ManualResetEvent())
        }
        return true
    }
}
