import CaptureCore

/// An offer of a publisher of VP8.
///
/// - Parameter trickles: whether candidates are to follow, which never do: so a server that looks for a way waits on, in place
///   of one candidate that leads to this machine only.
func offer(trickles: Bool = false) -> String {
    let fingerprint = (0..<32).map { _ in "A1" }.joined(separator: ":")
    let candidates = ["a=candidate:1 1 UDP 2015363327 127.0.0.1 9 typ host", "a=end-of-candidates"]
    let lines = [
        "v=0", "o=- 4611731400430051336 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "a=group:BUNDLE 0", "a=extmap-allow-mixed",
        "a=msid-semantic: WMS pub", "m=video 9 UDP/TLS/RTP/SAVPF 96 97", "c=IN IP4 0.0.0.0", "a=rtcp:9 IN IP4 0.0.0.0",
        "a=mid:0", "a=sendonly", "a=rtcp-mux", "a=rtcp-mux-only", "a=rtcp-rsize", "a=ice-ufrag:Abcd",
        "a=ice-pwd:\(icePassword)", "a=ice-options:ice2\(trickles ? " trickle" : "")",
        "a=fingerprint:sha-256 \(fingerprint)", "a=setup:actpass",
        "a=msid:pub v0", "a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid", "a=rtpmap:96 VP8/90000",
        "a=rtcp-fb:96 nack", "a=rtcp-fb:96 nack pli", "a=rtcp-fb:96 transport-cc", "a=rtpmap:97 rtx/90000",
        "a=fmtp:97 apt=96", "a=ssrc-group:FID 11 12", "a=ssrc:11 cname:c", "a=ssrc:11 msid:pub v0", "a=ssrc:12 cname:c",
        "a=ssrc:12 msid:pub v0",
    ]
    return (lines + (trickles ? [] : candidates)).map { $0 + "\r\n" }.joined()
}

let icePassword = "qwertyuiopasdfghjklzxcvb"

/// Records events of any kind, which can be waited for.
final class EventRecord<Event: Sendable>: Sendable {
    private let events = Locked<[Event]>([])

    func add(_ event: Event) {
        events.withLock { $0.append(event) }
        events.wakeAll()
    }

    var all: [Event] { events.withLock { $0 } }

    /// The first event of a kind; nil when none comes.
    func first(_ limit: Duration = .seconds(60), where isWanted: (Event) -> Bool) -> Event? {
        events.wait(until: MonotonicClock().now.advanced(by: limit)) { $0.first(where: isWanted) }
    }
}
