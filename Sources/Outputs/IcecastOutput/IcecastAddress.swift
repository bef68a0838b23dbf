import StreamTransport
import VideoCapturing

/// The address of a mount: `icecast://[user:password@]host[:port]/mount[?name=…&description=…&genre=…&url=…&public=1&audio]`.
///
/// User name, password and values are percent-decoded. The password is used for the request alone; ``displayName`` has
/// neither it nor the user name.
struct IcecastAddress: Sendable, Hashable {
    /// Where to connect.
    let server: StreamAddress
    /// The path of the mount, as the request has it.
    let mount: String
    let user: String
    let password: String
    /// What the address states of the stream.
    let metadata: IcecastOutput.Metadata
    /// Whether only sound is sent.
    let isAudioOnly: Bool

    /// For messages: `icecast://radio:8000/live.webm`.
    var displayName: String { "icecast://\(server.displayName)\(mount)" }

    /// Where listeners find it.
    var listeningURL: String { "http://\(server.displayName)\(mount)" }

    /// What the name of the mount promises in place of WebM; nil for nothing else.
    var otherFormat: String? {
        let ending = mount.split(separator: ".").last.map { $0.lowercased() } ?? ""
        return ["mp3", "ogg", "oga", "ogv", "opus", "aac", "flac", "mp4"].contains(ending) ? ".\(ending)" : nil
    }

    private static let example = "write it as in icecast://radio:8000/live.webm, with USER:PASSWORD@ before the host"
    private static let options = ["name", "description", "genre", "url", "public", "audio"]

    /// - Throws: `invalidConfiguration`, with the part that is wrong; the address itself is not shown.
    init(_ url: String) throws(CaptureError) {
        let lower = url.lowercased()
        guard !lower.hasPrefix("icecasts://") else {
            throw IcecastAddress.error(
                "Icecast is sent to without TLS; put a TLS tunnel such as stunnel before the server, and send to that.")
        }
        guard lower.hasPrefix("icecast://") else {
            throw IcecastAddress.error("This is not an address of Icecast; \(IcecastAddress.example).")
        }
        let rest = url.dropFirst("icecast://".count)
        // The user information first, since a password may contain what ends the rest.
        let place = rest.prefix { $0 != "/" && $0 != "?" }
        let at = place.lastIndex(of: "@")
        let login = at.map { rest[..<$0].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false) } ?? []
        let authority = at.map { place[place.index(after: $0)...] } ?? place
        user = login.isEmpty || login[0].isEmpty ? "source" : percentDecoded(login[0].utf8)
        password = login.count > 1 ? percentDecoded(login[1].utf8) : ""
        let hasPort = authority.lastIndex(of: ":").map { !authority[$0...].contains("]") } ?? false
        do throws(CaptureError) {
            server = try StreamAddress("tcp://\(authority)\(hasPort ? "" : ":8000")", operation: "open the output")
        } catch {
            throw IcecastAddress.error("The host or the port cannot be read; \(IcecastAddress.example).")
        }
        let target = rest[place.endIndex...].prefix { $0 != "#" }
        let path = target.prefix { $0 != "?" }
        guard path.utf8.count > 1, path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw IcecastAddress.error(
                "The address names no mount, or one with characters that must be percent-encoded; \(IcecastAddress.example)."
            )
        }
        mount = String(path)
        var metadata = IcecastOutput.Metadata()
        var isAudioOnly = false
        for option in target.dropFirst(path.count + 1).split(separator: "&") {
            let pair = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = pair.count > 1 ? percentDecoded(pair[1].utf8) : ""
            switch pair[0] {
            case "name": metadata.name = value
            case "description": metadata.description = value
            case "genre": metadata.genre = value
            case "url": metadata.url = value
            case "public": metadata.isPublic = try IcecastAddress.flag(value, "public")
            case "audio": isAudioOnly = try IcecastAddress.flag(value, "audio")
            default:
                let guess = nearestName(to: String(pair[0]), in: IcecastAddress.options).map { " Did you mean \($0)?" }
                throw IcecastAddress.error(
                    "An option of the address is not known.\(guess ?? "") There are "
                        + "\(IcecastAddress.options.joined(separator: ", ")).")
            }
        }
        self.metadata = metadata
        self.isAudioOnly = isAudioOnly
    }

    private static func flag(_ value: String, _ name: String) throws(CaptureError) -> Bool {
        switch value {
        case "", "1", "true": true
        case "0", "false": false
        default: throw error("The option \(name) is 1 or 0.")
        }
    }

    private static func error(_ message: String) -> CaptureError {
        CaptureError(.invalidConfiguration, operation: "open the output", subject: "icecast://", message: message)
    }
}
