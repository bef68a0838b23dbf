public import MediaPublishing
import ServerTransport
public import VideoCapturing

extension RTSPServer: MediaOutput {
    /// The URL, as far as it is known before the server listens.
    public var name: String { lastAddress.url }

    /// `rtsp`.
    public var kind: String { "rtsp" }

    /// Packets of a codec of the configuration, made for a live view. A client gets the packets since the last key frame first,
    /// so those of a camera may be passed on; not the second one of a multicast group.
    public var feed: OutputContext.Feed {
        var feed = OutputContext.Feed.PacketFeed(codecs: configuration.codecs, purpose: .live)
        feed.takesKeyFramesAsTheyCome = configuration.multicast == nil
        return .packets(feed)
    }

    /// Sound in a codec of the configuration, where the capture has sound.
    public var audioFeed: OutputContext.AudioFeed? {
        configuration.audioCodecs.isEmpty ? nil : .packets(configuration.audioCodecs)
    }

    /// By the codecs that RTSP carries; more than are encoded here.
    public func problem(passing tracks: [TrackDescription]) -> String? { RTSPServer.problem(sending: tracks) }

    /// Starts to serve, with the limit of open files raised; warnings go to the context.
    public func open(_ context: OutputContext) throws -> OutputContext.Destination {
        setWarningHandler(context.warn)
        raiseDescriptorLimit()
        try start()
        return .sink(self)
    }

    /// Disconnects the clients.
    public func close(at end: MediaTime?) { stop() }

    /// Writing never waits.
    public var limitsOwnWaits: Bool { true }

    public var outputStatistics: OutputStatistics {
        let report = statistics
        let urls = lastAddress.reachableURLs
        var result = OutputStatistics(bytes: Int64(clamping: report.bytesSent))
        let count = report.clients.count
        result.status = count == 1 ? "1 client" : "\(count) clients"
        let blocked = report.clients.filter(\.isBlocked)
        if let first = blocked.first { result.status? += ", \(first.address) takes nothing" }
        let login = configuration.authentication == nil ? "" : ", with the login"
        result.announcement =
            "Serving RTSP at \(urls.joined(separator: " and "))\(login), such as for: ffplay \(urls.first ?? name)"
        let onvif = lastONVIFPort
        if let onvif { result.announcement? += "; as an ONVIF device at port \(onvif)" }
        result.summary =
            report.sessions == 0
            ? "RTSP: no client asked for the stream."
            : "RTSP: sent \(report.framesSent) frames, \(scaled(Double(report.bytesSent), "B")), in \(report.sessions) "
                + "session\(report.sessions == 1 ? "" : "s"); left out \(report.framesDropped) for slow clients."
        result.details = [
            ("url", .string(urls.first ?? name)), ("clients", .count(count)), ("sessions", .count(report.sessions)),
            ("connections", .count(report.connections)), ("connectionsAccepted", .count(report.connectionsAccepted)),
            ("connectionsRefused", .count(report.connectionsRefused)), ("framesSent", .count(report.framesSent)),
            ("framesDropped", .count(report.framesDropped)), ("gaps", .count(report.gaps)),
            ("onvifPort", onvif.map { .count($0) } ?? .null), ("keyFramesAsked", .count(report.keyFramesAsked)),
            ("reports", .count(report.reports)),
        ]
        return result
    }
}

extension OutputEntry {
    /// The server, as `serve-rtsp://[ADDRESS:]PORT`, or `rtsp://ADDRESS:PORT/PATH?listen`, and with `rtsps` if it has a
    /// certificate; see ``RTSPServer``.
    public static let rtspServer: OutputEntry = {
        var entry = OutputEntry(
            name: "serve-rtsp", summary: "live to players and recorders, by RTSP", schemes: ["serve-rtsp"],
            options: OptionDescription.serverAccess + [
                OptionDescription(
                    "onvif", .text("PORT"), "an ONVIF device at this HTTP port, for recorders",
                    default: "off"),
                OptionDescription(
                    "onvif-snapshot", .text("URL"), "its image, such as http://*:8080/snapshot of --serve 8080",
                    default: "none"),
            ],
            make: { request throws(OptionError) in
                let login = try request.options.serverLogin()
                let certificate = try request.options.serverCertificate()
                guard certificate != nil || !request.target.lowercased().hasPrefix("rtsps:") else {
                    throw OptionError(
                        "output", request.target, "rtsps needs a certificate; add --serve-certificate FILE.")
                }
                let port = try request.options.count("onvif", in: 0...65_535)
                let snapshot = request.options["onvif-snapshot"]
                guard port != nil || snapshot == nil else {
                    throw OptionError("onvif-snapshot", snapshot, "there is no ONVIF device; add --onvif PORT.")
                }
                do throws(CaptureError) {
                    var configuration = try RTSPServer.Configuration(request.target)
                    configuration.authentication = login.map { .init(user: $0.name, password: $0.password) }
                    configuration.tls = certificate.map { .init(certificateChain: $0.chain, privateKey: $0.key) }
                    configuration.onvif = port.map { .init(port: $0, snapshotURL: snapshot) }
                    return try RTSPServer(configuration: configuration)
                } catch {
                    throw OptionError("output", request.target, error.message)
                }
            })
        entry.claimsURL = { url in
            let parts = url.split(separator: "?", maxSplits: 1)
            return ["rtsp://", "rtsps://"].contains { parts[0].lowercased().hasPrefix($0) } && parts.count > 1
                && parts[1].split(separator: "&").contains { ["listen", "listen=1", "listen=true"].contains($0) }
        }
        return entry
    }()
}
