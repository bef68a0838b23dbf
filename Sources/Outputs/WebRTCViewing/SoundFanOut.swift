import VideoCapturing
import WebRTCPublisher

/// Hands the packets of the sound to all viewers. Safe to use from any thread.
///
/// A viewer whose offer takes no sound leaves the packets out.
final class SoundFanOut: PacketSink {
    private struct State {
        var isOpen = false
        var viewers: [Viewer] = []
        var channelCount = 2
    }

    /// The sound as it is described to viewers.
    var track: TrackDescription {
        TrackDescription(
            id: SoundFanOut.trackID, codec: .opus,
            media: .audio(.init(sampleRate: 48_000, channelCount: state.withLock { $0.channelCount })))
    }

    private static let trackID: TrackID = 1
    /// What sound takes of the bandwidth, in bits per second: the default of Opus in stereo.
    static let bitrate = 128_000

    private let state = Locked(State())

    func open() { state.withLock { $0.isOpen = true } }

    /// Whether there is sound.
    var isOpen: Bool { state.withLock { $0.isOpen } }

    func setViewers(_ viewers: [Viewer]) { state.withLock { $0.viewers = viewers } }

    func begin(_ tracks: [TrackDescription]) throws {
        guard tracks.count == 1, tracks[0].codec == .opus, case .audio(let audio) = tracks[0].media else {
            throw CaptureError(
                .formatUnsupported, operation: "show sound to viewers",
                message: "Browsers are sent one track of Opus, and this is "
                    + "\(tracks.map(\.codec.rawValue).joined(separator: ", ")); use the Opus encoder.")
        }
        state.withLock { $0.channelCount = audio.channelCount }
    }

    func write(_ packet: MediaPacket) throws {
        var packet = packet
        packet.track = SoundFanOut.trackID
        for viewer in state.withLock({ $0.viewers }) { viewer.session.write(packet) }
    }

    func finish() throws { state.withLock { $0.isOpen = false } }
}
