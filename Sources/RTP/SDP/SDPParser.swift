import CaptureCore

extension SessionDescription {
    /// Reads a description. Lines may end with or without a carriage return; attributes that are not known are skipped.
    ///
    /// - Parameters:
    ///   - text: the description.
    ///   - operation: for errors, as in `read the answer`.
    /// - Throws: `tooLarge` beyond the limits, `malformed` with the line that is wrong.
    package init(parsing text: String, operation: String) throws(SDPError) {
        var parser = SDPParser(operation: operation)
        try parser.parse(text)
        self = parser.finish()
    }
}

/// Reads a description line by line.
private struct SDPParser {
    private let operation: String
    private var description = SessionDescription()
    /// What stands before the first section, and is that of each section without an own one.
    private var session = SessionDescription.Section(
        line: 0, media: "", port: 9, transport: "", payloadTypes: [], formats: "")
    private var sessionDirection: SessionDescription.Direction?
    /// What the present section states of its payload types. Lines may come in any order: Firefox writes `a=rtpmap` last.
    private var formats = FormatLines()
    private var candidateCount = 0
    private var line = 0
    private var content: Substring = ""

    init(operation: String) { self.operation = operation }

    mutating func parse(_ text: String) throws(SDPError) {
        let limit = SessionDescription.maximumSize
        guard text.utf8.count <= limit else {
            throw SDPError(
                .tooLarge, operation: operation,
                message: "The session description has \(text.utf8.count) bytes, more than the \(limit) that are read.")
        }
        // By scalars: CR and LF together are one character.
        for found in text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false) {
            line += 1
            content = Substring(found)
            if content.unicodeScalars.last == "\r" { content.unicodeScalars.removeLast() }
            guard !content.isEmpty else { continue }
            try parseLine()
        }
        endSection()
        guard line > 0, hasVersion else {
            throw SDPError(
                .malformed, operation: operation,
                message: "This is not a session description: it does not begin with v=0.")
        }
    }

    private var hasVersion = false

    /// The description, with what the sections have of the session.
    func finish() -> SessionDescription {
        var result = description
        for index in result.sections.indices {
            let own = result.sections[index]
            result.sections[index].iceUser = own.iceUser ?? session.iceUser
            result.sections[index].icePassword = own.icePassword ?? session.icePassword
            result.sections[index].fingerprints += session.fingerprints
            result.sections[index].setup = own.setup ?? session.setup
            for shared in session.extensions where !own.extensions.contains(where: { $0.uri == shared.uri }) {
                result.sections[index].extensions.append(shared)
            }
        }
        return result
    }

    private mutating func parseLine() throws(SDPError) {
        let bytes = Array(content.utf8.prefix(2))
        guard bytes.count == 2, (97...122).contains(bytes[0]), bytes[1] == UInt8(ascii: "=") else {
            throw malformed("it is not of the form x=value")
        }
        let value = content.dropFirst(2)
        guard hasVersion else {
            guard content == "v=0" else { throw malformed("a description begins with v=0") }
            hasVersion = true
            return
        }
        switch bytes[0] {
        case UInt8(ascii: "m"): try parseMedia(value)
        case UInt8(ascii: "a"):
            let parts = value.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            try parseAttribute(parts[0], parts.count > 1 ? parts[1] : "")
        default: break
        }
    }

    private mutating func parseMedia(_ value: Substring) throws(SDPError) {
        guard description.sections.count < SessionDescription.maximumSections else {
            throw SDPError(
                .tooLarge, operation: operation,
                message: "Line \(line) begins a section beyond the \(SessionDescription.maximumSections) that are read."
            )
        }
        let words = value.split(separator: " ", maxSplits: 3)
        // Its words are in messages and in answers.
        guard value.utf8.allSatisfy({ 0x20...0x7E ~= $0 }), words.first?.utf8.count ?? 0 <= 32 else {
            throw malformed("the words of a section are of printable ASCII characters, and a medium is a short one")
        }
        guard words.count == 4, let port = Int(words[1].prefix { $0 != "/" }), (0...65535).contains(port) else {
            throw malformed("a section has a medium, a port up to 65535, a protocol and formats")
        }
        var types: [UInt8] = []
        if words[2].contains("RTP/") {
            for word in words[3].split(separator: " ").prefix(SessionDescription.maximumItems) {
                guard let type = UInt8(word), type < 128 else { throw malformed("payload types are numbers below 128") }
                types.append(type)
            }
        }
        endSection()
        var section = SessionDescription.Section(
            line: line, media: String(words[0]), port: port, transport: String(words[2]), payloadTypes: types,
            formats: String(words[3]))
        if let sessionDirection { section.direction = sessionDirection }
        description.sections.append(section)
    }

    /// Gives the section the formats that its lines describe.
    private mutating func endSection() {
        if let last = description.sections.indices.last { description.sections[last].codecs = formats.joined }
        formats = FormatLines()
    }

    /// Changes the section, or the session before the first one.
    private mutating func change(_ body: (inout SessionDescription.Section) throws(SDPError) -> Void) throws(SDPError) {
        if description.sections.isEmpty {
            try body(&session)
        } else {
            try body(&description.sections[description.sections.count - 1])
        }
    }

    private mutating func parseAttribute(_ name: Substring, _ value: Substring) throws(SDPError) {
        let here = self
        switch name {
        case "group":
            let words = value.split(separator: " ")
            if words.first == "BUNDLE" {
                description.bundle = words.dropFirst().prefix(SessionDescription.maximumItems).map(String.init)
            }
        case "ice-lite": description.isICELite = true
        case "mid": try change { $0.mid = value.isEmpty || value.utf8.count > 64 ? nil : String(value) }
        case "sendrecv", "sendonly", "recvonly", "inactive":
            let direction = SessionDescription.Direction(rawValue: String(name))
            if description.sections.isEmpty { sessionDirection = direction }
            try change { if let direction { $0.direction = direction } }
        case "rtcp-mux": try change { $0.multiplexesRTCP = true }
        case "bundle-only": try change { $0.isBundleOnly = true }
        case "ice-ufrag":
            let user = try credential(value, 4...256, "a user name of ICE has 4 to 256 letters, digits, + or /")
            try change { $0.iceUser = user }
        case "ice-pwd":
            let password = try credential(value, 22...256, "a password of ICE has 22 to 256 letters, digits, + or /")
            try change { $0.icePassword = password }
        case "fingerprint":
            guard let fingerprint = try parseFingerprint(value) else { return }
            try change { section throws(SDPError) in
                guard section.fingerprints.count < 8 else { throw here.malformed("there are more than 8 fingerprints") }
                section.fingerprints.append(fingerprint)
            }
        case "setup":
            guard let setup = SessionDescription.Setup(rawValue: value.lowercased()) else {
                throw malformed("the role is active, passive or actpass")
            }
            try change { $0.setup = setup }
        case "candidate": takeCandidate(value)
        case "rtpmap", "fmtp", "rtcp-fb", "extmap": try parseFormat(name, value)
        default: break
        }
    }

    private func credential(_ value: Substring, _ counts: ClosedRange<Int>, _ message: String) throws(SDPError)
        -> String
    {
        let isGood = value.utf8.allSatisfy { byte in
            switch byte {
            case 48...57, 65...90, 97...122, UInt8(ascii: "+"), UInt8(ascii: "/"): true
            // Not of ICE's letters, but in use.
            case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "="): true
            default: false
            }
        }
        guard isGood, counts.contains(value.utf8.count) else { throw malformed(message) }
        return String(value)
    }

    private mutating func takeCandidate(_ value: Substring) {
        // foundation component transport …: RTCP has no component of its own where it is multiplexed.
        let words = value.split(separator: " ", maxSplits: 2)
        guard candidateCount < SessionDescription.maximumCandidates, value.utf8.count <= 512, words.count == 3,
            words[1] == "1", !description.sections.isEmpty
        else {
            description.candidatesIgnored += 1
            return
        }
        candidateCount += 1
        description.sections[description.sections.count - 1].candidates.append("candidate:\(value)")
    }

    /// Nil for a hash function that is not known: there may be another fingerprint.
    private func parseFingerprint(_ value: Substring) throws(SDPError) -> SessionDescription.Fingerprint? {
        let words = value.split(separator: " ")
        guard words.count == 2 else { throw malformed("a fingerprint has a hash function and its bytes") }
        let sizes = ["sha-1": 20, "sha-224": 28, "sha-256": 32, "sha-384": 48, "sha-512": 64]
        let hash = words[0].lowercased()
        guard let size = sizes[hash] else { return nil }
        let bytes = words[1].split(separator: ":", omittingEmptySubsequences: false).map { byte in
            byte.utf8.count == 2 && byte.utf8.first != UInt8(ascii: "+") ? UInt8(byte, radix: 16) : nil
        }
        let digest = bytes.compactMap { $0 }
        guard digest.count == bytes.count, digest.count == size else {
            throw malformed("a fingerprint by \(hash) has \(size) bytes, as in AA:BB:CC")
        }
        return SessionDescription.Fingerprint(hash: hash, digest: digest)
    }

    private mutating func parseFormat(_ name: Substring, _ value: Substring) throws(SDPError) {
        let here = self
        let words = value.split(separator: " ", maxSplits: 1)
        guard words.count == 2 else { throw malformed("a number and a value are needed") }
        if name == "extmap" {
            guard let id = UInt8(words[0].prefix { $0 != "/" }), id > 0 else {
                throw malformed("an extension has a number from 1 to 255")
            }
            let uri = String(words[1].prefix { $0 != " " })
            // Those beyond 14 need headers of two bytes, which are not sent.
            guard id <= 14 else { return }
            try change { section throws(SDPError) in
                guard section.extensions.count < SessionDescription.maximumItems else { return }
                guard !section.extensions.contains(where: { $0.id == id }) else {
                    throw here.malformed("two extensions have the number \(id)")
                }
                section.extensions.append(.init(id: id, uri: uri))
            }
            return
        }
        if name == "rtcp-fb", words[0] == "*" { return formats.addFeedback(words[1]) }
        guard let type = UInt8(words[0]), type < 128 else { throw malformed("payload types are numbers below 128") }
        switch name {
        case "rtpmap": formats.add(try parseMap(type, words[1]))
        case "fmtp": formats.setParameters(words[1], of: type)
        default: formats.addFeedback(words[1], to: type)
        }
    }

    private func parseMap(_ type: UInt8, _ value: Substring) throws(SDPError) -> SessionDescription.PayloadFormat {
        let parts = value.split(separator: "/")
        guard parts.count >= 2, let rate = Int(parts[1].prefix { $0 != " " }), rate > 0 else {
            throw malformed("a format has a name and a clock rate, as in VP8/90000")
        }
        var format = SessionDescription.PayloadFormat(payloadType: type, name: String(parts[0]), clockRate: rate)
        if parts.count > 2, let channels = Int(parts[2].prefix { $0 != " " }) { format.channels = channels }
        return format
    }

    /// Quotes the line, but for what is secret in it: also where the line is so damaged that it is hardly known as such.
    private func malformed(_ reason: String) -> SDPError {
        var shown = printable(maskingLongWords(content), limit: 60)
        for mark in ["pwd", "ufrag", "crypto", "k="] {
            guard let found = content.firstRange(of: mark) else { continue }
            shown = printable(String(content[..<found.upperBound]), limit: 60) + "…"
        }
        return SDPError(
            .malformed, operation: operation,
            message: "Line \(line) of the session description, \"\(shown)\", cannot be read: \(reason).")
    }

    /// The line without words as long as the shortest password of ICE, in its letters.
    private func maskingLongWords(_ text: Substring) -> String {
        var result = String.UnicodeScalarView()
        var word = String.UnicodeScalarView()
        func flush() {
            result.append(contentsOf: word.count >= 20 ? "…".unicodeScalars : word)
            word.removeAll()
        }
        for scalar in text.unicodeScalars.prefix(512) {
            if scalar.isASCII,
                scalar.properties.isAlphabetic || scalar.properties.numericType != nil || scalar == "+"
                    || scalar == "/"
            {
                word.append(scalar)
            } else {
                flush()
                result.append(scalar)
            }
        }
        flush()
        return String(result)
    }
}

