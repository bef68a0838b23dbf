public import MediaPublishing
import StreamTransport
public import VideoCapturing

extension StreamOutput: MediaOutput {
    /// The address as a URL, with the port at which it listens.
    public var name: String {
        var address = hub.address
        if let port { address.port = port }
        return "tcp://\(address.displayName)"
    }

    /// `tcp`.
    public var kind: String { "tcp" }

    /// Packets of H.264, in Matroska also of VP8; one encoder serves all receivers.
    public var feed: OutputContext.Feed {
        .packets(.init(codecs: format == .annexB ? [.h264] : [.h264, .vp8], purpose: .live))
    }

    /// Listens, or connects: waits for the first connection, until a stop is requested.
    public func open(_ context: OutputContext) throws -> OutputContext.Destination {
        hub.state.withLock { $0.isStopRequested = context.isStopRequested }
        let isListening = hub.address.isListening
        setEventHandler { event in
            switch event {
            case .rejected: context.warn("\(event)")
            // Receivers come and go; the one that it was told to send to should stay.
            case .disconnected, .attemptFailed(_, attempt: 1): if !isListening { context.warn("\(event)") }
            case .connected, .waiting, .attemptFailed: break
            }
        }
        hub.endOpeningIfStopped()
        try open()
        if let warning = openAddressWarning { context.warn(warning) }
        return .sink(self)
    }

    /// A sentence for the user where other machines can receive; nil where none can.
    var openAddressWarning: String? {
        guard hub.address.isListening, !NetworkAddresses.isLoopback(hub.address.host) else { return nil }
        return "\(name) is open to everyone who can reach this machine, without a password; listen at 127.0.0.1 if all "
            + "receivers run on this machine."
    }

    /// Disconnects the receivers, once what waits for them is sent; see ``finish()``.
    ///
    /// - Throws: `deviceLost` when it connects, and was not connected at the end.
    public func close(at end: MediaTime?) throws {
        finish()
        if let error = hub.takeUnheard() { throw error }
    }

    /// Writing never waits; a stop that was requested ends the wait for the first connection.
    public func setWriteTimeout(_ timeout: Duration?) { hub.endOpeningIfStopped() }

    public var limitsOwnWaits: Bool { true }

    public var outputStatistics: OutputStatistics {
        let report = statistics
        let isListening = hub.address.isListening
        var result = OutputStatistics(bytes: Int64(clamping: report.bytesSent))
        result.status = isListening ? counted(report.receivers.count, "receiver") : status(report.receivers.first)
        if isListening { result.announcement = announcement }
        let sent = "Sent \(counted(report.packetsSent, "packet")), \(scaled(Double(report.bytesSent), "B"))"
        result.summary =
            isListening
            ? "\(sent), to \(counted(report.connections, "receiver")) of \(name)"
            : "\(sent), to \(name)"
        result.summary += "; dropped \(report.packetsDropped)."
        result.details = [
            ("url", .string(name)), ("streamFormat", .string(format.rawValue)),
            ("receivers", .integer(Int64(report.receivers.count { $0.isConnected }))),
            ("connections", .count(report.connections)), ("reconnects", .count(report.reconnects)),
            ("receiversRejected", .count(report.receiversRejected)), ("packetsSent", .count(report.packetsSent)),
            ("packetsDropped", .count(report.packetsDropped)), ("gaps", .count(report.gaps)),
            ("keyFrameRequests", .count(report.keyFrameRequests)),
            ("bitrateLimit", report.bitrateLimit.map { .integer(Int64($0)) } ?? .null),
            ("bitrateReductions", .count(report.bitrateReductions)),
            ("lastLoss", report.lastLoss.map { .string($0) } ?? .null),
        ]
        return result
    }

    /// Where to find it, and how to play it.
    private var announcement: String {
        var address = hub.address
        if let port { address.port = port }
        if NetworkAddresses.isUnspecified(address.host) {
            address.host = NetworkAddresses.ofThisMachine(besides: address.host)[0]
        }
        let content = format == .annexB ? "H.264" : "Matroska"
        return
            "Sending \(content) to all that connect to \(name), such as: ffplay -fflags nobuffer tcp://\(address.displayName)"
    }

    /// What the connection does, unless it is as it should be.
    private func status(_ receiver: StreamOutput.Receiver?) -> String? {
        switch receiver?.state {
        case .connecting, .waiting, nil: "not connected"
        case .stalled: "receiver stalls"
        case .awaitingKeyFrame, .sending: nil
        }
    }

    private func counted(_ count: some BinaryInteger, _ noun: String) -> String {
        count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
    }
}

extension StreamOutput.Receiver {
    /// Whether there is a connection.
    fileprivate var isConnected: Bool {
        switch state {
        case .connecting, .waiting: false
        case .awaitingKeyFrame, .sending, .stalled: true
        }
    }
}

extension OutputEntry {
    /// A stream over TCP, as `tcp://HOST:PORT`, or `tcp://ADDRESS:PORT?listen` for any number of receivers.
    public static let tcp = OutputEntry(
        name: "tcp", summary: "H.264 over TCP, or Matroska: ?listen for many receivers, &format=matroska",
        schemes: ["tcp"],
        make: { request throws(OptionError) in
            do throws(CaptureError) {
                return try StreamOutput(request.target)
            } catch {
                throw OptionError("output", request.target, error.message)
            }
        })
}
