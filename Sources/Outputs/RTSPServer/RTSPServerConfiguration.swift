import NIOCore
import StreamTransport
public import VideoCapturing

extension RTSPServer {
    /// The configuration of an ``RTSPServer``: its address, its codecs, its clients and its limits.
    public struct Configuration: Sendable, Hashable {
        /// How packets may reach clients.
        public enum Transport: String, Sendable, Hashable, CaseIterable {
            /// On the connection of the requests, between the responses.
            case tcp
            /// As datagrams to the client's ports.
            case udp
        }

        /// Where to listen: a host name or an IP address. The default is for programs on the same machine only; `0.0.0.0` or
        /// `::` is for every machine that can reach this one.
        public var address = "127.0.0.1"
        /// The TCP port; 0, the default, for any that is free. 8554 and 554 are usual.
        public var port = 0
        /// The path at which the stream is, such as `cam`; nil, the default, for any path.
        public var path: String?
        /// The codecs of the pictures that are encoded for it, the preferred one first: of `h264`, `hevc`, `vp8`, `vp9` and
        /// `jpeg`. Packets that are passed on may be in any of these.
        public var codecs: [Codec] = [.h264, .vp8]
        /// The codecs of the sound that is encoded for it, the preferred one first: of `aac`, `opus`, `pcm_mulaw` and
        /// `pcm_alaw` (G.711). Packets that are passed on may be in any of these.
        public var audioCodecs: [Codec] = [.aac, .opus]
        /// How packets may reach clients; the client chooses among them.
        public var transports = Set(Transport.allCases)
        /// The even port from which datagrams come, their reports from the next one; nil, the default, for any that are free.
        public var datagramPort: Int?
        /// The group to which packets go for clients that ask for multicast; nil, the default, for no multicast.
        public var multicast: Multicast?
        /// The ONVIF device by which recorders find the stream; nil, the default, for none.
        public var onvif: ONVIF?
        /// The certificate for RTSP over TLS; nil, the default, for no encryption.
        public var tls: TLS?
        /// The title that players show.
        public var title = "capturer"
        /// The name and password that clients need; nil, the default, for none.
        public var authentication: Authentication?
        /// The time after which clients believe that a session ends without a sign of life; 15 s more are granted.
        public var sessionTimeout: Duration = .seconds(60)
        /// The maximum size of a packet in bytes, without the headers of IP and UDP.
        public var maximumPacketSize = 1200
        /// The shortest time between two key frames that clients ask for.
        public var keyFrameInterval: Duration = .milliseconds(300)
        /// The time that packets may wait for a client on TCP before it loses whole groups of pictures.
        public var maximumDelay: Duration = .seconds(2)
        /// The number of bytes that the kernel may hold for one client on TCP (`SO_SNDBUF`, which the kernel doubles); 0 for
        /// its automatic size.
        public var sendBufferSize = 131_072
        /// Limits that protect the server and the capture.
        public var limits = Limits()

        /// The defaults: H.264 and AAC where the program has them, for this machine only, on any free port.
        public init() {}
    }
}

extension RTSPServer.Configuration {
    /// The name and password that clients need, and the schemes by which they may give them.
    public struct Authentication: Sendable, Hashable {
        /// A scheme of authentication.
        public enum Scheme: String, Sendable, Hashable, CaseIterable {
            /// A hash of the password and of a nonce is sent (RFC 2617), by MD5: players know no other or fail with it.
            case digest
            /// The password itself is sent (RFC 7617).
            case basic
        }

        /// The user's name; without a colon.
        public var user: String
        /// The password; not empty.
        public var password: String
        /// The schemes that are offered. The default is Digest alone, which all players have.
        public var schemes: Set<Scheme>
        /// The text that clients show to say what the password is for.
        public var realm: String

        /// Makes it from a name and a password; `realm` and `schemes` have defaults.
        public init(
            user: String, password: String, schemes: Set<Scheme> = [.digest], realm: String = "Live picture"
        ) {
            self.user = user
            self.password = password
            self.schemes = schemes
            self.realm = realm
        }
    }

    /// A multicast group (RFC 2326, 12.39). Packets go to it once for all of its clients, and only while it has one. Every
    /// machine of the network can read them, also without the login.
    public struct Multicast: Sendable, Hashable {
        /// The IPv4 address, such as 239.255.42.1.
        public var group: String
        /// The port of the first track, an even one; its reports use the next port, and the second track the two after these.
        public var port: Int
        /// The maximum number of networks that packets pass, 1 to 255; 1 for the own network alone.
        public var timeToLive: Int

        /// Makes it from an address; `port` and `timeToLive` have defaults.
        public init(group: String, port: Int = 5004, timeToLive: Int = 1) {
            self.group = group
            self.port = port
            self.timeToLive = timeToLive
        }

