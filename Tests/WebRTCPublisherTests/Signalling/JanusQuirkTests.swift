import CaptureCore
import HTTPTransport
import TestTools
import Testing

@testable import WebRTCPublisher

/// A server that speaks as Janus does, with events that need media, and servers that are none.
@Suite struct JanusQuirkTests {
    /// Answers requests as Janus does, and each wait for events with the next of the given texts; then it hangs.
    private static func janus(
        _ events: [String], finalStatus: String? = nil
    ) -> @Sendable (QuirkServer.Request, Connection) -> Void {
        let next = Locked(0)
        let joining = Locked("")
        return { request, connection in
            let body = JSONValue(reading: connection.readBody(of: request))
            let transaction = body?["transaction"]?.stringValue ?? ""
            guard request.method == "GET" else {
                if body?["body"]?["request"]?.stringValue == "joinandconfigure" {
                    joining.withLock { $0 = transaction }
                    joining.wakeAll()
                    return connection.respond("200 OK", body: #"{"janus":"ack","transaction":"\#(transaction)"}"#)
                }
                return connection.respond(
                    "200 OK", body: #"{"janus":"success","transaction":"\#(transaction)","data":{"id":7}}"#)
            }
            let index = next.withLock { next in
                defer { next += 1 }
                return next
            }
            let joined = joining.wait(until: MonotonicClock().now.advanced(by: .seconds(60))) { $0.isEmpty ? nil : $0 }
            guard index < events.count else {
                if let finalStatus { return connection.respond(finalStatus) }
                return connection.awaitEnd()
            }
            connection.respond("200 OK", body: events[index].replacing("JOINING", with: joined ?? ""))
        }
    }

    private static let answer = """
        {"janus":"event","sender":7,"transaction":"JOINING","plugindata":{"plugin":"janus.plugin.videoroom","data":\
        {"videoroom":"joined","room":1,"id":5}},"jsep":{"type":"answer","sdp":"v=0\\r\\n"}}
        """

    private func client(_ server: QuirkServer, timeout: Duration = .seconds(60), _ events: EventRecord<JanusEvent>)
        throws
        -> JanusClient
    {
        var place = try SignallingServer("http://127.0.0.1:\(server.port)/janus/")
        place.timeout = timeout
        return JanusClient(place, room: JanusRoom("1")) { events.add($0) }
    }

    @Test func `Events of media are reported`() throws {
        let server = QuirkServer(
            Self.janus([
                #"{"janus":"keepalive"}"#,
                #"{"janus":"trickle","sender":7,"candidate":{"candidate":"candidate:1 1 UDP 1 127.0.0.1 9 typ host"}}"#,
                Self.answer,
                #"[{"janus":"webrtcup","sender":7},{"janus":"media","sender":7,"type":"video","mid":"0","receiving":true}]"#,
                #"{"janus":"slowlink","sender":7,"media":"video","uplink":false,"lost":12}"#,
                #"{"janus":"event","plugindata":{"data":{"videoroom":"event","leaving":99}}}"#,
                #"{"janus":"event","plugindata":{"data":{"videoroom":"event","unpublished":"ok"}}}"#,
                #"{"janus":"something new"}"#, #"{"janus":"hangup","sender":7,"reason":"DTLS alert"}"#,
            ]))
        defer { server.stop() }
        let events = EventRecord<JanusEvent>()
        let client = try client(server, events)
        let answer = try client.publish(offer: offer())
        #expect(answer.sdp == "v=0\r\n")
        #expect(answer.candidates == ["candidate:1 1 UDP 1 127.0.0.1 9 typ host"])
        #expect(events.first { $0 == .hangup(reason: "DTLS alert") } != nil)
        client.close()
        #expect(
            events.all == [
                .connected, .media("video", isReceived: true), .slowLink(isOurs: true, lost: 12), .unpublished,
                .hangup(reason: "DTLS alert"),
            ])
        let sent = server.requests.map { "\($0.method) \($0.path.prefix { $0 != "?" })" }
        #expect(sent.last == "POST /janus/7")
    }

    @Test(
        arguments: [
            (#"{"janus":"timeout","session_id":7}"#, nil, SignallingErrorCode.ended),
            (#"{"janus":"error","error":{"code":458,"reason":"No such session"}}"#, nil, .ended),
            ("garbage", nil, .invalidAnswer), (#"{"janus":"keepalive"}"#, "404 Not Found", .ended),
            (#"{"janus":"keepalive"}"#, "500 Oh", .serverFailed),
        ] as [(String, String?, SignallingErrorCode)])
    func `A lost session is reported once`(event: String, status: String?, code: SignallingErrorCode) throws {
        let server = QuirkServer(Self.janus([Self.answer, event], finalStatus: status))
        defer { server.stop() }
        let events = EventRecord<JanusEvent>()
        let client = try client(server, events)
        _ = try client.publish(offer: offer())
        let lost = events.first { if case .lost = $0 { true } else { false } }
        client.close()
        guard case .lost(let error) = lost else {
            Issue.record("not reported")
            return
        }
        #expect(error.code == code)
        #expect(events.all.count == 1)
    }

    @Test(arguments: [
        (426, "No such room (1)", SignallingErrorCode.notFound),
        (429, "Missing mandatory element (pin)", .unauthorized),
        (432, "Maximum number of publishers (1) already reached", .busy),
        (433, "Unauthorized (wrong pin)", .unauthorized),
        (437, "Invalid SDP", .offerRefused), (499, "Unknown error", .serverFailed),
    ])
    func `Errors of the room have their codes`(number: Int32, words: String, code: SignallingErrorCode) throws {
        let event = """
            {"janus":"event","sender":7,"transaction":"JOINING","plugindata":{"plugin":"janus.plugin.videoroom","data":\
            {"videoroom":"event","error_code":\(number),"error":"\(words)"}}}
            """
        let server = QuirkServer(Self.janus([event]))
        defer { server.stop() }
        let client = try client(server, EventRecord())
        var error: SignallingError?
        do throws(SignallingError) { _ = try client.publish(offer: offer()) } catch let caught { error = caught }
        #expect(error?.code == code)
        #expect(error?.libraryCode == number)
        #expect(error?.code.mayRecover == (code == .busy || code == .serverFailed))
    }

    @Test(arguments: [
        ("404 Not Found", "", SignallingErrorCode.notFound), ("200 OK", "<html>", .invalidAnswer),
        ("200 OK", "[]", .invalidAnswer), ("200 OK", "{}", .invalidAnswer),
        ("200 OK", #"{"janus":"success"}"#, .invalidAnswer),
        ("200 OK", #"{"janus":"success","data":{"id":"x"}}"#, .invalidAnswer), ("403 Forbidden", "", .unauthorized),
        ("502 Bad Gateway", "", .serverFailed), ("200 OK", #"{"janus":"error","error":{"code":403}}"#, .unauthorized),
        ("200 OK", #"{"janus":"error","error":{"code":472,"reason":"No"}}"#, .busy),
        ("200 OK", #"{"janus":"error","error":[]}"#, .serverFailed),
    ])
    func `What is no Janus is an error`(status: String, body: String, code: SignallingErrorCode) throws {
        let server = QuirkServer { request, connection in
            _ = connection.readBody(of: request)
            connection.respond(status, body: body)
        }
        defer { server.stop() }
        let client = try client(server, EventRecord())
        var error: SignallingError?
        do throws(SignallingError) { _ = try client.publish(offer: offer()) } catch let caught { error = caught }
        #expect(error?.code == code, "\(error as Any)")
    }

    @Test func `An offer that is not answered is given up`() throws {
        let server = QuirkServer(Self.janus([]))
        defer { server.stop() }
        let client = try client(server, timeout: .seconds(1), EventRecord())
        #expect(throws: SignallingError.self) { try client.publish(offer: offer()) }
        // The session is ended all the same.
        #expect(server.requests.last?.method == "POST")
    }

    @Test func `Another thread ends the wait for an answer`() throws {
        let server = QuirkServer(Self.janus([]))
        defer { server.stop() }
        let client = try client(server, timeout: .seconds(600), EventRecord())
        let outcome = EventRecord<SignallingErrorCode?>()
        startThread {
            do throws(SignallingError) {
                _ = try client.publish(offer: offer())
                outcome.add(nil)
            } catch {
                outcome.add(error.code)
            }
        }
        #expect(eventually { server.requests.contains { $0.method == "GET" } })
        client.close()
        #expect(outcome.first { $0 == .cancelled } != nil)
    }
}
