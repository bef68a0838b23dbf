import CaptureCore

/// What this side offers, or answers with: its streams and its transport.
package struct LocalSession: Sendable {
    /// The number of the session; random, of 63 bits.
    package var id = UInt64.random(in: 1...UInt64(Int64.max))
    /// The streams, one section each.
    package var streams: [Stream]
    /// The transport that they share.
    package var transport: Transport
    /// The name of the media stream that all belong to (`msid`), and the canonical name of RTCP.
    package var streamID = "pub"
    package var cname: String

    /// One stream.
    package struct Stream: Sendable {
        /// The formats that it can be sent in, the preferred one first; all of one medium.
        package var formats: [Format]
        /// The source of its packets.
        package var ssrc = UInt32.random(in: 1 ... .max)
        /// The source of retransmissions; nil for none.
        package var retransmissionSSRC: UInt32?
        /// The RTP timestamp of the capture clock's epoch, for an answer to state (RFC 7273): so a receiver that knows that
        /// clock knows when each frame was captured. Nil to leave it out.
        package var epoch: UInt32?

        /// A stream in one of these formats.
        package init(
            formats: [Format], ssrc: UInt32 = .random(in: 1 ... .max), retransmissionSSRC: UInt32? = nil
        ) {
            self.formats = formats
            self.ssrc = ssrc
            self.retransmissionSSRC = retransmissionSSRC
        }

        /// `audio` or `video`.
        var media: String { formats.first?.format.isAudio == true ? "audio" : "video" }
    }

    /// A payload format that is offered.
    package struct Format: Sendable, Hashable {
        /// How frames are carried.
        package var format: RTPFormat
        /// The payload type in an offer, 96 to 127.
        package var payloadType: UInt8
        /// The payload type of retransmissions in an offer; nil for none.
        package var retransmissionType: UInt8?
        /// `profile-level-id` of H.264: three bytes of the SPS in hexadecimal.
        package var profileLevelID = "42e01f"
        /// Whether sound has two channels: a receiver of libwebrtc plays one unless that is stated.
        package var isStereo = false

        /// A format under a payload type.
        package init(
            _ format: RTPFormat, payloadType: UInt8, retransmissionType: UInt8? = nil, profileLevelID: String = "42e01f"
        ) {
            self.format = format
            self.payloadType = payloadType
            self.retransmissionType = retransmissionType
            self.profileLevelID = profileLevelID
        }
    }

    /// The transport of this side.
    package struct Transport: Sendable {
        /// The user name of ICE.
        package var iceUser: String
        /// The password of ICE: a secret.
        package var icePassword: String
        /// The fingerprint of the certificate as it is written, as in `sha-256 AA:BB`.
        package var fingerprint: String
        /// The role in DTLS: either in an offer, active or passive in an answer.
        package var setup = SessionDescription.Setup.either
        /// The candidates, with or without `a=`; all that there will be.
        package var candidates: [String]

        /// The transport of a session.
        package init(
            iceUser: String, icePassword: String, fingerprint: String, setup: SessionDescription.Setup = .either,
            candidates: [String]
        ) {
            self.iceUser = iceUser
            self.icePassword = icePassword
            self.fingerprint = fingerprint
            self.setup = setup
            self.candidates = candidates
        }
    }

    /// A session with these streams.
    package init(
        streams: [Stream], transport: Transport, cname: String = RTPSender.Configuration.randomName()
    ) {
        self.streams = streams
        self.transport = transport
        self.cname = cname
    }

    // MARK: Offering

    /// The offer: one transport for all sections, which only send. Aiortc, Chromium, Firefox, Pion, Janus and
    /// simple-whip-server take it.
    package var offer: String {
        var text = SDPText()
        let mids = streams.indices.map { "\($0)" }
        writeHead(&text, bundle: mids)
        for (index, stream) in streams.enumerated() {
            let types = stream.formats.flatMap { [$0.payloadType] + ($0.retransmissionType.map { [$0] } ?? []) }
            text.add("m=\(stream.media) 9 UDP/TLS/RTP/SAVPF \(types.map { "\($0)" }.joined(separator: " "))")
            writeTransport(&text, mid: mids[index])
            var extensions = RTPExtensionIDs(mid: 1, absoluteSendTime: 2, transportNumber: 3)
            if stream.media == "video" { extensions.videoOrientation = 4 }
            writeExtensions(&text, extensions)
            for format in stream.formats {
                writeFormat(
                    &text, format, payloadType: format.payloadType, retransmissionType: format.retransmissionType,
                    feedback: format.format.isAudio
                        ? ["transport-cc"] : ["nack", "nack pli", "ccm fir", "goog-remb", "transport-cc"])
            }
            let isResent = stream.formats.contains { $0.retransmissionType != nil }
            writeSources(&text, stream, isResent: isResent)
            if index == 0 { writeCandidates(&text) }
        }
        return text.content
    }

    func writeHead(_ text: inout SDPText, bundle: [String]) {
        text.add("v=0")
        text.add("o=- \(id) 1 IN IP4 0.0.0.0")
        text.add("s=-")
        text.add("t=0 0")
        if !bundle.isEmpty { text.add("a=group:BUNDLE \(bundle.joined(separator: " "))") }
        text.add("a=extmap-allow-mixed")
        text.add("a=msid-semantic: WMS \(streamID)")
    }

    func writeTransport(_ text: inout SDPText, mid: String?) {
        text.add("c=IN IP4 0.0.0.0")
        text.add("a=rtcp:9 IN IP4 0.0.0.0")
        if let mid { text.add("a=mid:\(mid)") }
        for line in ["sendonly", "rtcp-mux", "rtcp-mux-only", "rtcp-rsize"] { text.add("a=\(line)") }
        text.add("a=ice-ufrag:\(transport.iceUser)")
        text.add("a=ice-pwd:\(transport.icePassword)")
        text.add("a=ice-options:ice2")
        text.add("a=fingerprint:\(transport.fingerprint)")
        text.add("a=setup:\(transport.setup.rawValue)")
    }

    func writeExtensions(_ text: inout SDPText, _ extensions: RTPExtensionIDs) {
        for (path, uri) in RTPExtensionIDs.uris {
            if let id = extensions[keyPath: path] { text.add("a=extmap:\(id) \(uri)") }
        }
    }

    func writeFormat(
        _ text: inout SDPText, _ format: Format, payloadType: UInt8, retransmissionType: UInt8?, feedback: [String]
    ) {
        text.add("a=rtpmap:\(payloadType) \(format.format.encodingName)")
        for line in feedback { text.add("a=rtcp-fb:\(payloadType) \(line)") }
        switch format.format {
        case .vp8: break
        case .h264:
            text.add(
                "a=fmtp:\(payloadType) level-asymmetry-allowed=1;packetization-mode=1;"
                    + "profile-level-id=\(format.profileLevelID)")
        case .opus:
            let stereo = format.isStereo ? ";stereo=1;sprop-stereo=1" : ""
            text.add("a=fmtp:\(payloadType) minptime=10;useinbandfec=1\(stereo)")
        // Not of WebRTC.
        case .aac, .h265, .vp9, .jpeg, .g711: break
        }
        guard let retransmissionType else { return }
        text.add("a=rtpmap:\(retransmissionType) rtx/90000")
        text.add("a=fmtp:\(retransmissionType) apt=\(payloadType)")
    }

    /// Both sources are described: servers reject a group that names an unknown one.
    func writeSources(_ text: inout SDPText, _ stream: Stream, isResent: Bool) {
        let track = "\(streamID) \(stream.media == "audio" ? "a0" : "v0")"
        text.add("a=msid:\(track)")
        var sources = [stream.ssrc]
        if isResent, let second = stream.retransmissionSSRC {
            text.add("a=ssrc-group:FID \(stream.ssrc) \(second)")
            sources.append(second)
        }
        for source in sources {
            text.add("a=ssrc:\(source) cname:\(cname)")
            text.add("a=ssrc:\(source) msid:\(track)")
        }
    }

    func writeCandidates(_ text: inout SDPText) {
        for candidate in transport.candidates {
            text.add(candidate.hasPrefix("a=") ? candidate : "a=\(candidate)")
        }
        text.add("a=end-of-candidates")
    }
}

/// Lines that end as RFC 8866 asks for.
struct SDPText {
    private(set) var content = ""

    /// Adds a line; what would end it is left out.
    mutating func add(_ line: String) {
        content.unicodeScalars.append(contentsOf: line.unicodeScalars.filter { $0 != "\r" && $0 != "\n" })
        content += "\r\n"
    }
}
