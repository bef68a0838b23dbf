public import MJPEGServer
public import MediaPublishing
import RTP
public import VideoCapturing
import WebRTCPublisher
import WebRTCTransport

/// Shows the capture of an `MJPEGServer` to browsers by WebRTC, at the server's own port (`/whep`): with a fraction of the
/// bandwidth of MJPEG, for as many viewers as the machine can serve: some hundreds.
///
/// ```swift
/// let publisher = MediaPublisher(video: capture, settings: .init(encoders: [.vp8]))
/// try publisher.add(MJPEGServer(configuration: configuration, viewing: WebRTCViewing()))
/// ```
/// **Encoding.** It is an output of the server's publisher, whose settings it has. All viewers share one encoder, which works
/// only while there are any. A viewer whose network is much slower than that of the others gets fewer frames, where the encoder
/// makes temporal layers, as VP8 does; otherwise the bitrate is what the slowest can take, and a server for many viewers
/// (Janus) is better where their networks differ. Key frames that viewers ask for are made at most three times per second. Of a
/// publisher of packets whose pictures browsers take, viewers get these as they come.
///
/// **Sound.** Where the publisher has sound, viewers that offer to receive it get it as Opus.
///
/// **Connections.** A viewer is offered the one address of this machine at which it has reached the server, and no other. At
/// loopback addresses, with which browsers make no connections, viewers are refused, and the page shows MJPEG.
///
/// Safe to use from any thread.
public final class WebRTCViewing: LiveViewing, MediaOutput {
    /// Limits of viewing.
    public struct Configuration: Sendable, Hashable {
        /// The maximum number of viewers; others are answered with 503, and see MJPEG. A quarter of them, and at least four, may
        /// come from one address; programs on the same machine are exempt. Nil, the default, for as many as half of the
        /// processors, an eighth of the memory and half of the open files serve, at the bitrate of the encoder.
        public var maximumViewers: Int?
        /// The maximum bitrate of the encoder, in bits per second; nil for that of the publisher's settings.
        public var bitrate: Int?
        /// Whether viewers get the sound, where there is some.
        public var includesSound = true

        /// The defaults.
        public init() {}
    }

    private struct State {
        /// Nil while it is not open.
        var context: OutputContext?
        var viewers: [String: Viewer] = [:]
        /// The video as the encoder describes it; nil before the first packet.
        var video: TrackDescription?
        var places: ViewerPlaces
        /// Of viewers that have left.
        var past = LiveViewingStatistics()

        mutating func remove(_ identifier: String) -> Viewer? {
            places.leave(identifier)
            return viewers.removeValue(forKey: identifier)
        }
    }

    /// The limits that it was made with.
    public let configuration: WebRTCViewing.Configuration
    private let state: Locked<State>

    /// - Parameter configuration: the limits.
    public init(configuration: WebRTCViewing.Configuration = WebRTCViewing.Configuration()) {
        self.configuration = configuration
        state = Locked(State(places: ViewerPlaces(maximum: WebRTCViewing.maximum(of: configuration, nil))))
    }

    /// The limit of viewers where the encoder has a bitrate.
    private static func maximum(of configuration: Configuration, _ bitrate: Int?) -> Int {
        configuration.maximumViewers
            ?? ViewerCost(bitrate: bitrate ?? configuration.bitrate ?? 2_500_000).viewers(
                processors: Machine.processorCount, memory: Machine.memory, descriptors: DescriptorUsage().free)
    }

    deinit { close(at: nil) }

    // MARK: The output

    /// `whep`.
    public var name: String { "whep" }

    /// `webrtc`.
    public var kind: String { "webrtc" }

    /// VP8 or H.264 for viewers that come and go.
    public var feed: OutputContext.Feed {
        var feed = OutputContext.Feed.PacketFeed.webRTC
        feed.servesReceivers = true
        feed.maximumBitrate = configuration.bitrate
        return .packets(feed)
    }

    /// Opus, unless the configuration leaves sound out.
    public var audioFeed: OutputContext.AudioFeed? { configuration.includesSound ? .packets([.opus]) : nil }

    /// Nil: without sound is how it was configured.
    public var silenceReason: String? { nil }

    /// True: it serves the viewers of its server.
    public var isAuxiliary: Bool { true }

    /// Accepts viewers.
    public func open(_ context: OutputContext) -> OutputContext.Destination {
        let maximum = WebRTCViewing.maximum(of: configuration, context.encoder?.bitrate)
        state.withLock { state in
            state.context = context
            state.places.maximum = maximum
        }
        return .receivers
    }

