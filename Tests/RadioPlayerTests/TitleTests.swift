import AudioCapturing
import CapturerTestKit
import Testing

@testable import RadioPlayer

@Suite(.serialized) struct TitleTests {
    private static let clip = try! mp3(seconds: 10)

    @Test func `Titles are told when they are heard, not when they come`() throws {
        let listener = Listener(Self.clip)
        listener.server.configure { state in
            state.metaInterval = 16_000
            state.title = { $0 < 30 ? "First" : "Second; it's" }
        }
        listener.player.start()
        let first = try #require(listener.awaitTitle("First"))
        #expect(first.position.seconds <= 1.5)
        let second = try #require(listener.awaitTitle("Second; it's"))
        // It comes after 30 s, when four seconds of sound are buffered; a block comes each second.
        #expect((32.5...36).contains(second.position.seconds), "\(second.position)")
        #expect(listener.player.status.title == "Second; it's")
        #expect(listener.player.status.information?.name == "Virtual")
        listener.player.stop()
    }

    @Test func `A wrong interval costs the titles, and not the sound`() throws {
        let listener = Listener(Self.clip)
        // The server's blocks stand elsewhere than it says.
        listener.server.configure { state in
            state.metaInterval = 16_000
            state.statedInterval = 15_000
            state.title = { "T\(Int($0))" }
        }
        listener.player.start()
        #expect(listener.awaitState(.playing) != nil)
        let before = listener.server.time
        #expect(listener.eventually { listener.server.time > before + 20 })
        let requests = listener.server.state.withLock { $0.requests }
        #expect(requests.first?.wantsMetadata == true)
        #expect(requests.last?.wantsMetadata == false)
        let status = listener.player.status
        #expect(status.statistics.damages <= 10)
        #expect(listener.player.isPlaying)
        listener.player.stop()
    }

    @Test func `A change of format plays on in the first one`() throws {
        let other = try mp3(seconds: 5, rate: 48_000, channels: 1, bitrate: 64)
        let listener = Listener(try mp3(seconds: 5) + other)
        listener.player.start()
        _ = listener.awaitState(.playing)
        let before = listener.server.time
        #expect(listener.eventually { listener.server.time > before + 30 })
        let status = listener.player.status
        #expect(status.statistics.formatChanges >= 2)
        let heard = listener.renderer.heard.withLock { $0 }
        #expect(heard.opens == 1 && heard.format?.sampleRate == 44_100)
        #expect(heard.loudest < 1.05)
        listener.player.stop()
    }

    @Test func `Samples of 16 bits are made for a device that wants them, and the volume is applied`() throws {
        let listener = Listener(Self.clip, format: AudioFormat(.int16, .stereo, sampleRate: 48_000))
        listener.player.volume = 0.5
        listener.player.start()
        _ = listener.awaitState(.playing)
        let before = listener.server.time
        #expect(listener.eventually { listener.server.time > before + 3 })
        let half = listener.renderer.heard.withLock { $0.loudest }
        listener.player.volume = 1
        #expect(listener.eventually { listener.server.time > before + 6 })
        let whole = listener.renderer.heard.withLock { $0.loudest }
        #expect(abs(whole / half - 2) < 0.1)
        #expect((listener.player.status.peaks.max() ?? 0) > 0.05)
        #expect(abs(listener.player.status.bitrate - 128_000) < 2000)
        listener.player.stop()
    }
}
