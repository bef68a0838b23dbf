import HTTPTransport
import VideoCapturing

extension CapturerEntry {
    /// Network cameras, as the source `mjpeg` of a program.
    public static let mjpeg = CapturerEntry(
        name: "mjpeg", summary: "A network camera: MJPEG over HTTP, or a JPEG image that is polled.",
        schemes: ["http", "https"],
        options: [
            OptionDescription("input", .text("URL"), "the URL, such as http://host/stream", default: nil),
            .login,
            .flag("insecure", "accepts any certificate of an https server"),
            .frameRate(
                "a lower rate; for an image, the polls per second; or max", default: "all, polled 5"),
            .pixelFormat([.nv12, .i420], default: "nv12"),
            OptionDescription("ca-file", .file, "the certificates to trust, in PEM", default: "the system's"),
        ],
        inputOption: "input",
        make: { request in
            let configuration = try MJPEGCapturer.Configuration(request, environment: environmentVariable)
            let capture = MJPEGCapturer(url: request.input ?? "", configuration: configuration)
            var source = CatalogSource(capture)
            source.setNoticeHandler = { handler in
                capture.setEventHandler { event in
                    // One line for an outage; the status line has the state meanwhile.
                    switch event {
                    case .connected, .waiting, .attemptFailed: break
                    case .disconnected, .reconnected: handler("\(event)")
                    }
                }
            }
            source.isInputAtFault = { true }
            return source
        })
}

extension MJPEGCapturer.Configuration {
    /// The configuration that options describe.
    ///
    /// - Parameter environment: where `CAPTURER_LOGIN` is looked up.
    init(_ request: CapturerEntry.Request, environment: (String) -> String?) throws(OptionError) {
        self.init()
        if let pixelFormat = try request.pixelFormat() { self.pixelFormat = pixelFormat }
        if request.asksForMaximumRate {
            pollInterval = .milliseconds(1)
        } else if request.options["fps"] != nil, let rate = try request.frameRate(default: 5) {
            maximumFrameRate = rate
            pollInterval = rate.frameInterval
        }
        if let path = request.options["ca-file"] { trust = .authorities(path: path) }
        if request.options.contains("insecure") { trust = .acceptsSelfSigned }
        if let login = try request.options.login(for: request.input ?? "", environment) {
            credential = MJPEGCapturer.Credential(user: login.name, password: login.password)
        }
    }
}