    /// Ends all sessions, and accepts none until it is opened again.
    public func close(at end: MediaTime?) {
        let viewers = state.withLock { state in
            state.context = nil
            return Array(state.viewers.values)
        }
        for viewer in viewers { viewer.session.close() }
    }

    /// The server says what its viewers are sent.
    public var outputStatistics: OutputStatistics {
        let report = statistics
        var result = OutputStatistics(bytes: Int64(clamping: report.bytesSent))
        result.details = [("viewers", .count(report.viewers)), ("framesSent", .count(report.framesSent))]
        return result
    }

    // MARK: Viewers

    public var viewerCount: Int { state.withLock { $0.viewers.count } }

    public var statistics: LiveViewingStatistics {
        let (viewers, connected, past) = state.withLock { ($0.viewers, $0.places.connectedCount, $0.past) }
        var result = viewers.values.reduce(past) { $0.adding($1.session.statistics) }
        result.viewers = connected
        return result
    }

    public var maximumViewerCount: Int? {
        // Before it is open the limit of open files may still be raised.
        state.withLock { $0.context == nil ? WebRTCViewing.maximum(of: configuration, nil) : $0.places.maximum }
    }

    public var descriptorCount: Int { (maximumViewerCount ?? 0) * ViewerCost.descriptors }

    public var hasSound: Bool {
        guard let context = state.withLock({ $0.context }) else { return false }
        return context.audioFormat != nil || context.passedTracks.contains { !$0.isVideo }
    }

    // MARK: Sessions

