import NIOCore
import NIOHTTP1
import ServerTransport
import VideoCapturing

/// The checks of requests and what answers them, only for the fuzzer. SwiftNIO's parser comes before them.
@_spi(Fuzzing)
public enum RequestParsing {
    private static let services = [false, true].map { isProtected -> Service in
        var configuration = MJPEGServer.Configuration()
        if isProtected {
            configuration.authentication = .init(user: "user", password: "secret")
            configuration.allowedOrigin = "https://player.example"
        }
        let broadcaster = Broadcaster(configuration, viewing: NoViewing()) { _ in }
        return Service(configuration, broadcaster: broadcaster, connections: Connections(limit: 1), hubs: [])
    }

    /// Answers a request, as text, and checks what must hold for any: no answer has a line that the client has chosen, none is
    /// granted without the password, and an address means the same in its absolute form.
    ///
    /// - Returns: false for what is not a head that SwiftNIO would pass on.
    @discardableResult
    public static func read(_ text: String) -> Bool {
        guard let head = head(of: text) else { return false }
        var query = Query("")
        let route = Route(head.uri, query: &query)
        if head.uri.hasPrefix("/") {
            var other = Query("")
            precondition(Route("http://camera.example:8080" + head.uri, query: &other) == route, "the same address")
        }
        let host = HostCheck(MJPEGServer.Configuration(), at: try? SocketAddress(ipAddress: "127.0.0.1", port: 80))
        for service in services {
            let crossOrigin = service.crossOriginLines(for: head, isExposed: host != nil)
            func check(_ reply: Reply) { check(reply.head(crossOrigin: crossOrigin, staysOpen: head.isKeepAlive)) }
            func check(_ bytes: ByteBuffer) { RequestParsing.check(String(buffer: bytes)) }
            if let refusal = RequestCheck.refusal(head, host, bodyLimit: 64 * 1024) { check(refusal) }
            check(service.optionsReply(route))
            if let refusal = service.authorizationRefusal(head, from: .local) {
                check(refusal)
            } else {
                precondition(
                    service.configuration.authentication == nil || head.headers.contains(name: "authorization"),
                    "granted without a password")
            }
            check(service.streamHead(ViewerRecord(StreamParameters(query), peer: "local"), crossOrigin: crossOrigin))
        }
        return true
    }

    /// The lines of a head are names with values, and it ends with an empty one.
    private static func check(_ text: String) {
        let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        precondition(parts.count == 2, "a head ends")
        for line in parts[0].split(separator: "\r\n", omittingEmptySubsequences: false).dropFirst() {
            precondition(line.contains(": "), "a line of a head: \(line)")
            precondition(line.utf8.allSatisfy { 0x20...0x7E ~= $0 }, "printable")
            precondition(!line.lowercased().hasPrefix("x-injected"), "a line of the client's")
        }
    }

    /// What SwiftNIO would pass on of a request: names are tokens, and values have no control characters.
    private static func head(of text: String) -> HTTPRequestHead? {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasSuffix("\r") ? line.dropLast() : line
        }
        let words = (lines.first ?? "").split(separator: " ", omittingEmptySubsequences: false)
        guard words.count >= 2, !words[1].isEmpty, words[1].utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else { return nil }
        var head = HTTPRequestHead(
            version: words.last == "HTTP/1.0" ? .http1_0 : .http1_1, method: HTTPMethod(rawValue: String(words[0])),
            uri: String(words[1]))
        for line in lines.dropFirst().prefix(while: { !$0.isEmpty }) {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let (name, value) = (line[..<colon], line[line.index(after: colon)...])
            guard !name.isEmpty, name.utf8.allSatisfy({ isUnreserved($0) }), value.utf8.allSatisfy({ $0 >= 0x20 })
            else {
                return nil
            }
            head.headers.add(name: String(name), value: String(value.drop { $0 == " " }))
        }
        return head
    }

    /// Another way than MJPEG, which shows nothing.
    private final class NoViewing: LiveViewing {
        var viewerCount: Int { 0 }
        func answer(_ offer: String, localAddress: String, client: String?) -> LiveViewingAnswer { .refused("") }
        func end(_ identifier: String) -> Bool { false }
    }
}
