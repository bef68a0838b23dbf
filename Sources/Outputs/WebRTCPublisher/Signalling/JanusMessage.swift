import CaptureCore

/// What Janus sends by its HTTP API: a response to a request, or an event.
package struct JanusMessage: Sendable {
    /// Janus's error, or that of the plugin.
    package struct Failure: Sendable, Hashable {
        package var code: Int64
        package var reason: String
    }

    /// As in `success`, `ack`, `event`, `webrtcup`.
    package var kind: String
    package var transaction: String?
    /// Of the session or handle that was made.
    package var identifier: Int64?
    package var failure: Failure?
    /// The SDP and its type.
    package var description: (type: String, sdp: String)?
    /// Of a `trickle`, without `a=`.
    package var candidate: String?
    private let value: JSONValue

    /// Reads a response, which is one message or an array of them; nil for anything else.
    package static func messages(in body: some Sequence<UInt8>) -> [JanusMessage]? {
        guard let value = JSONValue(reading: body) else { return nil }
        if case .array(let elements) = value { return elements.compactMap { JanusMessage($0) } }
        return JanusMessage(value).map { [$0] }
    }

    private init?(_ value: JSONValue) {
        guard let kind = value["janus"]?.stringValue else { return nil }
        self.kind = kind
        self.value = value
        transaction = value["transaction"]?.stringValue
        identifier = value["data"]?["id"]?.integerValue
        candidate = value["candidate"]?["candidate"]?.stringValue
        if let jsep = value["jsep"], let type = jsep["type"]?.stringValue, let sdp = jsep["sdp"]?.stringValue {
            description = (type, sdp)
        }
        if let error = value["error"] {
            failure = Failure(code: error["code"]?.integerValue ?? 0, reason: error["reason"]?.stringValue ?? "")
        } else if let code = value["plugindata"]?["data"]?["error_code"]?.integerValue {
            failure = Failure(code: code, reason: value["plugindata"]?["data"]?["error"]?.stringValue ?? "")
        }
    }
}

extension JanusMessage {
    /// The event that it reports; nil for one that is of no interest to a publisher.
    package var event: JanusEvent? {
        switch kind {
        case "webrtcup": return .connected
        case "media":
            return value["receiving"]?.boolValue.map { .media(value["type"]?.stringValue ?? "", isReceived: $0) }
        case "slowlink":
            let lost = value["lost"]?.integerValue ?? value["nacks"]?.integerValue ?? 0
            return .slowLink(isOurs: value["uplink"]?.boolValue == false, lost: Int(clamping: lost))
        case "hangup": return .hangup(reason: printable(value["reason"]?.stringValue ?? "", limit: 80))
        case "trickle": return candidate.map { .candidate($0) }
        case "event": return roomEvent
        default: return nil
        }
    }

    private var roomEvent: JanusEvent? {
        guard let data = value["plugindata"]?["data"] else { return nil }
        if data["videoroom"]?.stringValue == "destroyed" { return .roomDestroyed }
        // Those of other participants have a number in place of the text.
        if data["leaving"]?.stringValue == "ok", data["reason"]?.stringValue == "kicked" { return .kicked }
        if data["unpublished"]?.stringValue == "ok" { return .unpublished }
        return nil
    }
}

/// What happens to a publisher in a room of Janus.
package enum JanusEvent: Sendable, Hashable {
    /// ICE and DTLS are done.
    case connected
    /// Janus has begun to receive `audio` or `video`, or receives none for a second.
    case media(String, isReceived: Bool)
    /// Packets are lost: ours, or those that Janus sends.
    case slowLink(isOurs: Bool, lost: Int)
    /// A candidate that came after the answer, without `a=`.
    case candidate(String)
    /// Janus has closed the media connection; the session goes on.
    case hangup(reason: String)
    case unpublished
    case kicked
    case roomDestroyed
    /// Janus has lost the session, or cannot be reached. Nothing follows.
    case lost(SignallingError)
}
