public import MediaPublishing
import ServerTransport
public import VideoCapturing

extension MJPEGServer: MediaOutput {
    /// `serve://` and the configured address.
    public var name: String {
        let host = configuration.address
        return "serve://\(host.contains(":") ? "[\(host)]" : host):\(address?.port ?? configuration.port)"
    }

    /// `mjpeg`.
    public var kind: String { "mjpeg" }

    /// Frames as they are, the newest only.
    public var feed: OutputContext.Feed {
        .frames(.init(isConverted: false, queue: .init(capacity: 1, policy: .dropOldest)))
    }

    /// The other way than MJPEG.
    public var companion: (any MediaOutput)? { broadcaster.viewing as? any MediaOutput }

    /// Starts to serve, with the limit of open files raised; warnings go to the context.
    public func open(_ context: OutputContext) throws -> OutputContext.Destination {
        warningList.setHandler(context.warn)
        broadcaster.recording.withLock { $0 = context.recording }
        broadcaster.state.withLock { $0.areFramesDecoded = context.areFramesDecoded }
        raiseDescriptorLimit()
        try start()
        return .consumer(self)
    }

    /// Disconnects the viewers.
    public func close(at end: MediaTime?) { stop() }

    /// Who can open the page, where that is this machine alone.
    private var reach: String {
        guard let port = address?.port, ["127.0.0.1", "::1", "localhost"].contains(configuration.address) else {
            return ""
        }
        return " on this machine only (0.0.0.0:\(port) serves others too)"
    }

    public var outputStatistics: OutputStatistics {
        let report = statistics
        let urls = address?.reachableURLs ?? []
        let url = urls.first ?? ""
        var result = OutputStatistics(bytes: Int64(clamping: report.bytesSent + report.live.bytesSent))
        let (viewers, live) = (report.viewers.count, report.live)
        let all = viewers + live.viewers
        result.status = all == 0 ? "0 viewers, idle" : all == 1 ? "1 viewer" : "\(all) viewers"
        if live.viewers > 0 { result.status? += viewers == 0 ? " (WebRTC)" : " (\(live.viewers) WebRTC)" }
        result.announcement =
            "Serving \(urls.joined(separator: " and ")) to browsers\(reach); the MJPEG stream is \(url)stream, a JPEG image "
            + "\(url)snapshot."
            + (broadcaster.recording.withLock { $0 }?.index == nil ? "" : " The recordings are at \(url)recordings.")
            + (broadcaster.viewing?.maximumViewerCount.map { " At most \($0) viewers get WebRTC." } ?? "")
        func counted(_ count: UInt64, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
        var served: [String] = []
        if report.framesSent > 0 {
            served.append(
                "\(counted(report.framesSent, "frame")), \(scaled(Double(report.bytesSent), "B")), "
                    + "skipped \(report.framesSkipped) for slow viewers")
        }
        if report.snapshotsSent > 0 { served.append(counted(report.snapshotsSent, "snapshot")) }
        if live.framesSent > 0 {
            served.append("by WebRTC \(counted(live.framesSent, "frame")), \(scaled(Double(live.bytesSent), "B"))")
        }
        result.summary =
            served.isEmpty
            ? "Served no frames, since no viewer asked for any."
            : "Served \(served.joined(separator: "; "))."
                + (report.framesEncoded == 0 ? "" : " JPEG images encoded: \(report.framesEncoded).")
        result.details = [
            ("url", .string(url)), ("viewers", .count(all)), ("webrtcViewers", .count(live.viewers)),
            ("webrtcFramesSent", .count(live.framesSent)), ("webrtcBytesSent", .count(live.bytesSent)),
            ("framesEncoded", .count(report.framesEncoded)),
            ("framesPassedThrough", .count(report.framesPassedThrough)), ("framesSent", .count(report.framesSent)),
            ("framesSkipped", .count(report.framesSkipped)), ("snapshots", .count(report.snapshotsSent)),
            ("latencyMillisecondsMedian", report.p50Latency.map { .number($0.seconds * 1000) } ?? .null),
            ("latencyMilliseconds99", report.p99Latency.map { .number($0.seconds * 1000) } ?? .null),
        ]
        return result
    }
}

extension OutputEntry {
    /// The server, as `serve://[ADDRESS:]PORT`.
    public static let mjpegServer: OutputEntry = OutputEntry.mjpegServer(viewing: { _ in nil })

