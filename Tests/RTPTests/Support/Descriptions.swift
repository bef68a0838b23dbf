@testable import RTP

/// Descriptions as peers write them.
enum Descriptions {
    static let password = "aVerySecretPasswordOfICE01"
    static let fingerprint = "sha-256 " + (0..<32).map { _ in "AB" }.joined(separator: ":")

    /// A session with video, and sound where it is asked for.
    static func local(audio: Bool = false, h264: Bool = false, rtx: Bool = true) -> LocalSession {
        var formats = [
            LocalSession.Format(.vp8, payloadType: 96, retransmissionType: rtx ? 97 : nil)
        ]
        if h264 {
            formats.append(
                LocalSession.Format(
                    .h264, payloadType: 102, retransmissionType: rtx ? 103 : nil, profileLevelID: "42c01f"))
        }
        var streams = [LocalSession.Stream(formats: formats, ssrc: 111, retransmissionSSRC: rtx ? 222 : nil)]
        if audio { streams.append(LocalSession.Stream(formats: [.init(.opus, payloadType: 111)], ssrc: 333)) }
        var session = LocalSession(
            streams: streams,
            transport: .init(
                iceUser: "ufra", icePassword: "theSecretPasswordOfThisSide", fingerprint: fingerprint,
                candidates: ["a=candidate:1 1 UDP 2015363327 127.0.0.1 40000 typ host"]),
            cname: "name")
        session.id = 4711
        return session
    }

    /// As Janus answers: credentials in the section, the fingerprint for the session, no absolute send time.
    static let janus = lines(
        """
        v=0
        o=- 4711 1 IN IP4 192.168.1.2
        s=VideoRoom 1234
        t=0 0
        a=group:BUNDLE 0
        a=ice-options:trickle
        a=fingerprint:\(fingerprint)
        a=extmap-allow-mixed
        a=msid-semantic: WMS *
        m=video 9 UDP/TLS/RTP/SAVPF 96 97
        c=IN IP4 192.168.1.2
        a=recvonly
        a=mid:0
        a=rtcp-mux
        a=ice-ufrag:4a9z
        a=ice-pwd:\(password)
        a=setup:active
        a=rtpmap:96 VP8/90000
        a=rtcp-fb:96 ccm fir
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtcp-fb:96 goog-remb
        a=rtcp-fb:96 transport-cc
        a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=rtpmap:97 rtx/90000
        a=fmtp:97 apt=96
        a=candidate:1 1 udp 2015363327 192.168.1.2 20005 typ host
        a=end-of-candidates
        """)

    /// As aiortc answers: fingerprints by three functions in each section, its sound as well.
    static let aiortc = lines(
        """
        v=0
        o=- 3900 3900 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=msid-semantic:WMS *
        m=video 44321 UDP/TLS/RTP/SAVPF 96 97
        c=IN IP4 127.0.0.1
        a=recvonly
        a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=mid:0
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=rtpmap:96 VP8/90000
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtcp-fb:96 goog-remb
        a=rtpmap:97 rtx/90000
        a=fmtp:97 apt=96
        a=candidate:1 1 udp 2130706431 127.0.0.1 44321 typ host
        a=candidate:2 2 udp 2130706430 127.0.0.1 44322 typ host
        a=end-of-candidates
        a=ice-ufrag:iFy1
        a=ice-pwd:\(password)
        a=fingerprint:\(fingerprint)
        a=fingerprint:sha-384 \((0..<48).map { _ in "0c" }.joined(separator: ":"))
        a=setup:active
        m=audio 9 UDP/TLS/RTP/SAVPF 111
        c=IN IP4 0.0.0.0
        a=recvonly
        a=mid:1
        a=rtcp-mux
        a=rtpmap:111 opus/48000/2
        a=ice-ufrag:iFy1
        a=ice-pwd:\(password)
        a=fingerprint:\(fingerprint)
        a=setup:active
        """)

