import StreamTransport
import VideoCapturing

extension CapturerEntry {
    /// Streams of encoded video from the network, as the source `stream` of a program.
    ///
    /// - Parameters:
    ///   - decoders: the codecs that the program links.
    ///   - demuxers: what reads containers, and addresses other than `tcp`; without any, `tcp` is the only scheme.
    public static func stream(
        decoders: [VideoDecoderFactory], demuxers: [StreamDemuxerFactory] = []
    ) -> CapturerEntry {
        let schemes = ["tcp"] + (demuxers.isEmpty ? [] : ["rtsp", "rtsps", "srt", "rtmp", "rtmps", "rtp", "udp"])
        return CapturerEntry(
            name: "stream",
            summary: "H.264 over TCP"
                + (demuxers.isEmpty ? "." : ", as a server with ?listen; RTSP, SRT, RTMP, UDP."),
            schemes: schemes,
            options: [
                OptionDescription("input", .text("URL"), "the URL, such as tcp://host:9000", default: nil),
                OptionDescription(
                    "stream-format", .choice(StreamCapturer.Format.allCases.map(\.rawValue)),
                    "the format of a TCP stream",
                    default: "by its first bytes"), .deinterlace,
            ] + (demuxers.isEmpty ? [] : [.login]),
            inputOption: "input",
            make: { request in
                let configuration = try StreamCapturer.Configuration(request, schemes: schemes)
                let url = try request.streamURL()
                let capture = StreamCapturer(
                    url: url, decoders: decoders, demuxers: demuxers, configuration: configuration)
                let warning = openAddressWarning(url)
                var source = CatalogSource(capture)
                source.setNoticeHandler = { handler in
                    capture.setEventHandler { event in
                        // One line for an outage; the status line has the state meanwhile.
                        switch event {
                        case .began, .waiting, .attemptFailed: break
                        case .listening:
                            handler("\(event)")
                            if let warning { handler(warning) }
                        default: handler("\(event)")
                        }
                    }
                }
                source.isInputAtFault = { true }
                return source
            })
    }

    /// A sentence for the user where other machines can send; nil where none can.
    static func openAddressWarning(_ url: String) -> String? {
        guard let address = try? StreamAddress(url, operation: "open the stream"), address.isListening,
            !NetworkAddresses.isLoopback(address.host)
        else { return nil }
        return "Everyone who can reach this machine can send to \(address.displayName), without a password; listen at "
            + "127.0.0.1 if the sender runs on this machine."
    }
}

extension CapturerEntry.Request {
    /// The URL of a stream, with the login of the options where its scheme has one.
    package func streamURL() throws(OptionError) -> String {
        let url = input ?? ""
        switch CapturerCatalog.scheme(of: url) {
        case "http", "https": return try options.addingLogin(to: url)
        case "rtsp", "rtsps":
            let full = try options.addingLogin(to: url)
            // FFmpeg keeps no more of it, and says nothing.
            guard full.utf8.count - removingUserInfo(from: url).utf8.count <= 128 else {
                throw OptionError(
                    "login", nil,
                    "is too long: RTSP takes 127 bytes, and each character other than letters and digits takes three.")
            }
            return full
        default:
            guard options["login"] == nil else {
                throw OptionError("login", nil, "is for rtsp://, and for http:// with --codec copy; leave it out.")
            }
            return url
        }
    }
}

extension StreamCapturer.Configuration {
    /// The configuration that options describe; checks the address, too.
    ///
    /// - Parameter schemes: those that can be opened.
    init(_ request: CapturerEntry.Request, schemes: [String]) throws(OptionError) {
        self.init()
        deinterlaces = try request.deinterlaces()
        let url = request.input ?? ""
        let scheme = CapturerCatalog.scheme(of: url)
        guard let scheme, schemes.contains(scheme) else {
            throw OptionError(
                "input", maskingUserInfo(in: url),
                "no address of a stream; give a URL with \(schemes.map { "\($0)://" }.joined(separator: ", ")).")
        }
        let format = try request.options.choice(
            "stream-format", StreamCapturer.Format.allCases.map { ($0.rawValue, $0) })
        guard scheme == "tcp" else {
            guard format == nil else {
                throw OptionError(
                    "stream-format", format?.rawValue, "is for tcp:// only; \(scheme) states its format; leave it out.")
            }
            return
        }
        self.format = format
        do throws(CaptureError) {
            let address = try StreamAddress(url, operation: "open the stream")
            guard let name = address.format, StreamCapturer.Format(name: name) == nil else { return }
            let known = StreamCapturer.Format.allCases.map(\.rawValue)
            let guess = nearestName(to: name, in: known).map { " Did you mean \($0)?" } ?? ""
            throw CaptureError(
                .invalidConfiguration, operation: "open the stream", subject: url,
                message: "There is no format \(name) to receive.\(guess) There are \(known.joined(separator: ", ")).")
        } catch {
            throw OptionError("input", url, error.message)
        }
    }
}
