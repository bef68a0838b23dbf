import CaptureCore
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The answers of the device to requests (ONVIF Core and Media 1, the part of Profile S that recorders need), without a
/// socket and a clock.
struct ONVIFDevice: Sendable {
    static let deviceNamespace = "http://www.onvif.org/ver10/device/wsdl"
    static let mediaNamespace = "http://www.onvif.org/ver10/media/wsdl"
    /// The path of both services.
    static let path = "/onvif/"

    /// The operations that need no password (ONVIF Core, 5.9.4.2: PRE_AUTH).
    static let openOperations: Set<String> = [
        "GetSystemDateAndTime", "GetServices", "GetCapabilities", "GetServiceCapabilities", "GetHostname",
    ]

    /// The circumstances of a request.
    struct Circumstances: Sendable {
        /// The host by which the client has reached the device, with its port: `192.168.1.5:8000`.
        var authority: String
        /// The tracks; empty as long as they are unknown.
        var tracks: [TrackDescription] = []
        /// The seconds since 1970.
        var now: Int
        /// The name and the hardware address of the network interface; nil where they are unknown.
        var interface: (name: String, address: String)?

        /// The host without the port.
        var host: String {
            authority.last == "]"
                ? authority : authority.lastIndex(of: ":").map { String(authority[..<$0]) } ?? authority
        }
    }

    /// The name for people.
    var name: String
    /// A number that the device keeps: 32 hexadecimal digits.
    var identifier: String
    var snapshotURL: String?
    var rtspPort: Int
    var rtspPath: String
    var offersMulticast: Bool