    public func answer(_ offer: String, localAddress: String, client: String?) -> LiveViewingAnswer {
        let address = localAddress.hasPrefix("::ffff:") ? String(localAddress.dropFirst(7)) : localAddress
        guard !address.isEmpty, address != "::1", !address.hasPrefix("127.") else {
            return .refused("Browsers make no WebRTC connections with this machine's loopback address.")
        }
        let identifier = Viewer.randomIdentifier()
        let clock = MonotonicClock()
        let (context, admission, displaced) = state.withLock {
            state -> (OutputContext?, ViewerPlaces.Admission?, Viewer?) in
            guard let context = state.context else { return (nil, nil, nil) }
            let admission = state.places.enter(identifier, from: client, at: clock.now)
            guard case .admitted(let name?) = admission else { return (context, admission, nil) }
            return (context, admission, state.viewers.removeValue(forKey: name))
        }
        if let displaced { retire(displaced) }
        guard let context, let admission else { return .notShown }
        switch admission {
        case .admitted: break
        case .refused(let limit, let isOfAddress):
            return .busy(
                "\(limit) viewers\(isOfAddress ? " from your address" : "") are shown this by WebRTC, which is the limit; the "
                    + "MJPEG stream is at /stream.")
        }
        do {
            let (viewer, sdp) = try makeViewer(offer, identifier, address: address, context)
            let isOpen = state.withLock { state in
                guard state.context != nil else { return false }
                state.places.didAnswer(identifier, at: clock.now)
                state.viewers[identifier] = viewer
                return true
            }
            guard isOpen, context.addReceiver(viewer, identifier) else {
                _ = end(identifier)
                viewer.session.close()
                return .notShown
            }
            // One that has failed meanwhile was not there yet for its handler.
            if viewer.hasEnded { _ = end(identifier) }
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

    private func makeViewer(
        _ offer: String, _ identifier: String, address: String, _ context: OutputContext
    ) throws -> (Viewer, sdp: String) {
        let tracks = tracks(context)
        var peer = PeerConnection.Configuration(isControlling: false, localAddresses: [address])
        peer.connectTimeout = .seconds(15)
        var configuration = WebRTCSession.Configuration(
            tracks, peer: peer, isPassedOn: !context.passedTracks.isEmpty)
        configuration.maximumBitrate = context.encoder?.bitrate ?? configuration.maximumBitrate
        configuration.audioBitrate = WebRTCViewing.soundBitrate
        let feedback = Locked<PacketFeedback?>(nil)
        let session = try WebRTCSession(
            configuration,
            WebRTCSession.Handlers(
                stateChanged: { [weak self] state in self?.stateChanged(of: identifier, to: state) },
                keyFrameNeeded: { feedback.withLock { $0 }?.requestKeyFrame() },
                bitrateChanged: { bitrate in feedback.withLock { $0 }?.requestBitrate(bitrate) }))
        do {
            let sdp = try session.answer(offer: offer)
            let viewer = Viewer(identifier, session, feedback) { [weak self] video in
                self?.state.withLock { $0.video = video }
            }
            return (viewer, sdp)
        } catch {
            session.close()
            throw error
        }
    }

    /// Those of a session: one of video, and one of sound where there is some.
    private func tracks(_ context: OutputContext) -> [TrackDescription] {
        guard context.passedTracks.isEmpty else { return context.passedTracks }
        let video = TrackDescription(
            id: 0, codec: context.encoder?.codec ?? .vp8,
            media: .video(TrackDescription.Video(width: 0, height: 0)))
        let sound = context.audioFormat.map { format in
            TrackDescription(
                id: 1, codec: .opus, media: .audio(.init(sampleRate: 48_000, channelCount: format.channels.count)))
        }
        return [state.withLock { $0.video } ?? video, sound].compactMap { $0 }
    }

    /// What sound takes of the bandwidth, in bits per second: the default of Opus in stereo.
    private static let soundBitrate = 128_000

    private func stateChanged(of identifier: String, to state: WebRTCSession.State) {
        switch state {
        case .connecting, .interrupted: break
        case .live: self.state.withLock { $0.places.didConnect(identifier) }
        case .closed: _ = end(identifier)
        }
    }

    public func end(_ identifier: String) -> Bool {
        guard let viewer = state.withLock({ $0.remove(identifier) }) else { return false }
        retire(viewer)
        return true
    }

    /// Ends the session of a viewer that was removed, and counts what it was sent.
    private func retire(_ viewer: Viewer) {
        state.withLock { $0.context }?.removeReceiver(viewer.identifier)
        let last = viewer.session.statistics
        state.withLock { $0.past = $0.past.adding(last) }
        viewer.session.close()
    }
}

extension LiveViewingAnswer {
    fileprivate static let notShown = LiveViewingAnswer.busy(
        "Nothing is shown by WebRTC now; the MJPEG stream is at /stream.")
}

extension LiveViewingStatistics {
    fileprivate func adding(_ session: WebRTCOutput.Statistics) -> Self {
        var sum = self
        sum.framesSent += session.framesSent
        sum.bytesSent += session.bytesSent
        return sum
    }
}

/// A viewer: takes the packets for its session, and passes on what that asks for. Safe to use from any thread.
private final class Viewer: FeedbackSink {
    let identifier: String
    let session: WebRTCSession
    private let feedback: Locked<PacketFeedback?>
    private let onBegin: @Sendable (TrackDescription) -> Void

    init(
        _ identifier: String, _ session: WebRTCSession, _ feedback: Locked<PacketFeedback?>,
        onBegin: @escaping @Sendable (TrackDescription) -> Void
    ) {
        self.identifier = identifier
        self.session = session
        self.feedback = feedback
        self.onBegin = onBegin
    }

    var hasEnded: Bool {
        if case .closed = session.state { true } else { false }
    }

    func connectFeedback(_ feedback: PacketFeedback?) { self.feedback.withLock { $0 = feedback } }

    func begin(_ tracks: [TrackDescription]) {
        if let video = tracks.first(where: \.isVideo) { onBegin(video) }
    }

    func write(_ packet: MediaPacket) { session.write(packet) }

    /// The encoder, or the run, has ended.
    func finish() { session.close() }

    /// 128 random bits, so that only the client that got it can end the session.
    static func randomIdentifier() -> String {
        String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
    }
}

extension OutputEntry {
    /// The server of `serve://[ADDRESS:]PORT`, whose page shows WebRTC where it can, and MJPEG elsewhere.
    public static let liveServer: OutputEntry = {
        let configuration = WebRTCViewing.Configuration()
        return .mjpegServer(
            options: [
                OptionDescription(
                    "serve-webrtc", .text("N"), "maximum number of WebRTC viewers; others see MJPEG",
                    default: "what the machine can serve"),
                .flag("serve-silent", "shows the pictures without the sound"),
                OptionDescription(
                    "serve-webrtc-bitrate", .text("BITS"), "maximum bitrate of WebRTC video: 800k, 1.5M",
                    default: "that of --bitrate"),
            ],
            viewing: { request throws(OptionError) in
                var configuration = configuration
                if let count = try request.options.count("serve-webrtc", in: 0...10_000) {
                    guard count > 0 else { return nil }
                    configuration.maximumViewers = count
                }
                configuration.includesSound = !request.options.contains("serve-silent")
                if let bitrate = try request.options.bitrate("serve-webrtc-bitrate") { configuration.bitrate = bitrate }
                return WebRTCViewing(configuration: configuration)
            })
    }()
}
