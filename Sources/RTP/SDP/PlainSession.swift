import CaptureCore
import H264Bitstream

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
        /// The port of RTP; 0 where receivers choose it, as with RTSP.
        package var port: Int
        /// The port of RTCP.
        package var reportPort: Int
        /// The source.
        package var ssrc: UInt32
        /// The canonical name.
        package var cname: String
        /// For H.264: `profile-level-id`, and the parameter sets in base64; nil as long as they are not known. For H.265 the
        /// parameters `sprop-vps`, `sprop-sps` and `sprop-pps`.
        package var profileLevelID: String?
        package var parameterSets: String?
        /// For AAC: the `AudioSpecificConfig` in hexadecimal digits; nil as long as it is not known.
        package var audioConfiguration: String?
        /// The URL by which RTSP sets the stream up (RFC 2326, C.1.1); nil elsewhere.
        package var control: String?

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

    /// Whether receivers may ask for lost packets and key frames as RFC 4585 has it.
    package var hasFeedback = true

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
        if streams.contains(where: { $0.control != nil }) { text.add("a=control:*") }
        for stream in streams { write(stream, to: &text) }
        return text.content
    }
    private func write(_ stream: Stream, to text: inout SDPText) {
        let (format, type) = (stream.format, stream.payloadType)
        text.add("m=\(format.isAudio ? "audio" : "video") \(stream.port) RTP/AVP\(hasFeedback ? "F" : "") \(type)")
        if stream.port > 0, stream.reportPort != stream.port + 1 { text.add("a=rtcp:\(stream.reportPort)") }
        text.add("a=rtpmap:\(type) \(format.encodingName)")
        switch format {
        case .vp8, .vp9, .jpeg, .g711: break
        case .h265: if let sets = stream.parameterSets { text.add("a=fmtp:\(type) \(sets)") }
        case .h264:
            var parameters = "packetization-mode=1"
            if let profile = stream.profileLevelID { parameters += ";profile-level-id=\(profile)" }
            if let sets = stream.parameterSets { parameters += ";sprop-parameter-sets=\(sets)" }
            text.add("a=fmtp:\(type) \(parameters)")
        case .opus: text.add("a=fmtp:\(type) sprop-stereo=1")
        case .aac:
            text.add(
                "a=fmtp:\(type) streamtype=5;profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;"
                    + "indexdeltalength=3" + (stream.audioConfiguration.map { ";config=\($0)" } ?? ""))
        }
        if hasFeedback, !format.isAudio {
            for line in ["nack", "nack pli", "ccm fir", "goog-remb"] { text.add("a=rtcp-fb:\(type) \(line)") }
        }
        text.add("a=ssrc:\(stream.ssrc) cname:\(stream.cname)")
        if let control = stream.control { text.add("a=control:\(control)") }
        text.add("a=sendonly")
    }
}

extension PlainSession.Stream {
    /// Takes what a decoder must know of a track into the description, as far as the track states it.
    package mutating func describe(_ track: TrackDescription) {
        guard let configuration = track.decoderConfiguration else { return }
        configuration.withUnsafeBytes { bytes in
            if format == .h264, let sets = try? AVCDecoderConfiguration(parsing: bytes) {
                profileLevelID = hexText(sets.sequenceParameterSets[0].dropFirst().prefix(3))
                parameterSets = (sets.sequenceParameterSets + sets.pictureParameterSets).map(Base64.encode)
                    .joined(separator: ",")
            }
            if format == .h265 {
                let sets = H265.parameterSets(of: bytes)
                let kinds = [
                    ("vps", H265.videoParameterSet), ("sps", H265.sequenceParameterSet),
                    ("pps", H265.pictureParameterSet),
                ]
                if kinds.allSatisfy({ sets[$0.1] != nil }) {
                    parameterSets = kinds.map { name, type in
                        "sprop-\(name)=" + (sets[type] ?? []).map(Base64.encode).joined(separator: ",")
                    }.joined(separator: ";")
                }
            }
            if format.codec == .aac { audioConfiguration = hexText(bytes) }
        }
    }
}
