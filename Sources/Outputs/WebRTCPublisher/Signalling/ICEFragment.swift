/// The part of a session description that a PATCH carries (`application/trickle-ice-sdpfrag`, RFC 8840): credentials and
/// candidates of one agent.
package struct ICEFragment: Sendable, Hashable {
    package static let contentType = "application/trickle-ice-sdpfrag"

    package var ufrag: String
    package var password: String
    /// The first section of the offer, as in `m=video 9 UDP/TLS/RTP/SAVPF 96 97`; empty for none.
    package var mediaLine = ""
    /// The `mid` of that section, and of all that are bundled with it.
    package var mids: [String] = ["0"]
    /// As in `candidate:1 1 UDP …`, without `a=`.
    package var candidates: [String] = []
    /// Whether all candidates are known.
    package var isComplete = true

    package init(ufrag: String, password: String) {
        self.ufrag = ufrag
        self.password = password
    }

    /// As it is sent.
    package var text: String {
        var lines = ["a=ice-ufrag:\(ufrag)", "a=ice-pwd:\(password)"]
        if !mids.isEmpty, !mediaLine.isEmpty {
            lines += ["a=group:BUNDLE \(mids.joined(separator: " "))", mediaLine, "a=mid:\(mids[0])"]
        }
        lines += candidates.map { "a=\($0)" }
        if isComplete { lines.append("a=end-of-candidates") }
        return lines.map { $0 + "\r\n" }.joined()
    }

    /// The largest numbers that are taken of a server.
    private static let maximumCandidates = 32
    private static let maximumLine = 512

    /// Reads a server's fragment; nil for one without credentials. Lines that are not understood are left out.
    package init?(parsing text: String) {
        ufrag = ""
        password = ""
        mids = []
        isComplete = false
        for line in text.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D })
        where line.count <= ICEFragment.maximumLine {
            guard let line = String(line) else { continue }
            func value(_ name: String) -> String? { line.hasPrefix(name) ? String(line.dropFirst(name.count)) : nil }
            if let value = value("a=ice-ufrag:") {
                if ufrag.isEmpty { ufrag = value }
            } else if let value = value("a=ice-pwd:") {
                if password.isEmpty { password = value }
            } else if line.hasPrefix("m=") {
                if mediaLine.isEmpty { mediaLine = line }
            } else if let value = value("a=mid:") {
                if mids.isEmpty { mids = [value] }
            } else if line.hasPrefix("a=candidate:") {
                if candidates.count < ICEFragment.maximumCandidates { candidates.append(String(line.dropFirst(2))) }
            } else if line == "a=end-of-candidates" {
                isComplete = true
            }
        }
        guard ICEFragment.isCredential(ufrag, atLeast: 4), ICEFragment.isCredential(password, atLeast: 22) else {
            return nil
        }
    }

    /// Of the lengths of RFC 8839; its characters are letters, digits, `+` and `/`, but others are seen.
    private static func isCredential(_ text: String, atLeast minimum: Int) -> Bool {
        (minimum...256).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}

extension ICEFragment: CustomStringConvertible, CustomReflectable {
    /// Without the password.
    package var description: String { "ICE fragment with \(candidates.count) candidates" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
