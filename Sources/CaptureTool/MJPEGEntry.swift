import MJPEGCapturer
import VideoCapturing

extension CapturerEntry {
    static let mjpeg = CapturerEntry(
        name: "mjpeg", summary: "A network camera: MJPEG over HTTP, or a JPEG picture that is fetched again and again.",
        schemes: ["http", "https"],
        options: [
            Option("input", "the URL: http://user:password@host/stream", default: nil),
            Option("pixel-format", "nv12 or i420", default: "nv12"),
            Option("insecure", "takes any certificate of an https server", default: "off"),
            Option("ca-file", "the certificates to trust, in PEM", default: "the system's"),
        ],
        make: { request throws(CaptureError) in
            MJPEGCapturer(url: request.input ?? "", configuration: mjpegConfiguration(request))
        })
}

/// What the options ask of a network camera.
private func mjpegConfiguration(_ request: CaptureRequest) -> MJPEGCapturerConfiguration {
    var configuration = MJPEGCapturerConfiguration()
    if let pixelFormat = request.pixelFormat { configuration.pixelFormat = pixelFormat }
    if let path = request.further["ca-file"]?.first { configuration.trust = .authorities(path: path) }
    if request.further["insecure"] != nil { configuration.trust = .acceptsSelfSigned }
    return configuration
}
