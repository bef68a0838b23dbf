public import MJPEGServer
public import MediaPublishing
import RTP
public import VideoCapturing
import WebRTCPublisher
import WebRTCTransport

/// Shows the frames of an `MJPEGServer` to browsers by WebRTC, at the server's own port (`/whep`): with a fraction of the
/// bandwidth of MJPEG, for some tens of viewers.
///
/// ```swift
/// let viewing = WebRTCViewing(encoder: .vp8)
/// let server = MJPEGServer(configuration: configuration, viewing: viewing)
/// ```
/// **Encoding.** All viewers share one encoder, which works only while there are any. A viewer whose network is much slower than
/// that of the others gets fewer frames, where the encoder makes temporal layers, as VP8 does; otherwise the bitrate is what the
/// slowest can take, and a server for many viewers (Janus) is better where their networks differ. Key frames that viewers ask
/// for are made at most three times per second.
///
/// **Sound.** Where the publisher has sound, viewers that offer to receive it get it as Opus.
///
/// **Connections.** A viewer is offered the one address of this machine at which it has reached the server, and no other. At
/// loopback addresses, with which browsers make no connections, viewers are refused, and the page shows MJPEG.
///
/// Safe to use from any thread.
public final class WebRTCViewing: LiveViewing {
    /// Limits of viewing.
    public struct Configuration: Sendable, Hashable {
        /// The maximum number of viewers; any more are answered with 503, and see MJPEG.
        public var maximumViewers = 20
        /// The maximum bitrate of the encoder, in bits per second.
        public var bitrate = 2_500_000
        /// Whether viewers get the sound, where there is some.
        public var includesSound = true

        /// The defaults.
        public init() {}
    }

    private struct State {
        var isOpen = false
        var viewers: [String: Viewer] = [:]
        /// Offers that are being answered.
        var pending = 0
        var onDemand: (@Sendable () -> Void)?
    }

    /// The limits that it was made with.
    public let configuration: WebRTCViewing.Configuration
    private let state = Locked(State())
    /// The viewers as they were handed on; held meanwhile.
    private let shared = Locked<[Viewer]>([])
    private let encoder: SharedEncoder
    private let sound = SoundFanOut()

    /// - Parameters:
    ///   - encoder: of VP8 or H.264; made when the first viewer comes.
    ///   - configuration: the limits.
    public init(
        encoder: EncoderEntry, configuration: WebRTCViewing.Configuration = WebRTCViewing.Configuration()
    ) {
        self.configuration = configuration
        self.encoder = SharedEncoder(encoder, bitrate: configuration.bitrate)
    }

    deinit { stop() }

    // MARK: Frames

    public var viewerCount: Int { state.withLock { $0.viewers.count } }

    public func consumeFrame(_ frame: VideoFrame) { encoder.consume(frame) }

    public func setDemandHandler(_ handler: (@Sendable () -> Void)?) { state.withLock { $0.onDemand = handler } }

    // MARK: Sound

    public var soundCodecs: [Codec] { configuration.includesSound ? [.opus] : [] }

    public func openSound() -> (any PacketSink)? {
        guard configuration.includesSound else { return nil }
        sound.open()
        return sound
    }

    public var hasSound: Bool { sound.isOpen }

    private func reportDemand() { state.withLock { $0.onDemand }?() }

    // MARK: Sessions

    public func start() { state.withLock { $0.isOpen = true } }

    public func stop() {
        let viewers = state.withLock { state in
            state.isOpen = false
            defer { state.viewers = [:] }
            return Array(state.viewers.values)
        }
        encoder.setViewers([])
        sound.setViewers([])
        for viewer in viewers { viewer.session.close() }
        encoder.stop()
    }

    public func answer(_ offer: String, localAddress: String) -> LiveViewingAnswer {
        let address = localAddress.hasPrefix("::ffff:") ? String(localAddress.dropFirst(7)) : localAddress
        guard !address.isEmpty, address != "::1", !address.hasPrefix("127.") else {
            return .refused("Browsers make no WebRTC connections with this machine's loopback address.")
        }
        let isAdmitted = state.withLock { state in
            guard state.isOpen, state.viewers.count + state.pending < configuration.maximumViewers else { return false }
            state.pending += 1
            return true
        }
        guard isAdmitted else {
            return .busy(
                "\(configuration.maximumViewers) viewers are shown this by WebRTC, which is the limit; the MJPEG stream is "
                    + "at /stream.")
        }
        do {
            let (viewer, sdp) = try makeViewer(offer, address: address)
            let isOpen = state.withLock { state in
                state.pending -= 1
                guard state.isOpen else { return false }
                // One that has failed meanwhile is removed by its handler, which comes before or after this.
                if !viewer.hasEnded { state.viewers[viewer.identifier] = viewer }
                return true
            }
            guard isOpen else {
                viewer.session.close()
                return .busy("The server is being stopped.")
            }
            share()
            return .accepted(identifier: viewer.identifier, sdp: sdp)
        } catch {
            state.withLock { $0.pending -= 1 }
            return .refused("The offer cannot be used: \(error)")
        }
    }