    /// The identifier as WS-Discovery has it.
    var uuid: String {
        let digits = Array(identifier)
        return "urn:uuid:"
            + [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }

    /// The scopes by which it is found (ONVIF Core, 7.3.2.2).
    var scopes: [String] {
        let word = percentEncoded(name.utf8)
        return ["type/video_encoder", "Profile/Streaming", "name/\(word)", "hardware/software"].map {
            "onvif://www.onvif.org/\($0)"
        }
    }

    /// The answer to a request: a fault for an operation that the device does not have.
    func answer(_ operation: XMLElement, _ circumstances: Circumstances) -> SOAPResponse {
        let isMedia = operation.namespace == ONVIFDevice.mediaNamespace
        guard isMedia || operation.namespace == ONVIFDevice.deviceNamespace else { return unsupported }
        if isMedia { return media(operation, circumstances) }
        guard let content = device(operation.name, circumstances) else { return unsupported }
        return SOAPResponse("<tds:\(operation.name)Response>\(content)</tds:\(operation.name)Response>")
    }

    private var unsupported: SOAPResponse {
        SOAPResponse(fault: "ActionNotSupported", ofSender: false, "The device does not have this operation.")
    }

    // MARK: Device

    private func device(_ operation: String, _ circumstances: Circumstances) -> String? {
        switch operation {
        case "GetSystemDateAndTime": return date(circumstances.now)
        case "GetDeviceInformation":
            return "<tds:Manufacturer>swift-video-capturing</tds:Manufacturer><tds:Model>\(xmlText(name))</tds:Model>"
                + "<tds:FirmwareVersion>1</tds:FirmwareVersion><tds:SerialNumber>\(identifier)</tds:SerialNumber>"
                + "<tds:HardwareId>software</tds:HardwareId>"
        case "GetCapabilities":
            return "<tds:Capabilities><tt:Device><tt:XAddr>\(service("device", circumstances))</tt:XAddr></tt:Device>"
                + "<tt:Media><tt:XAddr>\(service("media", circumstances))</tt:XAddr><tt:StreamingCapabilities>"
                + "<tt:RTPMulticast>\(offersMulticast)</tt:RTPMulticast><tt:RTP_TCP>true</tt:RTP_TCP>"
                + "<tt:RTP_RTSP_TCP>true</tt:RTP_RTSP_TCP></tt:StreamingCapabilities></tt:Media></tds:Capabilities>"
        case "GetServices":
            return [("device", ONVIFDevice.deviceNamespace), ("media", ONVIFDevice.mediaNamespace)].map {
                "<tds:Service><tds:Namespace>\($1)</tds:Namespace><tds:XAddr>\(service($0, circumstances))</tds:XAddr>"
                    + "<tds:Version><tt:Major>2</tt:Major><tt:Minor>5</tt:Minor></tds:Version></tds:Service>"
            }.joined()
        case "GetServiceCapabilities":
            return
                "<tds:Capabilities><tds:Network/><tds:Security UsernameToken=\"true\" HttpDigest=\"false\"/><tds:System/>"
                + "</tds:Capabilities>"
        case "GetScopes":
            return scopes.map {
                "<tds:Scopes><tt:ScopeDef>Fixed</tt:ScopeDef><tt:ScopeItem>\(xmlText($0))</tt:ScopeItem></tds:Scopes>"
            }.joined()
        case "GetHostname":
            return "<tds:HostnameInformation><tt:FromDHCP>false</tt:FromDHCP></tds:HostnameInformation>"
        case "GetNetworkInterfaces":
            guard let interface = circumstances.interface else { return "" }
            return "<tds:NetworkInterfaces token=\"\(xmlText(interface.name))\"><tt:Enabled>true</tt:Enabled><tt:Info>"
                + "<tt:Name>\(xmlText(interface.name))</tt:Name><tt:HwAddress>\(xmlText(interface.address))</tt:HwAddress>"
                + "</tt:Info></tds:NetworkInterfaces>"
        default: return nil
        }
    }

    private func service(_ name: String, _ circumstances: Circumstances) -> String {
        "http://\(xmlText(circumstances.authority))\(ONVIFDevice.path)\(name)_service"
    }

    private func date(_ now: Int) -> String {
        var seconds = time_t(now)
        var time = tm()
        gmtime_r(&seconds, &time)
        return
            "<tds:SystemDateAndTime><tt:DateTimeType>NTP</tt:DateTimeType><tt:DaylightSavings>false</tt:DaylightSavings>"
            + "<tt:TimeZone><tt:TZ>UTC0</tt:TZ></tt:TimeZone><tt:UTCDateTime><tt:Time><tt:Hour>\(time.tm_hour)</tt:Hour>"
            + "<tt:Minute>\(time.tm_min)</tt:Minute><tt:Second>\(time.tm_sec)</tt:Second></tt:Time><tt:Date><tt:Year>"
            + "\(time.tm_year + 1900)</tt:Year><tt:Month>\(time.tm_mon + 1)</tt:Month><tt:Day>\(time.tm_mday)</tt:Day></tt:Date>"
            + "</tt:UTCDateTime></tds:SystemDateAndTime>"
    }

    // MARK: Media

    private func media(_ operation: XMLElement, _ circumstances: Circumstances) -> SOAPResponse {
        func response(_ content: String) -> SOAPResponse {
            SOAPResponse("<trt:\(operation.name)Response>\(content)</trt:\(operation.name)Response>")
        }
        switch operation.name {
        case "GetServiceCapabilities":
            return response(
                "<trt:Capabilities SnapshotUri=\"\(snapshotURL != nil)\" Rotation=\"false\"><trt:ProfileCapabilities "
                    + "MaximumNumberOfProfiles=\"1\"/><trt:StreamingCapabilities RTPMulticast=\"\(offersMulticast)\" "
                    + "RTP_TCP=\"true\" RTP_RTSP_TCP=\"true\"/></trt:Capabilities>")
        case "GetAudioSources", "GetAudioSourceConfigurations", "GetAudioEncoderConfigurations": return response("")
        case "GetProfiles", "GetProfile", "GetVideoSources", "GetVideoSourceConfigurations",
            "GetVideoSourceConfiguration", "GetVideoEncoderConfigurations", "GetVideoEncoderConfiguration",
            "GetStreamUri", "GetSnapshotUri":
            break
        default: return unsupported
        }
        if let token = operation["ProfileToken"]?.trimmedText, token != Picture.token {
            return SOAPResponse(fault: "NoProfile", "There is one profile, \(Picture.token).")
        }
        if operation.name == "GetStreamUri" { return streamURI(operation, circumstances, response) }
        if operation.name == "GetSnapshotUri" {
            guard let snapshotURL else { return unsupported }
            let scheme = snapshotURL.hasPrefix("https") ? "https://" : "http://"
            let own = snapshotURL.dropFirst(scheme.utf8.count)
            return response(uri(own.hasPrefix("*") ? scheme + circumstances.host + own.dropFirst() : snapshotURL))
        }
        guard let picture = circumstances.tracks.lazy.compactMap({ Picture($0) }).first else {
            return SOAPResponse(fault: "NoConfig", ofSender: false, "The capture has not begun, or has no pictures.")
        }
        switch operation.name {
        case "GetProfiles": return response(picture.profile("Profiles"))
        case "GetProfile": return response(picture.profile("Profile"))
        case "GetVideoSources": return response(picture.sources)
        case "GetVideoSourceConfigurations": return response(picture.source("trt:Configurations"))
        case "GetVideoSourceConfiguration": return response(picture.source("trt:Configuration"))
        case "GetVideoEncoderConfigurations": return response(picture.encoder("trt:Configurations"))
        default: return response(picture.encoder("trt:Configuration"))
        }
    }

    private func streamURI(
        _ operation: XMLElement, _ circumstances: Circumstances, _ response: (String) -> SOAPResponse
    ) -> SOAPResponse {
        let setup = operation["StreamSetup"]
        guard setup?["Transport"]?["Protocol"]?.trimmedText != "HTTP",
            offersMulticast || setup?["Stream"]?.trimmedText != "RTP-Multicast"
        else { return SOAPResponse(fault: "InvalidStreamSetup", "The stream is RTP-Unicast, by UDP or RTSP.") }
        return response(uri("rtsp://\(circumstances.host):\(rtspPort)/\(rtspPath)"))
    }

    private func uri(_ text: String) -> String {
        "<trt:MediaUri><tt:Uri>\(xmlText(text))</tt:Uri><tt:InvalidAfterConnect>false</tt:InvalidAfterConnect>"
            + "<tt:InvalidAfterReboot>false</tt:InvalidAfterReboot><tt:Timeout>PT0S</tt:Timeout></trt:MediaUri>"
    }
}

/// The picture of a stream as a profile describes it.
private struct Picture {
    static let token = "main"

