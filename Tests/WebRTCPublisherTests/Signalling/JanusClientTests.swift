import CaptureCore
import HTTPTransport
import TestTools
import Testing

@testable import WebRTCPublisher

/// Signalling with Janus itself. Media does not flow.
@Suite(.serialized) struct JanusClientTests {
    private func refusal(_ client: JanusClient, offer text: String = offer(trickles: true)) -> SignallingError? {
        defer { client.close() }
        do throws(SignallingError) {
            _ = try client.publish(offer: text)
            return nil
        } catch {
            return error
        }
    }

    /// Asks Janus for something by a session of its own, as the room's administrator would.
    private func ask(_ server: JanusServer, _ body: String) throws -> JSONValue {
        func post(_ path: String, _ text: String) throws -> JSONValue {
            var request = HTTPRequest(address: try HTTPAddress(server.url + path))
            request.method = "POST"
            request.body = Array(text.utf8)
            return try #require(JSONValue(reading: try HTTPClient().perform(request).body))
        }
        let session = try #require(try post("", #"{"janus":"create","transaction":"a"}"#)["data"]?["id"]?.integerValue)
        let handle = try #require(
            try post("/\(session)", #"{"janus":"attach","plugin":"janus.plugin.videoroom","transaction":"b"}"#)[
                "data"]?["id"]?
                .integerValue)
        let reply = try post("/\(session)/\(handle)", #"{"janus":"message","transaction":"c","body":\#(body)}"#)
        _ = try post("/\(session)", #"{"janus":"destroy","transaction":"d"}"#)
        return try #require(reply["plugindata"]?["data"])
    }

    private func participants(_ server: JanusServer) throws -> [JSONValue] {
        try ask(server, #"{"request":"listparticipants","room":\#(JanusServer.room)}"#)["participants"]?.elements ?? []
    }

    @Test func `A publisher joins, is answered, and leaves`() throws {
        let server = try JanusServer()
        let client = try server.client()
        let answer = try client.publish(offer: offer(trickles: true))
        #expect(answer.sdp.hasPrefix("v=0"))
        #expect(answer.sdp.contains("a=ice-ufrag:") && answer.sdp.contains("a=setup:active"))
        #expect(answer.sdp.contains("m=video 9 UDP/TLS/RTP/SAVPF 96"))
        #expect(try participants(server).map { $0["display"]?.stringValue } == ["test"])
        client.close()
        client.close()
        #expect(try participants(server).isEmpty)
    }

    @Test func `Candidates that come apart are kept`() throws {
        let server = try JanusServer(trickles: true)
        let late = EventRecord<JanusEvent>()
        let client = try server.client { late.add($0) }
        defer { client.close() }
        let answer = try client.publish(offer: offer(trickles: true))
        #expect(!answer.sdp.contains("a=candidate"))
        // Before the answer or after it; none where the machine has no other address than loopback.
        let isThere =
            !answer.candidates.isEmpty
            || late.first(.seconds(20)) { if case .candidate = $0 { true } else { false } } != nil
        let hasAddress = try run("ip", "-o", "-4", "addr").split(separator: "\n").contains { !$0.contains(" lo ") }
        #expect(isThere || !hasAddress)
        #expect(answer.candidates.allSatisfy { $0.hasPrefix("candidate:") })
    }

    @Test func `Refusals say what to do`() throws {
        let server = try JanusServer()
        let missing = try #require(refusal(try server.client(room: "77")))
        #expect(missing.code == .notFound)
        #expect(missing.message.contains("77"))
        #expect(missing.libraryCode == 426)
        let noPin = try #require(refusal(try server.client(pin: nil)))
        #expect(noPin.code == .unauthorized)
        #expect(noPin.message.contains("asks for a pin"))
        let wrongPin = try #require(refusal(try server.client(pin: "secret-guess")))
        #expect(wrongPin.code == .unauthorized)
        #expect(wrongPin.message.contains("refuses the pin"))
        #expect(!wrongPin.description.contains("secret-guess"))
        let garbage = try #require(refusal(try server.client(), offer: "v=0\r\ngarbage"))
        #expect(garbage.code == .offerRefused, "\(garbage)")
    }

    @Test func `An API secret is needed where Janus asks for one`() throws {
        let server = try JanusServer(apiSecret: "a b&c=d")
        let error = try #require(refusal(try server.client()))
        #expect(error.code == .unauthorized)
        #expect(error.message.contains("API secret"))
        #expect(refusal(try server.client(apiSecret: "a b&c=d")) == nil)
    }

    @Test func `A room is made, and destroyed with the publisher`() throws {
        let server = try JanusServer()
        let room = "4321"
        var creation = JanusRoom.Creation()
        let noKey = try #require(refusal(try server.client(room: room, creation: creation)))
        #expect(noKey.code == .unauthorized)
        creation.adminKey = JanusServer.adminKey
        let client = try server.client(room: room, creation: creation)
        _ = try client.publish(offer: offer(trickles: true))
        // Another one finds it there, and does not destroy it.
        #expect(refusal(try server.client(room: room, creation: creation)) == nil)
        func exists() throws -> Bool? { try ask(server, #"{"request":"exists","room":4321}"#)["exists"]?.boolValue }
        #expect(try exists() == true)
        client.close()
        #expect(try exists() == false)
    }

    @Test func `A kick and the end of the room are reported`() throws {
        let server = try JanusServer()
        let events = EventRecord<JanusEvent>()
        let first = try server.client { events.add($0) }
        defer { first.close() }
        _ = try first.publish(offer: offer(trickles: true))
        let identifier = try #require(try participants(server).first?["id"]?.integerValue)
        let kick = #"{"request":"kick","room":1234,"secret":"\#(JanusServer.secret)","id":\#(identifier)}"#
        #expect(try ask(server, kick)["videoroom"]?.stringValue == "success")
        #expect(events.first { $0 == .kicked } != nil, "\(events.all)")

        let second = try server.client { events.add($0) }
        defer { second.close() }
        _ = try second.publish(offer: offer(trickles: true))
        _ = try ask(server, #"{"request":"destroy","room":1234,"secret":"\#(JanusServer.secret)"}"#)
        #expect(events.first { $0 == .roomDestroyed } != nil, "\(events.all)")
    }

    @Test func `A restart of Janus is reported, and another client joins`() throws {
        let server = try JanusServer()
        let events = EventRecord<JanusEvent>()
        let client = try server.client { events.add($0) }
        _ = try client.publish(offer: offer(trickles: true))
        server.stop()
        try server.start()
        let lost = events.first { if case .lost = $0 { true } else { false } }
        guard case .lost(let error) = lost else {
            Issue.record("the loss was not reported: \(events.all)")
            return
        }
        #expect(error.code.mayRecover, "\(error)")
        client.close()
        #expect(refusal(try server.client()) == nil)
    }

    @Test func `The handler may close the client`() throws {
        let server = try JanusServer()
        let holder = Locked<JanusClient?>(nil)
        let closed = ManualResetEvent()
        let client = try server.client { event in
            if case .lost = event {
                holder.withLock { $0 }?.close()
                closed.raise()
            }
        }
        holder.withLock { $0 = client }
        // The client keeps its handler, which keeps the holder.
        defer { holder.withLock { $0 = nil } }
        _ = try client.publish(offer: offer(trickles: true))
        server.stop()
        closed.wait(until: MonotonicClock().now.advanced(by: .seconds(60)))
        #expect(closed.isRaised)
    }
}
