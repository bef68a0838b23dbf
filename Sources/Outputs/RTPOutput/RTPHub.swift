import RTP
import StreamTransport
import VideoCapturing

/// What the thread that writes, the one that reports, and callers share of an output.
final class RTPHub: Sendable {
    /// One stream and its sockets.
    struct Channel {
        let track: TrackID
        let sender: RTPSender
        let sockets: Sockets
    }

    /// The sockets of a stream; the same twice where RTCP shares the port.
    struct Sockets {
        let media: DatagramSocket
        let reports: DatagramSocket
    }

    enum Phase: Hashable {
        case idle, open, finished
    }

    struct State {
        var phase = Phase.idle
        var channels: [Channel] = []
        var sockets: (video: Sockets, audio: Sockets)?
        var feedback: PacketFeedback?
        var limiter: KeyFrameLimiter
        var parser = RTCPParser()
        /// The estimate of a receiver, and until when it counts.
        var estimate: (bitrate: Int, until: MediaTime)?
        var nextReport = MediaTime.zero
        var packetsUnsent: UInt64 = 0
        var reportsSent: UInt64 = 0
        var keyFramesAsked: UInt64 = 0
        var isRefused = false
        var failure: CaptureError?
        var thread: CaptureThread?
        var runs = DatagramRuns()
        /// Of the packets that leave together; in use only while the lock is held.
        let batch: DatagramBatch
    }

    let address: StreamAddress
    let configuration: RTPOutput.Configuration
    let state: Locked<State>
    /// Raised at the end.
    let wake = WaitEnd()
    /// The same for all streams: by it receivers know what belongs together.
    let cname = RTPSender.Configuration.randomName()
    let sources = (video: UInt32.random(in: 1 ... .max), audio: UInt32.random(in: 1 ... .max))
    let session: Locked<PlainSession>
    private let clock = NTPClock()

    /// The time between two reports (RFC 3550, 6.2 allows less for few members; a second is what receivers expect).
    static let reportInterval = Duration.seconds(1)

    init(_ address: StreamAddress, _ configuration: RTPOutput.Configuration) {
        self.address = address
        self.configuration = configuration
        let batch = DatagramBatch(size: max(configuration.maximumPacketSize, RTPSender.maximumReportSize))
        state = Locked(State(limiter: KeyFrameLimiter(interval: configuration.keyFrameInterval), batch: batch))
        session = Locked(PlainSession(host: address.host, streams: []))
        session.withLock { $0.streams = [stream(RTPFormat(configuration.codec) ?? .h264)] }
    }

    /// The ports that are sent to.
    var ports: (video: Int, reports: Int, audio: Int) {
        (
            address.port, configuration.reportPort ?? address.port + 1,
            configuration.audioPort ?? (address.port + 2)
        )
    }

    // MARK: Life

    /// - Parameters:
    ///   - isRepeatable: whether it may be open already.
    ///   - hasAudio: whether sound will come, for the description before the first packet.
    func open(isRepeatable: Bool, hasAudio: Bool = false) throws(CaptureError) {
        let phase = state.withLock { state in
            defer { if state.phase == .idle { state.phase = .open } }
            return state.phase
        }
        guard phase == .idle else {
            if isRepeatable, phase == .open { return }
            throw CaptureError(
                .invalidState, operation: "open the output", subject: address.displayName,
                message: "It is open already, or has finished; make another one.")
        }
        do throws(CaptureError) {
            let deadline = MonotonicClock().now.advanced(by: .seconds(10))
            let found = try HostResolver.resolve(address, until: deadline, interruptedBy: wake.descriptor)
            let peer = found[0]
            let base = configuration.localPort
            let ports = ports
            let sockets = (
                video: try openSockets(peer, ports.video, ports.reports, base: base),
                audio: try openSockets(peer, ports.audio, ports.audio + 1, base: base.map { $0 + 2 })
            )
            session.withLock {
                $0.host = peer.host
                $0.timeToLive = peer.isMulticast ? configuration.timeToLive : nil
                if hasAudio { $0.streams.append(stream(.opus)) }
            }
            if let file = configuration.descriptionFile { try DescriptionFile.write(description, to: file) }
            state.withLock { $0.sockets = sockets }
            let thread = try CaptureThread(name: "rtp reports") { [self] in ReportLoop(self).run() }
            state.withLock { $0.thread = thread }
        } catch {
            state.withLock { state in
                if state.phase == .open { state.phase = .idle }
                state.sockets = nil
            }
            throw error
        }
    }

    private func openSockets(
        _ peer: SocketAddress, _ port: Int, _ reportPort: Int, base: Int?
    ) throws(CaptureError) -> Sockets {
        func open(_ port: Int, _ local: Int?, isReport: Bool) throws(CaptureError) -> DatagramSocket {
            var peer = peer
            peer.port = port
            // Receivers send reports from any port of theirs.
            return try DatagramSocket(
                to: peer,
                from: .init(host: configuration.localAddress, port: local ?? 0, hops: configuration.timeToLive),
                receivesFromAnyPort: isReport)
        }
        let media = try open(port, base, isReport: false)
        guard port != reportPort else { return Sockets(media: media, reports: media) }
        return Sockets(media: media, reports: try open(reportPort, base.map { $0 + 1 }, isReport: true))
    }