    /// The server, as `serve://[ADDRESS:]PORT`, with another way to show its frames.
    ///
    /// - Parameters:
    ///   - options: of the other way.
    ///   - viewing: makes the other way, from the values of the options; nil for JPEG alone.
    public static func mjpegServer(
        options: [OptionDescription] = [],
        viewing: @escaping @Sendable (OutputEntry.Request) throws(OptionError) -> (any LiveViewing)?
    ) -> OutputEntry {
        OutputEntry(
            name: "serve", summary: "live to browsers: a page, and MJPEG over HTTP", schemes: ["serve"],
            options: [
                OptionDescription("jpeg-quality", .text("N"), "quality of JPEG images, 1 to 100", default: "80")
            ] + OptionDescription.serverAccess + [
                OptionDescription(
                    "serve-host", .text("NAME"), "a further name that requests may use, such as that of a proxy here",
                    default: "none", isRepeatable: true),
                OptionDescription("serve-title", .text("TEXT"), "what the page calls the picture", default: "none"),
                OptionDescription(
                    "drop-same-frames", .text("N"), "leaves out up to N unchanged frames in a row", default: "0"),
            ] + options, firesTriggers: true,
            make: { request throws(OptionError) in
                MJPEGServer(configuration: try MJPEGServer.Configuration(request), viewing: try viewing(request))
            })
    }
}

extension MJPEGServer.Configuration {
    /// The configuration that the options of ``OutputEntry/mjpegServer`` describe.
    init(_ request: OutputEntry.Request) throws(OptionError) {
        self.init()
        (address, port) = try MJPEGServer.Configuration.parseAddress(request.target)
        let options = request.options
        if let login = try options.serverLogin() {
            authentication = MJPEGServer.Configuration.Authentication(user: login.name, password: login.password)
        }
        if let certificate = try options.serverCertificate() {
            tls = MJPEGServer.Configuration.TLS(certificateChain: certificate.chain, privateKey: certificate.key)
        }
        title = options["serve-title"] ?? ""
        allowedHosts = try options.all("serve-host").map { (name) throws(OptionError) in
            try MJPEGServer.Configuration.parseHost(name)
        }
        if let quality = try options.count("jpeg-quality", in: 1...100) { self.quality = quality }
        if let count = try options.count("drop-same-frames", in: 0...1_000_000) { dropSameFrames = count }
    }

    /// A host name as in `--serve-host`, without a port.
    static func parseHost(_ text: String) throws(OptionError) -> String {
        let isName =
            !text.isEmpty && text.utf8.allSatisfy { isUnreserved($0) } && !text.hasPrefix(".") && text.utf8.count <= 253
        guard isName else {
            throw OptionError("serve-host", text, "give the name alone, without a scheme and a port: printer.local.")
        }
        return text
    }

    /// The address of `serve://8080`, `serve://192.168.1.5:8080`, `serve://[::1]:8080`, `serve://localhost:0`; loopback
    /// where none is given. For port 0 the system picks a port.
    static func parseAddress(_ url: String) throws(OptionError) -> (address: String, port: Int) {
        var text = url[...]
        if text.hasPrefix("serve://") { text = text.dropFirst("serve://".count) }
        if text.hasSuffix("/") { text = text.dropLast() }
        let shown = String(text)
        let colon = text.lastIndex(of: ":")
        let portText = colon.map { text[text.index(after: $0)...] } ?? text
        var address = colon.map { String(text[..<$0]) } ?? "127.0.0.1"
        if address.hasPrefix("["), address.hasSuffix("]") {
            address = String(address.dropFirst().dropLast())
        } else if address.contains(":") {
            throw OptionError("serve", shown, "write an IPv6 address in brackets, such as [::1]:8080.")
        }
        guard let port = Int(portText), (0...65535).contains(port), portText.utf8.allSatisfy({ (48...57).contains($0) })
        else {
            throw OptionError(
                "serve", shown, "give [ADDRESS:]PORT, such as 8080 or 0.0.0.0:8080; a port is 0 to 65535.")
        }
        guard !address.isEmpty, address != "*" else {
            throw OptionError("serve", shown, "names no address; write 0.0.0.0:\(port) for all networks.")
        }
        return (address, port)
    }
}