/// The lines of a section about its payload types, in any order: `a=rtpmap`, `a=fmtp` and `a=rtcp-fb`.
private struct FormatLines {
    private var maps: [SessionDescription.PayloadFormat] = []
    private var parameters: [UInt8: [String: String]] = [:]
    private var feedback: [UInt8: Set<String>] = [:]
    /// Of all payload types: `a=rtcp-fb:*`.
    private var sharedFeedback: Set<String> = []

    /// Each payload type with what is stated of it.
    var joined: [SessionDescription.PayloadFormat] {
        maps.map { map in
            var format = map
            format.parameters = parameters[map.payloadType] ?? [:]
            format.feedback = sharedFeedback.union(feedback[map.payloadType] ?? [])
            return format
        }
    }

    mutating func add(_ format: SessionDescription.PayloadFormat) {
        guard maps.count < SessionDescription.maximumItems,
            !maps.contains(where: { $0.payloadType == format.payloadType })
        else { return }
        maps.append(format)
    }

    mutating func setParameters(_ value: Substring, of type: UInt8) {
        var found: [String: String] = [:]
        for pair in value.split(separator: ";").prefix(SessionDescription.maximumItems) {
            let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let key = parts.first else { continue }
            found[key.lowercased()] = parts.count > 1 ? String(parts[1]) : ""
        }
        parameters[type] = found
    }

    /// - Parameter type: nil for all payload types.
    mutating func addFeedback(_ value: Substring, to type: UInt8? = nil) {
        func add(to set: inout Set<String>) {
            if set.count < SessionDescription.maximumItems { set.insert(value.lowercased()) }
        }
        if let type { add(to: &feedback[type, default: []]) } else { add(to: &sharedFeedback) }
    }
}