    private func makeViewer(_ offer: String, address: String) throws -> (Viewer, sdp: String) {
        let encoder = self.encoder
        try encoder.start()
        let identifier = Viewer.randomIdentifier()
        var tracks = [
            TrackDescription(id: 0, codec: encoder.codec, media: .video(TrackDescription.Video(width: 0, height: 0)))
        ]
        if hasSound { tracks.append(SoundFanOut.track) }
        var peer = PeerConnection.Configuration(isControlling: false, localAddresses: [address])
        peer.connectTimeout = .seconds(15)
        var configuration = WebRTCSession.Configuration(tracks, peer: peer)
        configuration.maximumBitrate = self.configuration.bitrate
        configuration.audioBitrate = SoundFanOut.bitrate
        let session = try WebRTCSession(
            configuration,
            WebRTCSession.Handlers(
                stateChanged: { [weak self] state in self?.stateChanged(of: identifier, to: state) },
                keyFrameNeeded: { [weak self] in
                    encoder.requestKeyFrame()
                    self?.reportDemand()
                },
                bitrateChanged: { bitrate in encoder.setBitrate(bitrate, of: identifier) }))
        do {
            let sdp = try session.answer(offer: offer)
            return (Viewer(identifier: identifier, session: session), sdp)
        } catch {
            session.close()
            throw error
        }
    }

    private func stateChanged(of identifier: String, to state: WebRTCSession.State) {
        switch state {
        case .connecting, .interrupted: break
        case .live: share()
        case .closed:
            self.state.withLock { _ = $0.viewers.removeValue(forKey: identifier) }
            share()
        }
    }

    public func end(_ identifier: String) -> Bool {
        guard let viewer = state.withLock({ $0.viewers.removeValue(forKey: identifier) }) else { return false }
        share()
        viewer.session.close()
        return true
    }

    /// The encoder works for all that there are.
    private func share() {
        // Of two threads the later one has the newer list.
        shared.withLock { viewers in
            viewers = state.withLock { Array($0.viewers.values) }
            encoder.setViewers(viewers)
            sound.setViewers(viewers)
        }
        reportDemand()
    }
}

/// A viewer and its session.
struct Viewer: Sendable {
    let identifier: String
    let session: WebRTCSession

    var hasEnded: Bool {
        if case .closed = session.state { true } else { false }
    }

    /// Of 128 bits: who has not been told it cannot end the session.
    static func randomIdentifier() -> String {
        String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
    }
}

extension OutputEntry {
    /// The server of `serve://[ADDRESS:]PORT`, whose page shows WebRTC where it can, and MJPEG elsewhere.
    ///
    /// - Parameter encoder: of VP8 or H.264, for WebRTC.
    public static func liveServer(encoder: EncoderEntry) -> OutputEntry {
        let configuration = WebRTCViewing.Configuration()
        return .mjpegServer(
            options: [
                OptionDescription(
                    "serve-webrtc", .text("N"), "viewers that are shown WebRTC, 0 to 100; further ones see MJPEG",
                    default: "\(configuration.maximumViewers)"),
                .flag("serve-silent", "shows the pictures without the sound"),
                OptionDescription(
                    "serve-webrtc-bitrate", .text("BITS"), "at most, of the picture by WebRTC: 800k, 1.5M",
                    default: "\(Double(configuration.bitrate) / 1e6)M"),
            ],
            viewing: { request throws(OptionError) in
                var configuration = configuration
                if let count = try request.options.count("serve-webrtc", in: 0...100) {
                    guard count > 0 else { return nil }
                    configuration.maximumViewers = count
                }
                configuration.includesSound = !request.options.contains("serve-silent")
                if let bitrate = try request.options.bitrate("serve-webrtc-bitrate") { configuration.bitrate = bitrate }
                return WebRTCViewing(encoder: encoder, configuration: configuration)
            })
    }
}