    /// As a page in Chromium offers to receive.
    static let page = lines(
        """
        v=0
        o=- 8041 2 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=extmap-allow-mixed
        a=msid-semantic: WMS
        m=audio 9 UDP/TLS/RTP/SAVPF 111 63 0
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=ice-ufrag:tT2g
        a=ice-pwd:\(password)
        a=fingerprint:\(fingerprint)
        a=setup:actpass
        a=mid:0
        a=extmap:14 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
        a=recvonly
        a=rtcp-mux
        a=rtpmap:111 opus/48000/2
        a=rtcp-fb:111 transport-cc
        a=fmtp:111 minptime=10;useinbandfec=1
        a=rtpmap:63 red/48000/2
        a=fmtp:63 111/111
        a=rtpmap:0 PCMU/8000
        m=video 9 UDP/TLS/RTP/SAVPF 98 99 120 121 108 109
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=candidate:7 1 udp 2113937151 0a5c.local 51000 typ host
        a=ice-ufrag:tT2g
        a=ice-pwd:\(password)
        a=fingerprint:\(fingerprint)
        a=setup:actpass
        a=mid:1
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:9 urn:3gpp:video-orientation
        a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
        a=recvonly
        a=rtcp-mux
        a=rtcp-rsize
        a=rtpmap:98 VP9/90000
        a=rtpmap:99 rtx/90000
        a=fmtp:99 apt=98
        a=rtpmap:120 VP8/90000
        a=rtcp-fb:120 goog-remb
        a=rtcp-fb:120 transport-cc
        a=rtcp-fb:120 ccm fir
        a=rtcp-fb:120 nack
        a=rtcp-fb:120 nack pli
        a=rtpmap:121 rtx/90000
        a=fmtp:121 apt=120
        a=rtpmap:108 H264/90000
        a=fmtp:108 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:109 rtx/90000
        a=fmtp:109 apt=108
        """)

    /// As a page in Firefox offers to receive: the names of the formats come after what is said of them.
    static let firefox = lines(
        """
        v=0
        o=mozilla...THIS_IS_SDPARTA-99.0 5217 0 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=fingerprint:\(fingerprint)
        a=group:BUNDLE 0 1
        a=ice-options:trickle
        a=msid-semantic:WMS *
        m=audio 9 UDP/TLS/RTP/SAVPF 109 9
        c=IN IP4 0.0.0.0
        a=candidate:0 1 UDP 2122252543 10.0.0.2 50001 typ host
        a=recvonly
        a=end-of-candidates
        a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid
        a=fmtp:109 maxplaybackrate=48000;stereo=1;useinbandfec=1
        a=ice-pwd:\(password)
        a=ice-ufrag:0a1b2c3d
        a=mid:0
        a=rtcp-mux
        a=rtpmap:109 opus/48000/2
        a=rtpmap:9 G722/8000/1
        a=setup:actpass
        a=ssrc:1 cname:{x}
        m=video 9 UDP/TLS/RTP/SAVPF 120 124 126 127
        c=IN IP4 0.0.0.0
        a=recvonly
        a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:4 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:7 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=fmtp:126 profile-level-id=42e01f;level-asymmetry-allowed=1;packetization-mode=1
        a=fmtp:120 max-fs=12288;max-fr=60
        a=fmtp:124 apt=120
        a=fmtp:127 apt=126
        a=ice-pwd:\(password)
        a=ice-ufrag:0a1b2c3d
        a=mid:1
        a=rtcp-fb:120 nack
        a=rtcp-fb:120 nack pli
        a=rtcp-fb:120 ccm fir
        a=rtcp-fb:120 goog-remb
        a=rtcp-fb:120 transport-cc
        a=rtcp-fb:126 nack
        a=rtcp-mux
        a=rtcp-rsize
        a=rtpmap:120 VP8/90000
        a=rtpmap:124 rtx/90000
        a=rtpmap:126 H264/90000
        a=rtpmap:127 rtx/90000
        a=setup:actpass
        """)

    static func lines(_ text: String) -> String {
        text.split(separator: "\n").joined(separator: "\r\n") + "\r\n"
    }
}
