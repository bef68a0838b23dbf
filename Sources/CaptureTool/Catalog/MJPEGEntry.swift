import MJPEGCapturer
import VideoCapturing

extension CapturerEntry {
    static let mjpeg = CapturerEntry(
        name: "mjpeg", summary: "A network camera: MJPEG over HTTP, or a JPEG image that is polled.",
        schemes: ["http", "https"],
        options: [
            Option("input", "the URL, such as http://host/stream", default: nil),
            Option(
                "login", "NAME:PASSWORD, or @FILE with that in its first line",
                default: "that of the URL, or of $CAPTURER_LOGIN"),
            Option("insecure", "accepts any certificate of an https server", default: "off"),
            Option("pixel-format", "nv12 or i420", default: "nv12"),
            Option("ca-file", "the certificates to trust, in PEM", default: "the system's"),
        ],
        make: { request throws(CaptureError) in
            MJPEGCapturer(url: request.input ?? "", configuration: try mjpegConfiguration(request))
        })
}

/// The configuration of the network camera that the options describe.
private func mjpegConfiguration(_ request: CaptureRequest) throws(CaptureError) -> MJPEGCapturer.Configuration {
    var configuration = MJPEGCapturer.Configuration()
    if let pixelFormat = request.pixelFormat { configuration.pixelFormat = pixelFormat }
    if let path = request.further["ca-file"]?.first { configuration.trust = .authorities(path: path) }
    if request.further["insecure"] != nil { configuration.trust = .acceptsSelfSigned }
    do throws(OptionError) {
        if let login = try cameraLogin(request, environment: environmentVariable) {
            configuration.credential = MJPEGCapturer.Credential(user: login.name, password: login.password)
        }
    } catch {
        throw CaptureError(.invalidConfiguration, operation: ExitError.checkingOptions, message: error.description)
    }
    return configuration
}

/// The name and password from the option; without it, and without a login in the URL, those from the environment.
func cameraLogin(
    _ request: CaptureRequest, environment: (String) -> String?
) throws(OptionError) -> (name: String, password: String)? {
    if let text = request.further["login"]?.first { return try LoginOption.parse(text, option: "--login") }
    let url = request.input ?? ""
    let hasLogin = maskingUserInfo(in: url) != url
    guard !hasLogin, let text = environment("CAPTURER_LOGIN"), !text.isEmpty else { return nil }
    return try LoginOption.parse(text, option: "CAPTURER_LOGIN")
}
