import CaptureCore

/// The description of plain RTP for receivers, as in a file with the extension `.sdp` (RFC 8866): what ffmpeg, VLC and
/// GStreamer open.
package struct PlainSession: Sendable {
    /// The number of the session; random.
    package var id = UInt64.random(in: 1...UInt64(UInt32.max))
    /// The address that is sent to, without brackets: a receiver's own, or a multicast group.
    package var host: String
    /// The hops that multicast packets may take (IPv4); nil for unicast.
    package var timeToLive: Int?
    /// The title.
    package var title = "capturer"
    /// The streams.
    package var streams: [Stream]

    /// One stream.
    package struct Stream: Sendable {
        /// How frames are carried.
        package var format: RTPFormat
        /// The payload type.
        package var payloadType: UInt8
        /// The port of RTP.
        package var port: Int
        /// The port of RTCP.
        package var reportPort: Int
        /// The source.
        package var ssrc: UInt32
        /// The canonical name.
        package var cname: String
        /// For H.264: `profile-level-id`, and the parameter sets in base64; nil as long as they are not known.
        package var profileLevelID: String?
        package var parameterSets: String?

        /// A stream.
        package init(
            format: RTPFormat, payloadType: UInt8, port: Int, reportPort: Int, ssrc: UInt32, cname: String,
            profileLevelID: String? = nil, parameterSets: String? = nil
        ) {
            self.format = format
            self.payloadType = payloadType
            self.port = port
            self.reportPort = reportPort
            self.ssrc = ssrc
            self.cname = cname
            self.profileLevelID = profileLevelID
            self.parameterSets = parameterSets
        }
    }

    /// Streams to a host.
    package init(host: String, timeToLive: Int? = nil, streams: [Stream]) {
        self.host = host
        self.timeToLive = timeToLive
        self.streams = streams
    }

    /// The description.
    package var text: String {
        let isIPv6 = host.contains(":")
        let kind = isIPv6 ? "IP6" : "IP4"
        var text = SDPText()
        text.add("v=0")
        text.add("o=- \(id) 1 IN \(kind) \(isIPv6 ? "::1" : "127.0.0.1")")
        text.add("s=\(title.isEmpty ? "-" : title)")
        text.add("c=IN \(kind) \(host)\(isIPv6 ? "" : timeToLive.map { "/\($0)" } ?? "")")
        text.add("t=0 0")
        for stream in streams {
            let media = stream.format == .opus ? "audio" : "video"
            text.add("m=\(media) \(stream.port) RTP/AVPF \(stream.payloadType)")
            if stream.reportPort != stream.port + 1 { text.add("a=rtcp:\(stream.reportPort)") }
            text.add("a=rtpmap:\(stream.payloadType) \(stream.format.encodingName)")
            switch stream.format {
            case .vp8: break
            case .h264:
                var parameters = "packetization-mode=1"
                if let profile = stream.profileLevelID { parameters += ";profile-level-id=\(profile)" }
                if let sets = stream.parameterSets { parameters += ";sprop-parameter-sets=\(sets)" }
                text.add("a=fmtp:\(stream.payloadType) \(parameters)")
            case .opus: text.add("a=fmtp:\(stream.payloadType) sprop-stereo=1")
            }
            if media == "video" {
                for line in ["nack", "nack pli", "ccm fir", "goog-remb"] {
                    text.add("a=rtcp-fb:\(stream.payloadType) \(line)")
                }
            }
            text.add("a=ssrc:\(stream.ssrc) cname:\(stream.cname)")
            text.add("a=sendonly")
        }
        return text.content
    }
}
