import VideoCapturing
import WebRTCPublisher

/// Hands the packets of the sound to all viewers. Safe to use from any thread.
///
/// A viewer whose offer takes no sound leaves the packets out.
final class SoundFanOut: PacketSink {
    private struct State {
        var isOpen = false
        var viewers: [Viewer] = []
    }

    /// The sound as it is described to viewers: Opus is always offered in stereo (RFC 7587, 7).
    static let track = TrackDescription(
        id: 1, codec: .opus, media: .audio(TrackDescription.Audio(sampleRate: 48_000, channelCount: 2)))
    /// What sound takes of the bandwidth, in bits per second: the default of Opus in stereo.
    static let bitrate = 128_000

    private let state = Locked(State())

    func open() { state.withLock { $0.isOpen = true } }

    /// Whether there is sound.
    var isOpen: Bool { state.withLock { $0.isOpen } }

    func setViewers(_ viewers: [Viewer]) { state.withLock { $0.viewers = viewers } }

    func begin(_ tracks: [TrackDescription]) throws {
        guard tracks.count == 1, tracks[0].codec == .opus else {
            throw CaptureError(
                .formatUnsupported, operation: "show sound to viewers",
                message: "Browsers are sent one track of Opus, and this is "
                    + "\(tracks.map(\.codec.rawValue).joined(separator: ", ")); use the Opus encoder.")
        }
    }

    func write(_ packet: MediaPacket) throws {
        var packet = packet
        packet.track = SoundFanOut.track.id
        for viewer in state.withLock({ $0.viewers }) { viewer.session.write(packet) }
    }

    func finish() throws { state.withLock { $0.isOpen = false } }
}
