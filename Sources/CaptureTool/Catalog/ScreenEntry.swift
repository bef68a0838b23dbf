import ScreenCapturer
import VideoCapturing

extension CapturerEntry {
    static let screen = CapturerEntry(
        name: "screen", summary: "An X11 screen, a monitor or a window; only changes cost processor time.",
        schemes: ["x11"],
        options: [
            Option("display", "the X display, such as :0", default: "DISPLAY"),
            Option("monitor", "one monitor, by its name, or primary", default: "all of the display"),
            Option("window", "one window: its id (0x…), its title or a part of it, or click", default: "none"),
            Option("region", "a part of it: X,Y,WIDTHxHEIGHT", default: "all of it"),
            Option("no-cursor", "leaves the pointer out", default: "off"),
            Option("pixel-format", "nv12, i420 or argb", default: "nv12"),
            Option("fps", "the maximum number of frames per second, or max", default: "30"),
        ],
        make: { request throws(CaptureError) in ScreenCapturer(try screenConfiguration(request)) })
}

/// The configuration of the screen that the options describe.
func screenConfiguration(_ request: CaptureRequest) throws(CaptureError) -> ScreenCapturer.Configuration {
    var configuration = ScreenCapturer.Configuration(display: request.input.map(displayName))
    configuration.pixelFormat = request.pixelFormat ?? .nv12
    configuration.frameRate = screenRate(request.rate)
    configuration.showsPointer = request.further["no-cursor"] == nil
    let monitor = request.further["monitor"]?.first
    let window = request.further["window"]?.first
    if let monitor, let window {
        throw CaptureError(
            .invalidConfiguration, operation: ExitError.checkingOptions,
            subject: "--monitor \(monitor) --window \(window)",
            message: "Only one of the two can be captured; leave one out.")
    }
    if let monitor { configuration.target = .monitor(monitor) }
    if let window { configuration.target = try windowTarget(window) }
    if let text = request.further["region"]?.first {
        do throws(OptionError) {
            configuration.region = try RegionOption.parse(text)
        } catch {
            throw CaptureError(.invalidConfiguration, operation: ExitError.checkingOptions, message: error.description)
        }
    }
    return configuration
}

/// An identifier in hexadecimal or decimal, `click`, or else a title.
private func windowTarget(_ text: String) throws(CaptureError) -> ScreenCapturer.Configuration.Target {
    guard !text.isEmpty else {
        throw CaptureError(
            .invalidConfiguration, operation: ExitError.checkingOptions, subject: "--window",
            message: "Give an id such as 0x2a00007, a title, or click to choose one with the pointer.")
    }
    if text.lowercased() == "click" { return .clickedWindow }
    let isHexadecimal = text.lowercased().hasPrefix("0x")
    if let id = isHexadecimal ? UInt32(text.dropFirst(2), radix: 16) : UInt32(text) { return .window(id) }
    return .windowTitled(text)
}

/// A display's name without the scheme, of `x11::0`.
private func displayName(_ input: String) -> String {
    CapturerCatalog.scheme(of: input) == "x11" ? String(input.dropFirst("x11:".count)) : input
}

/// The frame rate to request from a screen: 30 by default, and for `max` a rate above that of any screen.
private func screenRate(_ rate: CaptureRequest.Rate?) -> FrameRate {
    switch rate {
    case .frames(let rate): rate
    case .maximum: 1000
    case nil: 30
    }
}