        /// Why it cannot be sent to; nil where it can.
        var problem: String? {
            let address = (try? SocketAddress(ipAddress: group, port: port)).flatMap { $0.protocol == .inet ? $0 : nil }
            guard let address, address.isMulticast, !group.hasPrefix("224.0.0.") else {
                return "A multicast group is an IPv4 address from 224.0.1.0 to 239.255.255.255, not \(group)."
            }
            guard port >= 2, port <= 65_532, port % 2 == 0, (1...255).contains(timeToLive) else {
                return "Multicast has an even port from 2 to 65532, and a ttl from 1 to 255."
            }
            return nil
        }
    }

    /// The files that a server needs to speak TLS. Only programs built with the package's trait `TLS` can; it is off by
    /// default, since BoringSSL takes minutes to build.
    public struct TLS: Sendable, Hashable {
        /// The path of the certificate in PEM, followed by its intermediate certificates.
        public var certificateChain: String
        /// The path of its private key in PEM, without a pass phrase.
        public var privateKey: String

        /// Makes it from two paths; ``RTSPServer/start()`` reads the files.
        public init(certificateChain: String, privateKey: String) {
            self.certificateChain = certificateChain
            self.privateKey = privateKey
        }
    }

    /// Limits for one client, or for all of them, of a server.
    public struct Limits: Sendable, Hashable {
        /// The maximum number of simultaneous connections; further ones are answered with 503. It is lowered, with a warning, where
        /// the process may not open that many files (`ulimit -n`).
        public var connections = 256
        /// The maximum number of simultaneous connections from one address, or from one IPv6 prefix of 64 bits; nil for no such
        /// limit. Programs on the same machine are exempt.
        public var connectionsPerAddress: Int? = 64
        /// The maximum number of bytes that wait for one client on TCP.
        public var waitingBytes = 8 << 20
        /// The number of wrong passwords that an address may give before it has to wait: one second, then twice as long with
        /// each, up to 32; meanwhile its passwords are answered with 429. Nil for no such limit.
        public var loginAttempts: Int? = 5
        /// The maximum number of bytes of a request's head; a longer one is answered with 413.
        public var headBytes = 16_384
        /// The time that a client may take to send a request, the first one included.
        public var requestTimeout: Duration = .seconds(10)
        /// The time that a connection may be idle without a session.
        public var idleTimeout: Duration = .seconds(30)
        /// The time that a client on TCP may take nothing before it is disconnected.
        public var sendTimeout: Duration = .seconds(10)
        /// The time that a request waits for the first packets of the capture before it is answered with 503.
        public var mediaTimeout: Duration = .seconds(5)

        /// The defaults.
        public init() {}
    }

    /// The transports that clients may choose: with TLS the connection alone.
    var offeredTransports: Set<Transport> { tls == nil ? transports : [.tcp] }

    /// The codecs of pictures and of sound that are carried.
    static let knownCodecs = ["h264", "hevc", "vp8", "vp9", "jpeg"].map(Codec.init(rawValue:))
    static let knownAudioCodecs = ["aac", "opus", "pcm_mulaw", "pcm_alaw"].map(Codec.init(rawValue:))

    /// Checks all values.
    ///
    /// - Throws: `invalidConfiguration` for a value that is out of range or does not fit the others.
    public func validate() throws(CaptureError) {
        func check(_ isGood: Bool, _ message: String) throws(CaptureError) {
            guard isGood else {
                throw CaptureError(.invalidConfiguration, operation: "configure the RTSP server", message: message)
            }
        }
        try check((0...65535).contains(port), "A port is 0 (any that is free) to 65535, not \(port).")
        try check(
            datagramPort.map { $0 > 0 && $0 < 65535 && $0 % 2 == 0 } ?? true,
            "The port of datagrams is an even one from 2 to 65534; its reports use the next one.")
        if let problem = onvif?.problem { try check(false, problem) }
        if let problem = multicast?.problem { try check(false, problem) }
        try check(!transports.isEmpty, "There is no transport; allow tcp or udp.")
        try check(
            tls == nil || (transports.contains(.tcp) && multicast == nil),
            "Datagrams are not encrypted; allow tcp and no multicast, or leave the certificate out.")
        try check(
            !codecs.isEmpty && codecs.allSatisfy(Self.knownCodecs.contains),
            "RTSP carries the pictures as \(Self.knownCodecs.map(\.rawValue).joined(separator: ", ")).")
        try check(
            audioCodecs.allSatisfy(Self.knownAudioCodecs.contains),
            "RTSP carries the sound as \(Self.knownAudioCodecs.map(\.rawValue).joined(separator: ", ")).")
        try check((200...9000).contains(maximumPacketSize), "Packets have 200 to 9000 bytes; 1200 pass every network.")
        try check(
            path.map { $0.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != 0x3F } && !$0.contains("trackID=") } ?? true,
            "The path has letters and digits alone, as in cam.")
        try check(
            sessionTimeout >= .seconds(1) && maximumDelay > .zero && keyFrameInterval >= .zero && sendBufferSize >= 0
                && limits.connections >= 1 && limits.waitingBytes >= 1 && limits.headBytes >= 256
                && limits.connectionsPerAddress ?? 1 >= 1 && limits.loginAttempts ?? 0 >= 0,
            "Times and limits must be positive, and a session lasts a second at least.")
        guard let authentication else { return }
        let texts = [authentication.user, authentication.password, authentication.realm]
        try check(
            !authentication.password.isEmpty && !authentication.schemes.isEmpty && !authentication.user.contains(":")
                && texts.allSatisfy { $0.utf8.allSatisfy { $0 >= 0x20 } } && !authentication.realm.contains("\""),
            "A login has a name without a colon, a password, a realm without quotes, and a scheme.")
    }
}

