import CaptureCore
import Testing

@testable import RTP

/// What is offered, and what answers agree on.
@Suite struct AnswerTests {
    @Test func theOffer() {
        let text = Descriptions.local(audio: true, h264: true).offer
        #expect(text.hasSuffix("\r\n") && !text.replacing("\r\n", with: "").contains("\n"))
        let lines = text.split(separator: "\r\n").map(String.init)
        #expect(
            lines.prefix(26) == [
                "v=0", "o=- 4711 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "a=group:BUNDLE 0 1", "a=extmap-allow-mixed",
                "a=msid-semantic: WMS pub", "m=video 9 UDP/TLS/RTP/SAVPF 96 97 102 103", "c=IN IP4 0.0.0.0",
                "a=rtcp:9 IN IP4 0.0.0.0", "a=mid:0", "a=sendonly", "a=rtcp-mux", "a=rtcp-mux-only", "a=rtcp-rsize",
                "a=ice-ufrag:ufra", "a=ice-pwd:theSecretPasswordOfThisSide", "a=ice-options:ice2",
                "a=fingerprint:\(Descriptions.fingerprint)", "a=setup:actpass",
                "a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid",
                "a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time",
                "a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
                "a=extmap:4 urn:3gpp:video-orientation", "a=rtpmap:96 VP8/90000", "a=rtcp-fb:96 nack",
            ])
        for line in [
            "a=rtpmap:97 rtx/90000", "a=fmtp:97 apt=96", "a=rtpmap:102 H264/90000", "a=fmtp:103 apt=102",
            "a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42c01f",
            "a=ssrc-group:FID 111 222", "a=ssrc:111 cname:name", "a=ssrc:222 cname:name", "a=ssrc:222 msid:pub v0",
            "a=candidate:1 1 UDP 2015363327 127.0.0.1 40000 typ host", "a=end-of-candidates",
            "m=audio 9 UDP/TLS/RTP/SAVPF 111", "a=rtpmap:111 opus/48000/2", "a=ssrc:333 msid:pub a0",
        ] {
            #expect(lines.count { $0 == line } == 1, "\(line)")
        }
        #expect(!Descriptions.local(rtx: false).offer.contains("rtx"))
    }

    /// What is written is read as it was meant.
    @Test func theOfferIsReadBack() throws {
        let read = try SessionDescription(
            parsing: Descriptions.local(audio: true, h264: true).offer, operation: "read the offer")
        #expect(read.bundle == ["0", "1"] && read.sections.map(\.media) == ["video", "audio"])
        let video = read.sections[0]
        #expect(video.payloadTypes == [96, 97, 102, 103] && video.direction == .send && video.setup == .either)
        #expect(video.format(of: 103)?.retransmitted == 102 && video.format(of: 96)?.codec == .vp8)
        #expect(video.format(of: 96)?.feedback.count == 5)
        #expect(video.candidates == ["candidate:1 1 UDP 2015363327 127.0.0.1 40000 typ host"])
        #expect(video.fingerprints.first?.digest == Array(repeating: 0xAB, count: 32))
        #expect(read.sections[1].format(of: 111)?.codec == .opus && read.sections[1].multiplexesRTCP)
    }

    @Test func janusAnswers() throws {
        let agreed = try Descriptions.local().readAnswer(Descriptions.janus)
        let video = try #require(agreed.streams.first)
        #expect(agreed.streams.count == 1 && agreed.refusals.isEmpty)
        #expect(video.codec == .vp8 && video.payloadType == 96 && video.retransmissionType == 97)
        #expect(video.extensions == RTPExtensionIDs(mid: 1, transportNumber: 3))
        #expect(video.feedback == [.nack, .pictureLoss, .intraRequest, .maximumBitrate, .transportWide])
        let transport = agreed.transport
        #expect(transport.iceUser == "4a9z" && transport.icePassword == Descriptions.password)
        #expect(transport.setup == .active && !transport.isICELite)
        #expect(transport.candidates == ["candidate:1 1 udp 2015363327 192.168.1.2 20005 typ host"])
        #expect(!"\(agreed)".contains(Descriptions.password), "descriptions are for logs")
        // As ICE-lite, and with the stream that we did not offer to send again.
        let lite = try Descriptions.local(rtx: false).readAnswer(
            Descriptions.janus.replacing("s=Video", with: "a=ice-lite\r\ns=Video"))
        #expect(lite.transport.isICELite && lite.streams[0].retransmissionType == nil)
    }

    @Test func aiortcAnswers() throws {
        let agreed = try Descriptions.local(audio: true).readAnswer(Descriptions.aiortc)
        #expect(agreed.streams.map(\.codec) == [.vp8, .opus] && agreed.streams.map(\.section) == [0, 1])
        #expect(agreed.streams[0].extensions == RTPExtensionIDs(mid: 1, absoluteSendTime: 2))
        #expect(!agreed.streams[0].feedback.contains(.transportWide))
        #expect(agreed.transport.fingerprints.map(\.hash) == ["sha-384", "sha-256"])
        #expect(agreed.transport.candidates == ["candidate:1 1 udp 2130706431 127.0.0.1 44321 typ host"])
    }

    @Test func onlyASectionIsRejected() throws {
        let answer = Descriptions.aiortc.replacing("m=audio 9", with: "m=audio 0")
        let agreed = try Descriptions.local(audio: true).readAnswer(answer)
        #expect(agreed.streams.map(\.codec) == [.vp8])
        #expect(
            agreed.refusals.count == 1 && agreed.refusals[0].reason.contains("line 29 rejects the audio"),
            "\(agreed.refusals)"
        )
    }

    @Test(arguments: [
        ("m=video 9", "m=video 0", SDPErrorCode.refused, "line 10 rejects the video"),
        ("a=recvonly", "a=inactive", .refused, "inactive"),
        ("VP8/90000", "VP9/90000", .noCommonCodec, "takes VP9 for the video, but this stream is VP8"),
        ("a=ice-ufrag:4a9z\r\n", "", .incomplete, "a=ice-ufrag"),
        ("a=ice-pwd:\(Descriptions.password)\r\n", "", .incomplete, "a=ice-pwd"),
        ("a=fingerprint:\(Descriptions.fingerprint)\r\n", "", .incomplete, "a=fingerprint"),
        ("a=fingerprint:sha-256", "a=fingerprint:md5", .incomplete, "a=fingerprint"),
        ("a=rtcp-mux\r\n", "", .incomplete, "a=rtcp-mux"),
        ("m=video 9", "m=audio 9", .malformed, "Line 10 of the answer is of audio where video"),
    ])
    func refusals(of part: String, by other: String, code: SDPErrorCode, words: String) throws {
        let answer = Descriptions.janus.replacing(part, with: other)
        #expect(answer != Descriptions.janus)
        let error = #expect(throws: SDPError.self) { try Descriptions.local().readAnswer(answer) }
        #expect(error?.code == code && error?.message.contains(words) == true, "\(error.map { "\($0)" } ?? "")")
        #expect(error.map { "\($0)".contains(Descriptions.password) } == false)
    }

    /// What the codec is called is not what is wrong.
    @Test func aRefusalOfH264NamesTheMode() throws {
        var local = Descriptions.local(audio: true, h264: true)
        local.streams[0].formats.removeFirst()
        let answer = Descriptions.aiortc.replacing(
            "a=rtpmap:96 VP8/90000", with: "a=rtpmap:96 H264/90000\r\na=fmtp:96 profile-level-id=42e01f")
        let agreed = try local.readAnswer(answer)
        #expect(agreed.streams.map(\.codec) == [.opus] && agreed.refusals.map(\.media) == ["video"])
        let reason = agreed.refusals.first?.reason ?? ""
        #expect(
            reason.contains("H264 with packetization-mode=0 and profile-level-id=42e01f")
                && reason.contains("this stream has packetization-mode=1 and profile-level-id=42c01f"), "\(reason)")
    }

    @Test func h264NeedsItsMode() throws {
        func answer(_ parameters: String) -> String {
            Descriptions.janus.replacing("RTP/SAVPF 96 97", with: "RTP/SAVPF 102").replacing(
                "a=rtpmap:96 VP8/90000", with: "a=rtpmap:102 H264/90000\r\na=fmtp:102 \(parameters)")
        }
        let local = Descriptions.local(h264: true)
        let agreed = try local.readAnswer(answer("profile-level-id=42E01F;packetization-mode=1"))
        #expect(agreed.streams[0].codec == .h264 && agreed.streams[0].payloadType == 102)
        #expect(agreed.streams[0].profileLevelID == "42e01f")
        for parameters in ["profile-level-id=42e01f", "profile-level-id=42e01f;packetization-mode=0"] {
            #expect(throws: SDPError.self) { try local.readAnswer(answer(parameters)) }
        }
        // Every receiver takes the constrained Baseline profile, and not every one the High profile.
        let high = answer("profile-level-id=640c1f;packetization-mode=1")
        #expect(try local.readAnswer(high).streams[0].profileLevelID == "640c1f")
        var other = local
        other.streams[0].formats[1].profileLevelID = "640c1f"
        #expect(try other.readAnswer(high).streams.count == 1)
        let refused = answer("profile-level-id=42e01f;packetization-mode=1")
        let error = #expect(throws: SDPError.self) { try other.readAnswer(refused) }
        #expect(error?.code == .noCommonCodec)
    }

    @Test func aPageIsAnswered() throws {
        let offer = try SessionDescription(parsing: Descriptions.page, operation: "read the offer")
        var local = Descriptions.local(audio: true)
        local.transport.setup = .passive
        let (text, agreed) = try local.answer(to: offer)
        #expect(agreed.streams.map(\.codec) == [.opus, .vp8] && agreed.streams.map(\.payloadType) == [111, 120])
        #expect(agreed.streams[1].retransmissionType == 121)
        #expect(
            agreed.streams[1].extensions
                == RTPExtensionIDs(mid: 4, absoluteSendTime: 2, transportNumber: 3, videoOrientation: 9))
        #expect(agreed.transport.candidates == ["candidate:7 1 udp 2113937151 0a5c.local 51000 typ host"])
        let read = try SessionDescription(parsing: text, operation: "read the answer")
        #expect(read.bundle == ["0", "1"] && read.sections.map(\.media) == ["audio", "video"])
        #expect(read.sections.map(\.payloadTypes) == [[111], [120, 121]] && read.sections.map(\.mid) == ["0", "1"])
        #expect(read.sections.allSatisfy { $0.direction == .send && $0.setup == .passive && !$0.isRejected })
        #expect(read.sections.map(\.candidates.count) == [1, 0])
        #expect(read.sections[1].format(of: 121)?.retransmitted == 120)
        #expect(Set(read.sections[1].extensions.map(\.id)) == [2, 3, 4, 9])
    }

    /// As Firefox writes it, which is the order that made a viewer without feedback and retransmissions.
    @Test func firefoxIsAnswered() throws {
        let offer = try SessionDescription(parsing: Descriptions.firefox, operation: "read the offer")
        let (text, agreed) = try Descriptions.local(audio: true, h264: true).answer(to: offer)
        #expect(
            agreed.streams.map(\.codec) == [.opus, .vp8] && agreed.streams.map(\.retransmissionType) == [nil, 124])
        #expect(
            agreed.streams[1].feedback == [.nack, .pictureLoss, .intraRequest, .maximumBitrate, .transportWide])
        for line in ["nack", "nack pli", "ccm fir", "goog-remb", "transport-cc"] {
            #expect(text.contains("a=rtcp-fb:120 \(line)\r\n"))
        }
        // The parameters of H.264 come before its name, too.
        var local = Descriptions.local(h264: true)
        local.streams[0].formats.removeFirst()
        #expect(try local.answer(to: offer).negotiation.streams.map(\.payloadType) == [126])
    }

    /// Players of WHEP offer one transport for all (RFC 9725 asks for it): only the first section has a port and a transport.
    @Test(arguments: [Descriptions.page, Descriptions.firefox])
    func anOfferOfOneTransportIsAnswered(page: String) throws {
        let parts = page.components(of: "m=")
        // Without a transport, as RFC 9429 has it, and with one that is not to be used, as older peers write it.
        for isBare in [true, false] {
            var second = parts[2].split(separator: "\r\n").map(String.init)
            second[0] = second[0].replacing("m=video 9", with: "m=video 0")
            let transport = ["a=ice-ufrag", "a=ice-pwd", "a=fingerprint", "a=setup", "a=rtcp-mux", "a=candidate"]
            second.removeAll { line in isBare && transport.contains { line.hasPrefix($0) } }
            if !isBare {
                second = second.map { $0.hasPrefix("a=ice-ufrag") ? "a=ice-ufrag:other" : $0 }
            }
            let text = parts[0] + parts[1] + second.joined(separator: "\r\n") + "\r\na=bundle-only\r\n"
            let offer = try SessionDescription(parsing: text, operation: "read the offer")
            let first = try #require(offer.sections.first)
            for hasSound in [true, false] {
                let (answer, agreed) = try Descriptions.local(audio: hasSound).answer(to: offer)
                #expect(agreed.streams.map(\.codec) == (hasSound ? [.opus, .vp8] : [.vp8]))
                #expect(agreed.transport.iceUser == first.iceUser && agreed.transport.icePassword == first.icePassword)
                #expect(agreed.transport.fingerprints == first.fingerprints && agreed.transport.setup == .either)
                let read = try SessionDescription(parsing: answer, operation: "read the answer")
                #expect(read.sections.map(\.port) == (hasSound ? [9, 9] : [0, 9]))
                #expect(read.bundle == (hasSound ? ["0", "1"] : ["1"]))
            }
        }
        // A section that is in no group is a section that the peer does not want.
        let alone =
            page.replacing("m=video 9", with: "m=video 0").replacing("a=group:BUNDLE 0 1", with: "a=group:BUNDLE 0")
            + "a=bundle-only\r\n"
        let offer = try SessionDescription(parsing: alone, operation: "read the offer")
        #expect(try Descriptions.local(audio: true).answer(to: offer).negotiation.streams.map(\.codec) == [.opus])
    }

    /// Sound without the pictures that were asked for is no success.
    @Test func anOfferOfOtherPicturesIsRefused() throws {
        let other = Descriptions.page.replacing("VP8", with: "AV1")
        let error = #expect(throws: SDPError.self) {
            try Descriptions.local(audio: true).answer(
                to: SessionDescription(parsing: other, operation: "read the offer"))
        }
        #expect(error?.code == .noCommonCodec)
    }

    /// Without it libwebrtc plays both channels as one.
    @Test func twoChannelsAreStated() throws {
        var local = Descriptions.local(audio: true)
        #expect(!local.offer.contains("stereo"))
        local.streams[1].formats[0].isStereo = true
        let line = "a=fmtp:111 minptime=10;useinbandfec=1;stereo=1;sprop-stereo=1\r\n"
        #expect(local.offer.contains(line))
        let offer = try SessionDescription(parsing: Descriptions.page, operation: "read the offer")
        #expect(try local.answer(to: offer).text.contains(line))
    }

    @Test func whatAPageDoesNotNeedIsRejected() throws {
        let offer = try SessionDescription(parsing: Descriptions.page, operation: "read the offer")
        let (text, agreed) = try Descriptions.local().answer(to: offer)
        #expect(agreed.streams.map(\.section) == [1])
        let read = try SessionDescription(parsing: text, operation: "read the answer")
        #expect(read.bundle == ["1"] && read.sections[0].isRejected && read.sections[0].payloadTypes == [111, 63, 0])
        let sending = Descriptions.page.replacing("a=recvonly", with: "a=sendonly")
        let error = #expect(throws: SDPError.self) {
            try Descriptions.local().answer(to: SessionDescription(parsing: sending, operation: "read the offer"))
        }
        #expect(error?.code == .refused)
        let other = Descriptions.page.replacing("VP8", with: "AV1")
        let codec = #expect(throws: SDPError.self) {
            try Descriptions.local().answer(to: SessionDescription(parsing: other, operation: "read the offer"))
        }
        #expect(codec?.code == .noCommonCodec && codec?.message.contains("VP9, AV1, H264") == true)
    }

    @Test func plainRTP() {
        var session = PlainSession(
            host: "127.0.0.1",
            streams: [
                .init(
                    format: .vp8, payloadType: 96, port: 5004, reportPort: 5005, ssrc: 7,
                    cname: "c"),
                .init(format: .opus, payloadType: 111, port: 5006, reportPort: 5010, ssrc: 8, cname: "c"),
            ])
        session.id = 1
        #expect(
            session.text.split(separator: "\r\n").map(String.init) == [
                "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=capturer", "c=IN IP4 127.0.0.1", "t=0 0",
                "m=video 5004 RTP/AVPF 96", "a=rtpmap:96 VP8/90000", "a=rtcp-fb:96 nack", "a=rtcp-fb:96 nack pli",
                "a=rtcp-fb:96 ccm fir", "a=rtcp-fb:96 goog-remb", "a=ssrc:7 cname:c", "a=sendonly",
                "m=audio 5006 RTP/AVPF 111", "a=rtcp:5010", "a=rtpmap:111 opus/48000/2", "a=fmtp:111 sprop-stereo=1",
                "a=ssrc:8 cname:c", "a=sendonly",
            ])
        session.host = "239.1.2.3"
        session.timeToLive = 4
        #expect(session.text.contains("c=IN IP4 239.1.2.3/4\r\n"))
        session.host = "ff15::1"
        #expect(session.text.contains("c=IN IP6 ff15::1\r\n"))
    }
}

extension String {
    /// The parts that begin with a word; before the first one what stands there.
    fileprivate func components(of word: String) -> [String] {
        var parts = [""]
        for line in split(separator: "\r\n") {
            if line.hasPrefix(word) { parts.append("") }
            parts[parts.count - 1] += line + "\r\n"
        }
        return parts
    }
}