    private let encoding: String
    private let width: Int
    private let height: Int
    private let frameRate: Int

    /// That of a track; nil for sound.
    init?(_ track: TrackDescription) {
        guard case .video(let video) = track.media else { return nil }
        // Media 1 knows JPEG, MPEG4 and H264; devices with others name them in the same way.
        let names: [Codec: String] = [.h264: "H264", .jpeg: "JPEG", Codec(rawValue: "hevc"): "H265"]
        encoding = names[track.codec] ?? track.codec.rawValue.uppercased()
        (width, height) = (video.width, video.height)
        frameRate = video.frameRate.map { Int($0.framesPerSecond.rounded()) } ?? 30
    }

    func profile(_ name: String) -> String {
        "<trt:\(name) token=\"\(Picture.token)\" fixed=\"true\"><tt:Name>\(Picture.token)</tt:Name>"
            + source("tt:VideoSourceConfiguration") + encoder("tt:VideoEncoderConfiguration") + "</trt:\(name)>"
    }

    var sources: String {
        "<trt:VideoSources token=\"source\"><tt:Framerate>\(frameRate)</tt:Framerate>\(resolution)</trt:VideoSources>"
    }

    func source(_ tag: String) -> String {
        "<\(tag) token=\"source\"><tt:Name>source</tt:Name><tt:UseCount>1</tt:UseCount><tt:SourceToken>source"
            + "</tt:SourceToken><tt:Bounds x=\"0\" y=\"0\" width=\"\(width)\" height=\"\(height)\"/></\(tag)>"
    }

    func encoder(_ tag: String) -> String {
        let details =
            encoding == "H264"
            ? "<tt:H264><tt:GovLength>\(frameRate)</tt:GovLength><tt:H264Profile>Main</tt:H264Profile></tt:H264>" : ""
        return
            "<\(tag) token=\"encoder\"><tt:Name>encoder</tt:Name><tt:UseCount>1</tt:UseCount><tt:Encoding>\(encoding)"
            + "</tt:Encoding>\(resolution)<tt:Quality>5</tt:Quality><tt:RateControl><tt:FrameRateLimit>\(frameRate)"
            + "</tt:FrameRateLimit><tt:EncodingInterval>1</tt:EncodingInterval><tt:BitrateLimit>4096</tt:BitrateLimit>"
            + "</tt:RateControl>\(details)<tt:Multicast><tt:Address><tt:Type>IPv4</tt:Type><tt:IPv4Address>0.0.0.0"
            + "</tt:IPv4Address></tt:Address><tt:Port>0</tt:Port><tt:TTL>1</tt:TTL><tt:AutoStart>false</tt:AutoStart>"
            + "</tt:Multicast><tt:SessionTimeout>PT60S</tt:SessionTimeout></\(tag)>"
    }

    private var resolution: String {
        "<tt:Resolution><tt:Width>\(width)</tt:Width><tt:Height>\(height)</tt:Height></tt:Resolution>"
    }
}