extension RTSPServer.Configuration {
    /// The configuration that an address describes: `rtsp://0.0.0.0:8554/cam?listen`, with the options `codec=`,
    /// `transport=`, `udp=PORT`, `multicast=GROUP[:PORT]` and `ttl=N`; or `serve-rtsp://[ADDRESS:]PORT`.
    ///
    /// - Throws: `invalidConfiguration` with the part that is wrong.
    init(_ url: String) throws(CaptureError) {
        self.init()
        func invalid(_ message: String) -> CaptureError {
            CaptureError(.invalidConfiguration, operation: "open the output", subject: url, message: message)
        }
        let example = "write it as in rtsp://0.0.0.0:8554/cam?listen, or 0.0.0.0:8554 behind --serve-rtsp"
        let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var authority = parts[0].prefix { $0 != "/" }
        let path = parts[0].dropFirst(authority.count).split(separator: "/").joined(separator: "/")
        if !path.isEmpty { self.path = path }
        let isPort = authority.utf8.allSatisfy { 48...57 ~= $0 } && !authority.isEmpty
        if isPort { authority = "127.0.0.1:\(authority)" }
        do throws(StreamAddress.AuthorityError) {
            (address, port) = try StreamAddress.hostAndPort(of: authority)
        } catch {
            throw invalid(error.message(scheme: "rtsp", example: example))
        }
        guard !address.isEmpty, address != "*" else {
            throw invalid("The address names no network; write 0.0.0.0:\(port) for all.")
        }
        for option in (parts.count > 1 ? parts[1] : "").split(separator: "&") {
            let pair = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let value = pair.count > 1 ? pair[1] : ""
            switch pair[0] {
            case "listen" where ["", "1", "true"].contains(value): break
            case "codec":
                codecs = [Codec(rawValue: value)]
            case "transport":
                guard let transport = Transport(rawValue: value.lowercased()) else {
                    throw invalid("The transport is tcp or udp, not \(value).")
                }
                transports = [transport]
            case "udp":
                guard let number = Int(value) else { throw invalid("The option udp is a port, not \(value).") }
                datagramPort = number
            case "multicast":
                let parts = value.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                multicast = Multicast(group: String(parts[0]), timeToLive: multicast?.timeToLive ?? 1)
                if parts.count > 1 { multicast?.port = Int(parts[1]) ?? 0 }
            case "ttl":
                multicast = Multicast(
                    group: multicast?.group ?? "", port: multicast?.port ?? 5004, timeToLive: Int(value) ?? 0)
            default:
                let names = ["listen", "codec", "transport", "udp", "multicast", "ttl"]
                let guess = nearestName(to: pair[0], in: names).map { " Did you mean \($0)?" } ?? ""
                throw invalid("The option \(option) is not known.\(guess) There are \(names.joined(separator: ", ")).")
            }
        }
        try validate()
    }
}

extension RTSPServer.Configuration {
    /// A device of ONVIF: recorders find the server on the network, and ask it for the address of its stream.
    ///
    /// It serves the part of Profile S that recorders need (ONVIF Core and Media 1), with the login of the server by
    /// WS-UsernameToken. It is found by WS-Discovery if the server listens at an address that others reach.
    public struct ONVIF: Sendable, Hashable {
        /// The TCP port of its HTTP; 0 for any that is free. 80, 8000 and 8080 are usual.
        public var port: Int
        /// The URL of a JPEG image; nil for none. With the host `*` it is that by which a client has reached the device:
        /// `http://*:8080/snapshot`.
        public var snapshotURL: String?

        /// Makes it from a port and, optionally, a URL of an image.
        public init(port: Int, snapshotURL: String? = nil) {
            self.port = port
            self.snapshotURL = snapshotURL
        }

        /// Why it cannot be used; nil where it can.
        var problem: String? {
            guard (0...65_535).contains(port) else {
                return "The port of ONVIF is 0 (any that is free) to 65535, not \(port)."
            }
            guard let snapshotURL else { return nil }
            let isURL =
                ["http://", "https://"].contains { snapshotURL.hasPrefix($0) && snapshotURL.utf8.count > $0.utf8.count }
                && snapshotURL.utf8.allSatisfy { 0x21...0x7E ~= $0 }
            return isURL
                ? nil : "The URL of ONVIF's image begins with http:// or https://, as in http://*:8080/snapshot."
        }
    }
}
