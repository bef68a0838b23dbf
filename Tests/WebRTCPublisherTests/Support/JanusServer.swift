import Glibc
import HTTPTransport
import TestTools
import Testing

@testable import WebRTCPublisher

/// Janus itself, with a VideoRoom, on ports of its own at 127.0.0.1, until its end.
final class JanusServer {
    static let room = "1234"
    static let pin = "lab-pin"
    static let secret = "lab-room-secret"
    static let adminKey = "lab-room-key"

    let port: Int
    private let folder: TemporaryFolder
    private var peer: Peer?

    /// - Parameters:
    ///   - apiSecret: which requests must have; nil for none.
    ///   - trickles: whether candidates come apart from the answer.
    init(apiSecret: String? = nil, trickles: Bool = false) throws {
        port = try TestListener.freePort()
        let folder = TemporaryFolder()
        self.folder = folder
        let base = "/usr/lib/x86_64-linux-gnu/janus"
        let files = [
            "janus.jcfg": """
            general: {
                configs_folder = "\(folder.path)"
                plugins_folder = "\(base)/plugins"
                transports_folder = "\(base)/transports"
                events_folder = "\(base)/events"
                loggers_folder = "\(base)/loggers"
                debug_level = 4
                session_timeout = 60
                \(apiSecret.map { "api_secret = \"\($0)\"" } ?? "")
            }
            media: { ipv6 = false; dtls_mtu = 1200 }
            nat: { full_trickle = \(trickles); ice_lite = false; ice_tcp = false }
            plugins: { disable = "libjanus_audiobridge.so,libjanus_duktape.so,libjanus_echotest.so,libjanus_lua.so,\
            libjanus_nosip.so,libjanus_recordplay.so,libjanus_sip.so,libjanus_streaming.so,libjanus_textroom.so,\
            libjanus_videocall.so,libjanus_voicemail.so" }
            transports: { disable = "libjanus_rabbitmq.so,libjanus_mqtt.so,libjanus_nanomsg.so,libjanus_pfunix.so,\
            libjanus_websockets.so" }
            """,
            "janus.transport.http.jcfg": """
            general: { json = "compact"; base_path = "/janus"; http = true; port = \(port); ip = "127.0.0.1"; https = false }
            admin: { admin_http = false; admin_https = false }
            """,
            "janus.plugin.videoroom.jcfg": """
            general: { admin_key = "\(JanusServer.adminKey)" }
            room-\(JanusServer.room): {
                secret = "\(JanusServer.secret)"
                pin = "\(JanusServer.pin)"
                publishers = 12
                bitrate = 3000000
                videocodec = "vp8"
                transport_wide_cc_ext = true
            }
            """,
        ]
        for (name, text) in files { try folder.write(Array(text.utf8), to: name) }
        try start()
    }

    deinit { stop() }

    var url: String { "http://127.0.0.1:\(port)/janus" }

    /// Starts it, again after ``stop()``, at the same port.
    func start() throws {
        let started: Peer = try #require(Peer("janus", ["-F", folder.path, "-o"]), "install janus")
        peer = started
        let information = try HTTPRequest(address: HTTPAddress(url + "/info"))
        let isUp = eventually(within: .seconds(120)) {
            (try? HTTPClient(maximumBodyBytes: 1 << 20).perform(information))?.status == 200
        }
        try #require(isUp, "janus has not started")
    }

    func stop() {
        peer?.stop()
        peer = nil
    }

    func client(
        room name: String = JanusServer.room, apiSecret: String? = nil, pin: String? = JanusServer.pin,
        creation: JanusRoom.Creation? = nil, onEvent: @escaping @Sendable (JanusEvent) -> Void = { _ in }
    ) throws -> JanusClient {
        var room = JanusRoom(name)
        room.pin = pin
        room.display = "test"
        room.creation = creation
        var server = try SignallingServer(url)
        server.timeout = .seconds(60)
        return JanusClient(server, room: room, apiSecret: apiSecret, onEvent: onEvent)
    }
}
