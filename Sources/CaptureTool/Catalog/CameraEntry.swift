import CameraCapturer
import VideoCapturing

extension CapturerEntry {
    static let camera = CapturerEntry(
        name: "camera", summary: "A V4L2 camera: NV12 at the best frame rate that it has for the size.",
        schemes: ["v4l2"],
        options: [
            Option(
                "device", "/dev/videoN, a link in /dev/v4l, an identifier, or a part of the camera's name",
                default: "the first that can be used"),
            Option("size", "WIDTHxHEIGHT, or a name such as cif or 720p", default: "640x480"),
            Option("fps", "frames per second (30, 12.5, 30000/1001), or max", default: "30"),
            Option("capture-format", "the camera's format, such as NV12, YUYV or MJPG", default: "the best"),
            Option("control", "NAME=VALUE, such as brightness=128; repeatable", default: "the current values"),
            Option("keep-rate", "keeps the frame rate in low light, with darker images", default: "off"),
            Option("explain", "prints how the mode was chosen", default: "off"),
        ],
        make: { request throws(CaptureError) in CameraCapturer(try cameraConfiguration(request)) })
}

/// The configuration of the camera that the options describe.
func cameraConfiguration(_ request: CaptureRequest) throws(CaptureError) -> CameraCapturer.Configuration {
    let size = request.size ?? (640, 480)
    var configuration = CameraCapturer.Configuration(
        device: request.input.map(cameraName), preset: PixelSize(width: size.width, height: size.height),
        desiredFrameRate: cameraRate(request.rate))
    configuration.keepsFrameRate = request.further["keep-rate"] != nil
    if let text = request.further["capture-format"]?.first {
        do throws(OptionError) {
            configuration.captureFormat = try CaptureFormatOption.parse(text)
        } catch {
            throw CaptureError(
                .invalidConfiguration, operation: ExitError.checkingOptions, message: error.description)
        }
    }
    for text in request.further["control"] ?? [] {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
            throw CaptureError(
                .invalidConfiguration, operation: ExitError.checkingOptions, subject: "--control \(text)",
                message: "Give NAME=VALUE, as in brightness=128; capturer-demo list --controls shows the names.")
        }
        configuration.controls.append(.init(name: String(parts[0]), value: String(parts[1])))
    }
    return configuration
}

/// A camera's name without the scheme, of `v4l2:/dev/video0`.
func cameraName(_ input: String) -> String {
    CapturerCatalog.scheme(of: input) == "v4l2" ? String(input.dropFirst("v4l2:".count)) : input
}

/// The frame rate to request from a camera: 30 by default, and for `max` a rate above that of any camera.
func cameraRate(_ rate: CaptureRequest.Rate?) -> FrameRate {
    switch rate {
    case .frames(let rate): rate
    case .maximum: FrameRate(integerLiteral: 1000)
    case nil: 30
    }
}
