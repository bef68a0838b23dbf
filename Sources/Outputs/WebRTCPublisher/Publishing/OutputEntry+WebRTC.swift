import HTTPTransport
public import MediaPublishing
import VideoCapturing

extension OutputEntry {
    private static let options = [
        OptionDescription("token", .secret("TEXT|@FILE"), "the bearer token of the server", default: "none"),
        OptionDescription(
            "ice-server", .secret("URL"), "stun:HOST:PORT or turn:USER:PASSWORD@HOST:PORT[?transport=tcp]",
            default: "those that the server names", isRepeatable: true),
        .flag("relay-only", "uses TURN servers only, so the peer learns no address of this machine"),
        .flag("plain-http", "allows http to other machines, which others on the network can read"),
        OptionDescription(
            "server-authority", .file, "trusted certificates in PEM, replacing the system's", default: "none"),
    ]

    /// WHIP, as `whip:https://host/path`.
    public static let whip = OutputEntry(
        name: "whip", summary: "live by WebRTC, to a WHIP endpoint: whip:https://HOST/PATH",
        options: options,
        make: { request throws(OptionError) in
            let token = try request.options.secret("token")
            return try made(request) { (configuration) throws(CaptureError) in
                try WHIPOutput(request.target, token: token, configuration: configuration)
            }
        })

    /// Janus, as `janus:http://host:8088/janus?room=1234&pin=…`.
    public static let janus = OutputEntry(
        name: "janus", summary: "live by WebRTC, to a room of Janus: janus:http://HOST:8088/janus?room=1234[&pin=PIN]",
        options: options,
        make: { request throws(OptionError) in
            let parts = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            var room = JanusOutput.Room("")
            for pair in parts.count > 1 ? parts[1].split(separator: "&") : [] {
                let words = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard words.count == 2 else { continue }
                let value = percentDecoded(words[1].utf8)
                switch words[0] {
                case "room": room.name = value
                case "pin": room.pin = value
                case "display": room.displayName = value
                default:
                    throw OptionError("output", String(parts[0]), "unknown: \(words[0]). There are room, pin, display.")
                }
            }
            guard !room.name.isEmpty else {
                throw OptionError("output", String(parts[0]), "names no room; add ?room=1234.")
            }
            let (url, token) = (String(parts[0]), try request.options.secret("token"))
            return try made(request) { [room] (configuration) throws(CaptureError) in
                try JanusOutput(url, room: room, token: token, configuration: configuration)
            }
        })

    private static func made(
        _ request: Request, _ make: (WebRTCOutput.Configuration) throws(CaptureError) -> WebRTCOutput
    ) throws(OptionError) -> any MediaOutput {
        var configuration = WebRTCOutput.Configuration()
        configuration.iceServers = request.options.all("ice-server")
        configuration.isRelayOnly = request.options.contains("relay-only")
        configuration.allowsPlainHTTP = request.options.contains("plain-http")
        configuration.certificateAuthorities = request.options["server-authority"]
        do throws(CaptureError) {
            return try make(configuration)
        } catch {
            throw OptionError("output", maskingSecrets(inURL: request.target), error.message)
        }
    }
}
