import Testing

@testable import WebRTCPublisher

/// `Link` headers of responses, and the URIs of STUN and TURN servers.
@Suite struct ICEServerTests {
    @Test(arguments: [
        ("stun:h", false, "h", 3478, ICEServer.Transport.udp), ("stuns:h", false, "h", 5349, .tls),
        ("turn:h:80", true, "h", 80, .udp), ("turn:h?transport=tcp", true, "h", 3478, .tcp),
        ("TURNS:h.example:443?transport=tcp", true, "h.example", 443, .tls), ("turns:h", true, "h", 5349, .tls),
        ("turn:[fd00::1]:5000?transport=udp", true, "fd00::1", 5000, .udp), ("stun:[::1]", false, "::1", 3478, .udp),
    ])
    func `URIs are read`(uri: String, isRelay: Bool, host: String, port: UInt16, transport: ICEServer.Transport) throws
    {
        let server = try #require(ICEServer(uri: uri))
        #expect(server.isRelay == isRelay)
        #expect(server.host == host)
        #expect(server.port == port)
        #expect(server.transport == transport)
    }

    @Test(arguments: [
        "", "h", "http://h", "turn:", "turn:h:0", "turn:h:65536", "turn:h:-1", "turn:h:x", "turn:h:", "turn:[::1",
        "turn:[::1]x", "turn:h/p", "turn:h h", "turn:h?transport=sctp", "turns:h?transport=udp", "turn:u@h",
    ])
    func `Other URIs are refused`(uri: String) { #expect(ICEServer(uri: uri) == nil) }

    @Test func `Links are read as they come`() {
        let servers = ICEServer.servers(inLinks: [
            "<stun:a>; rel=\"ice-server\"",
            "<https://e/events>; rel=\"urn:ietf:params:whep:ext:core:server-sent-events\", <turn:b?transport=udp>;"
                + "rel=\"ice-server\";username=\"us,er;\";credential=\"pa\\\"ss>\"; credential-type=\"password\"",
            "<turn:c>;REL=Ice-Server;Username=u;credential=p , <turn:d>; rel=ice-server; username=\"x\"; "
                + "credential=\"y\"; credential-type=\"oauth\"",
            "<turn:e>; rel=\"ice-server\"",
            "<turn:f>; rel=\"next ice-server\"; username=\"a\"; username=\"b\"; credential=\"unended",
        ])
        #expect(servers.map(\.host) == ["a", "b", "c", "f"])
        #expect(servers[1].username == "us,er;")
        #expect(servers[1].password == "pa\"ss>")
        #expect(servers[2].username == "u")
        #expect(servers[3].username == "a")
        #expect(servers[3].password == "unended")
    }

    @Test(arguments: [
        "", ",", "<", "<>", ">", "<turn:a", "turn:a; rel=ice-server", "<stun:a>", "<stun:a>;", "<stun:a>; rel=",
        "<stun:a>; rel=\"", "<stun:a>; =x", "<stun:a>;;;", "<stun:a> rel=ice-server",
    ])
    func `Damaged links are left out`(value: String) {
        #expect(ICEServer.servers(inLinks: [value]).isEmpty)
    }

    @Test func `Their number has a limit, and they show no password`() {
        let link = "<turn:h>; rel=ice-server; username=name; credential=hidden"
        let servers = ICEServer.servers(inLinks: Array(repeating: link, count: 100))
        #expect(servers.count == 16)
        for shown in ["\(servers)", String(reflecting: servers), String(describing: servers[0])] {
            #expect(!shown.contains("hidden") && !shown.contains("name"))
        }
    }
}
