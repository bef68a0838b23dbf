import MediaPublishing
import Testing
import VideoCapturing

/// An output that counts packets, for a test that must not run ahead of the encoders. It shares those of a file that was
/// added before it, which has got each packet by then.
final class PacketCounter: MediaOutput, PacketSink {
    private struct State {
        var soundTrack: TrackID?
        var pictures = 0
        var sound = 0
    }

    private let state = Locked(State())

    var name: String { "counter" }
    var kind: String { "counter" }
    var feed: OutputContext.Feed { .packets(.init(codecs: [.vp8])) }
    var audioFeed: OutputContext.AudioFeed? { .packets([.opus]) }
    var outputStatistics: OutputStatistics { OutputStatistics(bytes: 0) }
    func open(_ context: OutputContext) -> OutputContext.Destination { .sink(self) }

    func begin(_ tracks: [TrackDescription]) {
        state.withLock { $0.soundTrack = tracks.first { $0.codec == .opus }?.id }
    }
    func write(_ packet: MediaPacket) {
        state.withLock { state in
            if packet.track == state.soundTrack { state.sound += 1 } else { state.pictures += 1 }
        }
        state.wakeAll()
    }
    func finish() {}

    /// Blocks until these numbers of packets have come.
    func wait(pictures: Int, sound: Int) throws {
        try #require(
            state.wait(until: RunLog.limit) { $0.pictures >= pictures && $0.sound >= sound ? () : nil } != nil,
            "\(state.withLock { $0 }), and not \(pictures) and \(sound)")
    }
}
