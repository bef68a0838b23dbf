public import MediaPublishing
import StreamTransport
public import VideoCapturing

extension RTPOutput: MediaOutput {
    /// The address as a URL.
    public var name: String { "rtp://\(hub.address.displayName)" }

    /// `rtp`.
    public var kind: String { "rtp" }

    /// Packets of the codec of the configuration, made for a live view.
    public var feed: OutputContext.Feed { .packets(.init(codecs: [configuration.codec], purpose: .live)) }

    /// Opus, where the capture has sound.
    public var audioFeed: OutputContext.AudioFeed? { .packets([.opus]) }

    /// Opens the sockets; whether a receiver is there is not known.
    public func open(_ context: OutputContext) throws -> OutputContext.Destination {
        try hub.open(isRepeatable: false, hasAudio: context.audioFormat != nil)
        return .sink(self)
    }

    /// Tells receivers that the streams end, and closes; see ``finish()``.
    public func close(at end: MediaTime?) { finish() }

    /// Writing never waits.
    public var limitsOwnWaits: Bool { true }

    public var outputStatistics: OutputStatistics {
        let report = statistics
        var result = OutputStatistics(bytes: Int64(clamping: report.bytes))
        if report.isRefused {
            result.status = "nothing listens"
        } else if report.fractionLost >= 0.01 {
            result.status = "\(Int(report.fractionLost * 100)) % lost"
        }
        // A description stands where those who start the receiver find it.
        let file = configuration.descriptionFile
        let play = "such as: ffplay -protocol_whitelist file,udp,rtp \(file ?? "stream.sdp")"
        result.announcement =
            file.map { "Sending RTP to \(name); \($0) describes it to players, \(play)" }
            ?? "Sending RTP to \(name); these lines, in a file, describe it to players, \(play)\n"
            + sessionDescription.replacing("\r\n", with: "\n")
        result.summary =
            "Sent \(report.packets) packets, \(scaled(Double(report.bytes), "B")), to \(name); "
            + "\(report.packetsResent) sent again, \(report.packetsUnsent) not taken by the system."
        result.details = [
            ("url", .string(name)), ("packetsSent", .count(report.packets)),
            ("packetsResent", .count(report.packetsResent)), ("packetsAsked", .count(report.packetsAsked)),
            ("packetsUnsent", .count(report.packetsUnsent)), ("keyFrameRequests", .count(report.keyFrameRequests)),
            ("keyFramesAsked", .count(report.keyFramesAsked)), ("reportsSent", .count(report.reportsSent)),
            ("reports", .count(report.reports)), ("fractionLost", .number(report.fractionLost)),
            ("roundTripMilliseconds", report.roundTripTime.map { .number($0.seconds * 1000) } ?? .null),
            ("bitrateLimit", report.bitrateLimit.map { .integer(Int64($0)) } ?? .null),
            ("messagesIgnored", .count(report.messagesIgnored)), ("sdp", .string(sessionDescription)),
        ]
        return result
    }
}

extension OutputEntry {
    /// RTP to one receiver or a multicast group, as `rtp://HOST:PORT`; see ``RTPOutput``.
    public static let rtp = OutputEntry(
        name: "rtp", summary: "VP8 or H.264, and Opus, over RTP: ?codec=h264, &rtcp=PORT, &sdp=FILE",
        schemes: ["rtp"],
        make: { request throws(OptionError) in
            do throws(CaptureError) {
                return try RTPOutput(request.target)
            } catch {
                throw OptionError("output", request.target, error.message)
            }
        })
}
