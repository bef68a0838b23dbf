import PacketCapturing
import StreamTransport
import VideoCapturing

/// A stream as a source of packets: connects or listens, reads, and connects again, by the rules of `ConnectionRecovery`.
/// Confined to the capture thread.
final class PacketStreamSource: PacketSource {
    private(set) var settings: PacketSettings

    private let url: String
    private let configuration: PacketStreamCapturer.Configuration
    private let status: Locked<PacketStreamStatus>

    // From open to close.
    /// Nil for an address that the library opens.
    private var address: StreamAddress?
    private var listener: StreamSocket?
    private var times = LiveTimes()

    // While connected, or connecting.
    private var connection: Connection?
    private var attempt: (number: Int, due: MediaTime)?
    /// Set when the sender has returned with other tracks.
    private var hasOtherTracks = false

    /// A connection, and the track of the settings for each track of its stream.
    private struct Connection {
        var reader: LivePacketReader
        var tracks: [TrackID: TrackID]
        var hasBegun = false
    }

    init(url: String, configuration: PacketStreamCapturer.Configuration, status: Locked<PacketStreamStatus>) {
        self.url = url
        self.configuration = configuration
        self.status = status
        settings = PacketSettings(sourceName: maskingSecrets(inURL: url))
    }

    // MARK: The source

    func open(_ context: PacketContext) throws {
        try configuration.validate()
        address = url.lowercased().hasPrefix("tcp:") ? try StreamAddress(url, operation: "open the stream") : nil
        if let address { _ = try format(address) }
        settings.tracks = []
        do {
            if let address, address.isListening {
                let socket = try StreamSocket.listen(at: address)
                listener = socket
                status.withLock { $0.port = socket.localPort }
                report(.listening(port: socket.localPort))
            }
            try connect(context)
        } catch {
            close()
            throw error
        }
    }

    func start(_ context: PacketContext) throws {
        attempt = nil
        // A sender that connects comes when it likes.
        if connection == nil, listener == nil { try connect(context) }
    }

    func nextPacket(_ context: PacketContext) throws -> MediaPacket? {
        while !context.isStopping {
            guard let connection else {
                try reconnect(context)
                continue
            }
            do throws(CaptureError) {
                if let (packet, lost) = try connection.reader.next() {
                    guard let placed = place(packet, lost, connection, context) else { continue }
                    return placed
                }
                guard try lose(.ended, context) else { return nil }
            } catch {
                guard !context.isStopping else { return nil }
                guard try lose(error.code == .stalled ? .stalled(error) : .failed(error), context) else { return nil }
            }
        }
        return nil
    }

    func stop() {
        connection = nil
        attempt = nil
    }

    func close() {
        connection = nil
        listener = nil
        status.withLock { $0.port = nil }
    }

    private func report(_ event: PacketStreamCapturer.Event) { status.withLock { $0.handler }?(event) }

    // MARK: Packets

    /// A packet with its track, and times of the clock; nil for one of a track that the settings lack.
    private func place(
        _ packet: MediaPacket, _ lost: Int, _ connection: Connection, _ context: PacketContext
    ) -> MediaPacket? {
        guard let track = connection.tracks[packet.track] else { return nil }
        var packet = packet
        packet.track = track
        if lost > 0 { context.reportLoss(lost, of: track) }
        let now = context.now
        guard !connection.reader.isUntimed else {
            packet.timestamp = now
            packet.decodeTimestamp = nil
            return packet
        }
        let (placed, isRestart) = times.place(
            packet, arrival: connection.hasBegun ? now : arrival(of: packet, connection.reader, now), now: now,
            isVideo: settings.tracks.first { $0.id == track }?.isVideo ?? false)
        self.connection?.hasBegun = true
        // A server may send again what it had sent before the connection was lost. Pictures that follow need those.
        guard let placed else { return nil }
        // What the sender has sent between is unknown, and what follows may need it.
        if isRestart, lost == 0, !placed.isKeyFrame { context.reportLoss(of: track) }
        return placed
    }

    /// When the first packet of a connection would have arrived if it had not been held anywhere: by the server, or here while
    /// the tracks were settled, which takes a second.
    private func arrival(of packet: MediaPacket, _ reader: LivePacketReader, _ now: MediaTime) -> MediaTime {
        guard let lag = reader.lag else { return now }
        let time = (packet.decodeTimestamp ?? packet.timestamp).advanced(by: .nanoseconds(lag))
        let present = MonotonicClock().now
        return max(now - (present - reader.opened) - .seconds(20), min(now, now - (present - time)))
    }

    // MARK: Connecting

    /// Connects, or waits for a sender, until there is a stream with the tracks that the settings describe.
    private func connect(_ context: PacketContext) throws(CaptureError) {
        while true {
            do throws(CaptureError) {
                let reader = try makeReader(context)
                let tracks = try adopt(reader.tracks)
                times.beginConnection(mayRepeat: isPulled && !reader.isFilm)
                connection = Connection(reader: reader, tracks: tracks)
                return report(.began(codecs: reader.tracks.map(\.codec)))
            } catch {
                // Anyone may connect, as a port scan does; the sender that is waited for may come later.
                guard listener != nil, !context.isStopping else { throw error }
                report(.rejected(reason: error.message))
            }
        }
    }