    /// Ends the thread, once it has said goodbye.
    func stop() {
        let thread = state.withLock { state in
            state.phase = .finished
            state.feedback = nil
            return state.thread.take()
        }
        wake.raise()
        thread?.join()
        state.withLock { $0.sockets = nil }
    }

    func connect(_ feedback: PacketFeedback?) { state.withLock { $0.feedback = feedback } }

    // MARK: Packets

    func begin(_ tracks: [TrackDescription]) throws(CaptureError) {
        func refusal(_ message: String) -> CaptureError {
            CaptureError(
                .formatUnsupported, operation: "begin the stream", subject: address.displayName, message: message)
        }
        let sockets = state.withLock { $0.sockets }
        guard let sockets else { return }
        var channels: [Channel] = []
        for track in tracks {
            guard let format = RTPFormat(track.codec), format != .opus || track.isAudio else {
                throw refusal("RTP carries VP8, H.264 and Opus here, and this is \(track.codec).")
            }
            guard format == .opus || configuration.codec == track.codec else {
                throw refusal(
                    "The session is described with \(configuration.codec), and this is \(track.codec); add "
                        + "codec=\(track.codec) to the address.")
            }
            guard !channels.contains(where: { ($0.sender.configuration.format == .opus) == (format == .opus) }) else {
                throw refusal("One track of video and one of sound are sent, and these are \(tracks.count) tracks.")
            }
            let isAudio = format == .opus
            var sending = RTPSender.Configuration(
                format: format,
                payloadType: UInt8(isAudio ? configuration.audioPayloadType : configuration.payloadType))
            sending.ssrc = isAudio ? sources.audio : sources.video
            sending.cname = cname
            sending.maximumPacketSize = configuration.maximumPacketSize
            sending.resending = isAudio ? .none : .plain
            let feedback = state.withLock { $0.feedback }
            if let bitrate = feedback?.maximumBitrate { sending.maximumBitrate = bitrate }
            channels.append(
                Channel(
                    track: track.id, sender: RTPSender(sending, clock: clock),
                    sockets: isAudio ? sockets.audio : sockets.video))
        }
        guard !channels.isEmpty else { throw refusal("There is no track to send.") }
        describe(tracks, channels)
        if let file = configuration.descriptionFile { try DescriptionFile.write(description, to: file) }
        state.withLock { $0.channels = channels }
    }

    func write(_ packet: MediaPacket) throws(CaptureError) {
        guard packet.data.count > 0 else { return }
        try state.withLock { (state) throws(CaptureError) in
            guard state.phase == .open else { return }
            guard let channel = state.channels.first(where: { $0.track == packet.track }) else {
                throw CaptureError(
                    .formatUnsupported, operation: "write a packet", subject: address.displayName,
                    message: "A packet belongs to track \(packet.track.rawValue), with which the stream was not begun.")
            }
            let now = MonotonicClock().now
            if packet.isKeyFrame, channel.sender.configuration.format != .opus { state.limiter.didSendKeyFrame() }
            let isFirst = !channel.sender.hasSent
            channel.sender.enqueue(packet, at: now) { add($0, of: channel, at: now, &state) }
            sendBatch(of: channel, &state)
            // The first report follows the first packet, since what is played together depends on it.
            if isFirst {
                state.nextReport = .zero
                wake.raise()
            }
            if let failure = state.failure { throw failure }
        }
    }

    /// Adds a packet to those that leave together.
    func add(_ packet: OutgoingPacket, of channel: Channel, at now: MediaTime, _ state: inout State) {
        state.batch.add { channel.sender.write(packet, into: $0, at: now)?.bytes.count ?? 0 }
        if state.batch.isFull { sendBatch(of: channel, &state) }
    }

    /// Sends the packets that were added.
    func sendBatch(of channel: Channel, _ state: inout State) { sendBatch(by: channel.sockets.media, &state) }

    /// Sends a report; the last one, a goodbye, counts as none.
    func sendReport(
        of channel: Channel, isLast: Bool = false, _ state: inout State, _ write: (UnsafeMutableRawBufferPointer) -> Int
    ) {
        state.batch.add(write)
        guard state.batch.count > 0 else { return }
        if !isLast {
            state.reportsSent += 1
            // A refusal counts until a report is not refused.
            state.isRefused = false
        }
        sendBatch(by: channel.sockets.reports, &state)
    }

    /// What the system does not take is lost, unless no later packet will be taken either.
    private func sendBatch(by socket: DatagramSocket, _ state: inout State) {
        guard state.batch.count > 0 else { return }
        let sent = socket.send(state.batch, &state.runs)
        state.packetsUnsent += UInt64(state.batch.count - sent.count)
        state.batch.removeAll()
        if sent.isRefused { state.isRefused = true }
        guard let (code, bytes) = sent.failure else { return }
        switch code {
        case RTPHub.tooLarge:
            state.failure = CaptureError(
                .invalidConfiguration, operation: "send a packet", subject: address.displayName, errno: code,
                message: "The network takes no packets of \(bytes) bytes; use a lower mtu, such as 1200.")
        case RTPHub.forbidden, RTPHub.noAccess:
            state.failure = CaptureError(
                socket: code, operation: "send a packet", StreamAddress(host: address.host, port: address.port))
        default: break
        }
    }
}
