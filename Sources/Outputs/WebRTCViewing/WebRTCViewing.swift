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
        /// The maximum number of viewers; others are answered with 503, and see MJPEG. A quarter of them, and at least four, may
        /// come from one address; programs on the same machine are exempt.
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
        var places: ViewerPlaces
        /// Of viewers that have left.
        var past = LiveViewingStatistics()
        var onDemand: (@Sendable () -> Void)?

        mutating func remove(_ identifier: String) -> Viewer? {
            places.leave(identifier)
            return viewers.removeValue(forKey: identifier)
        }
    }

    /// The limits that it was made with.
    public let configuration: WebRTCViewing.Configuration
    private let state: Locked<State>
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
        state = Locked(State(places: ViewerPlaces(maximum: configuration.maximumViewers)))
        self.encoder = SharedEncoder(encoder, bitrate: configuration.bitrate)
    }

    deinit { stop() }

    // MARK: Frames

    public var viewerCount: Int { state.withLock { $0.viewers.count } }

    public var statistics: LiveViewingStatistics {
        let (viewers, connected, past) = state.withLock { ($0.viewers, $0.places.connectedCount, $0.past) }
        var result = viewers.values.reduce(past) { $0.adding($1.session.statistics) }
        result.viewers = connected
        return result
    }

    public var descriptorCount: Int { configuration.maximumViewers * WebRTCViewing.descriptorsPerViewer }

    /// The descriptors of a viewer: ICE's socket, and those of libnice and GLib.
    private static let descriptorsPerViewer = 3

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
            return Array(state.viewers.values)
        }
        encoder.setViewers([])
        sound.setViewers([])
        for viewer in viewers { viewer.session.close() }
        encoder.stop()
    }

    public func answer(_ offer: String, localAddress: String, client: String?) -> LiveViewingAnswer {
        let address = localAddress.hasPrefix("::ffff:") ? String(localAddress.dropFirst(7)) : localAddress
        guard !address.isEmpty, address != "::1", !address.hasPrefix("127.") else {
            return .refused("Browsers make no WebRTC connections with this machine's loopback address.")
        }
        let identifier = Viewer.randomIdentifier()
        let clock = MonotonicClock()
        let (admission, displaced) = state.withLock { state -> (ViewerPlaces.Admission?, Viewer?) in
            guard state.isOpen else { return (nil, nil) }
            let admission = state.places.enter(identifier, from: client, at: clock.now)
            guard case .admitted(let name?) = admission else { return (admission, nil) }
            return (admission, state.viewers.removeValue(forKey: name))
        }
        if let displaced { retire(displaced) }
        switch admission {
        case .admitted?: break
        case .refused(let limit, let isOfAddress)?:
            return .busy(
                "\(limit) viewers\(isOfAddress ? " from your address" : "") are shown this by WebRTC, which is the limit; the "
                    + "MJPEG stream is at /stream.")
        case nil: return .busy("The server is being stopped.")
        }
        do {
            let (viewer, sdp) = try makeViewer(offer, identifier, address: address)
            let isOpen = state.withLock { state in
                guard state.isOpen else { return false }
                state.places.didAnswer(identifier, at: clock.now)
                // One that has failed meanwhile is removed by its handler, which comes before or after this.
                if viewer.hasEnded { state.places.leave(identifier) } else { state.viewers[identifier] = viewer }
                return true
            }
            guard isOpen else {
                viewer.session.close()
                return .busy("The server is being stopped.")
            }
            share()
            return .accepted(identifier: identifier, sdp: sdp)
        } catch {
            state.withLock { $0.places.leave(identifier) }
            switch error {
            case let error as CaptureError where error.code == .system: return .busy(error.message)
            case let error as SDPError where error.code == .noCommonCodec: return .unacceptable(error.message)
            default: return .refused("The offer cannot be used: \(error)")
            }
        }
    }

    private func makeViewer(_ offer: String, _ identifier: String, address: String) throws -> (Viewer, sdp: String) {
        let encoder = self.encoder
        try encoder.start()
        var tracks = [
            TrackDescription(id: 0, codec: encoder.codec, media: .video(TrackDescription.Video(width: 0, height: 0)))
        ]
        if hasSound { tracks.append(sound.track) }
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
        case .live:
            self.state.withLock { $0.places.didConnect(identifier) }
            share()
        case .closed:
            if let viewer = self.state.withLock({ $0.remove(identifier) }) { retire(viewer) }
            share()
        }
    }

    /// Ends the session of a viewer that was removed, and counts what it was sent.
    private func retire(_ viewer: Viewer) {
        let last = viewer.session.statistics
        state.withLock { $0.past = $0.past.adding(last) }
        viewer.session.close()
    }

    public func end(_ identifier: String) -> Bool {
        guard let viewer = state.withLock({ $0.remove(identifier) }) else { return false }
        share()
        retire(viewer)
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

extension LiveViewingStatistics {
    fileprivate func adding(_ session: WebRTCOutput.Statistics) -> Self {
        var sum = self
        sum.framesSent += session.framesSent
        sum.bytesSent += session.bytesSent
        return sum
    }
}

/// A viewer and its session.
struct Viewer: Sendable {
    let identifier: String
    let session: WebRTCSession

    var hasEnded: Bool {
        if case .closed = session.state { true } else { false }
    }

    /// 128 random bits, so that only the client that got it can end the session.
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
                    "serve-webrtc", .text("N"), "maximum number of WebRTC viewers, 0 to 100; others see MJPEG",
                    default: "\(configuration.maximumViewers)"),
                .flag("serve-silent", "shows the pictures without the sound"),
                OptionDescription(
                    "serve-webrtc-bitrate", .text("BITS"), "maximum bitrate of WebRTC video: 800k, 1.5M",
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