    private func makeReader(_ context: PacketContext) throws(CaptureError) -> LivePacketReader {
        var request = StreamDemuxerFactory.Request(
            url: url, timeout: configuration.stallTimeout, openingTimeout: configuration.connectTimeout
        ) { context.isStopping }
        guard let address else { return try LivePacketReader(request, isPulled: isPulled) }
        let socket =
            if let listener {
                try accept(listener, context)
            } else {
                try StreamSocket.connect(
                    to: address, timeout: configuration.connectTimeout, interruptedBy: context.stopDescriptor)
            }
        socket.limitReceiveBuffer(to: 256 << 10)
        let bytes = SocketBytes(
            socket, timeout: configuration.stallTimeout, stopDescriptor: context.stopDescriptor)
        request.format = try format(address) ?? bytes.rawFormat()
        request.source = .bytes { bytes.read(into: $0) }
        return try LivePacketReader(request, isPulled: isPulled)
    }

    /// Whether a server is asked for the stream; other senders repeat nothing.
    private var isPulled: Bool {
        let address = url.lowercased()
        if address.hasPrefix("srt:") { return !address.contains("mode=listener") }
        return listener == nil && !["udp:", "rtp:"].contains { address.hasPrefix($0) }
    }

    private func accept(_ listener: StreamSocket, _ context: PacketContext) throws(CaptureError) -> StreamSocket {
        while !context.isStopping {
            do throws(CaptureError) {
                if let socket = try listener.accept() { return socket }
                _ = pollInput(listener.descriptor, interruptedBy: context.stopDescriptor, until: nil)
            } catch {
                // Another sender can be accepted when descriptors are free again.
                context.wait(until: context.now.advanced(by: .milliseconds(100)))
            }
        }
        throw error(.invalidState, "The capture was stopped while it waited for a sender.")
    }

    /// The library's name of the format that the address names; nil without one.
    private func format(_ address: StreamAddress) throws(CaptureError) -> String? {
        switch address.format {
        case nil: return nil
        case "h264", "annexb": return "h264"
        case "h265", "hevc": return "hevc"
        case "matroska", "mkv", "webm": return "matroska"
        case "mpegts", "ts": return "mpegts"
        case "flv": return "flv"
        case let name?:
            throw error(
                .invalidConfiguration,
                "The packets of \(name) over TCP cannot be passed on; send h264, hevc, matroska, mpegts or flv.")
        }
    }

    /// Takes the tracks of a connection: the first one settles them, and the later ones go on with those.
    ///
    /// - Throws: `formatUnsupported` when the outputs cannot go on with one.
    private func adopt(_ tracks: [TrackDescription]) throws(CaptureError) -> [TrackID: TrackID] {
        if settings.tracks.isEmpty { settings.tracks = tracks }
        var result: [TrackID: TrackID] = [:]
        for track in tracks {
            guard let earlier = settings.tracks.first(where: { $0.isVideo == track.isVideo }) else { continue }
            hasOtherTracks = !earlier.goesOn(with: track)
            guard !hasOtherTracks else {
                throw error(
                    .formatUnsupported,
                    "The sender has returned with \(track.summary) in place of \(earlier.summary), with which no output can go "
                        + "on; start again for new outputs.")
            }
            result[track.id] = earlier.id
        }
        return result
    }

    // MARK: Recovery

    /// Handles a lost connection. False when there is no further attempt, and no error either.
    ///
    /// - Throws: the error that ends the capture.
    private func lose(_ loss: ConnectionLoss, _ context: PacketContext) throws(CaptureError) -> Bool {
        connection = nil
        guard let delay = listener != nil ? .zero : configuration.reconnectDelays.first else {
            guard var error = loss.error else { return false }
            if case .failed = loss { error.code = .deviceLost }
            throw error
        }
        recover(delay: delay, loss, context)
        report(.disconnected(reason: loss.reason("sender")))
        return true
    }

    private func recover(delay: Duration, _ loss: ConnectionLoss?, _ context: PacketContext) {
        if case .stalled = loss {
            context.reportInterruption(.stalled)
        } else {
            context.reportInterruption(.deviceDisconnected)
        }
        attempt = (1, context.now.advanced(by: delay))
    }

    /// Waits for the time of the next attempt and connects; also returns when the capture is being stopped.
    private func reconnect(_ context: PacketContext) throws(CaptureError) {
        // Started again, and no sender has come yet.
        if attempt == nil { recover(delay: .zero, nil, context) }
        guard let (number, due) = attempt, context.wait(until: due) else { return }
        do throws(CaptureError) {
            try connect(context)
            attempt = nil
        } catch {
            guard !context.isStopping else { return }
            let delays = configuration.reconnectDelays
            let next = listener != nil ? .milliseconds(100) : number < delays.count ? delays[number] : delays.last
            guard let next, !hasOtherTracks else { throw error }
            report(.attemptFailed(reason: error.message, attempt: number))
            attempt = (number + 1, context.now.advanced(by: next))
        }
    }

    private func error(_ code: CaptureError.Code, _ message: String) -> CaptureError {
        CaptureError(code, operation: "receive the stream", subject: settings.sourceName, message: message)
    }
}

extension TrackDescription {
    /// Whether a container that has begun with this track can go on with the other one.
    fileprivate func goesOn(with other: TrackDescription) -> Bool {
        guard codec == other.codec else { return false }
        switch (media, other.media) {
        case (.video, .video): return true
        case (.audio(let own), .audio(let other)):
            return (own.sampleRate, own.channelCount) == (other.sampleRate, other.channelCount)
        default: return false
        }
    }

    /// For people.
    fileprivate var summary: String {
        guard case .audio(let audio) = media else { return codec.rawValue }
        return "\(codec.rawValue) of \(audio.sampleRate) Hz and \(audio.channelCount) channels"
    }
}
