import VideoCapturing

extension CapturerEntry {
    /// V4L2 cameras, as the source `camera` of a program.
    public static let camera = CapturerEntry(
        name: "camera", summary: "A V4L2 camera: NV12 at the best frame rate that it has for the size.",
        schemes: ["v4l2"],
        options: [
            deviceOption, .size(default: "640x480"), .frameRate(default: "30"), captureFormatOption,
            OptionDescription(
                "control", .text("NAME=VALUE"), "a control, such as brightness=128; repeatable",
                default: "the current values", isRepeatable: true),
            .flag("keep-rate", "keeps the frame rate in low light, with darker images"),
            .deinterlace, .flag("explain", "prints how the mode was chosen"),
        ],
        inputOption: "device",
        devices: DeviceDirectory(
            name: "cameras",
            options: [
                .flag("modes", "the cameras' formats, sizes and rates, and which one would be chosen"),
                .flag("controls", "the cameras' controls, which --control sets"),
                deviceOption, .size("with --modes, the size to choose a mode for", default: "640x480"),
                .frameRate("with --modes, the rate to choose a mode for", default: "30"), captureFormatOption,
            ]
        ) { values in
            let reports = try CameraInquiry(values).reports()
            return DeviceDirectory.Listing(lines: CameraText.lines(reports), json: reports.map(CameraJSON.camera))
        },
        check: { [CameraReport.library] + CameraReport.findings() },
        make: { request in
            let camera = CameraCapturer(try CameraCapturer.Configuration(request))
            var source = CatalogSource(camera)
            source.setNoticeHandler = { camera.setEventHandler(CameraCapturer.Event.handler($0)) }
            if request.options.contains("explain") {
                source.explanation = { camera.decision?.lines(rejectedLimit: 10) ?? [] }
            }
            // A device that is not a camera.
            source.isInputAtFault = { camera.device == nil }
            return source
        })

    private static let deviceOption = OptionDescription(
        "device", .text("CAMERA"), "/dev/videoN, a link in /dev/v4l, an identifier, or a part of the camera's name",
        default: "the first that can be used")

    private static let captureFormatOption = OptionDescription(
        "capture-format", .text("FORMAT"), "the camera's format, such as NV12, YUYV or MJPG", default: "the best")
}

extension CameraCapturer.Event {
    /// A handler of events that gives `notify` sentences for the user of a program.
    package static func handler(
        _ notify: @escaping @Sendable (String) -> Void
    ) -> @Sendable (CameraCapturer.Event) -> Void {
        let lastSize = Locked<PixelSize?>(nil)
        return { event in
            switch event {
            // Explained on request. A grabber's sender may change its size.
            case .negotiated(let decision):
                let size = decision.delivered.size
                let last = lastSize.withLock { last in
                    defer { last = size }
                    return last
                }
                if let last, last != size { notify("The camera's frames are \(size) now; they were \(last).") }
            case .slowInLowLight: notify("\(event) So does --keep-rate.")
            default: notify("\(event)")
            }
        }
    }
}

extension CameraPacketCapturer.Configuration {
    /// The options of the source `camera` that apply to packets.
    package static let options = ["size", "fps", "capture-format", "control", "keep-rate", "explain"]

    /// The configuration that options describe.
    ///
    /// - Throws: for a format without packets.
    package init(_ request: CapturerEntry.Request) throws(OptionError) {
        let frames = try CameraCapturer.Configuration(request)
        let codec = try frames.captureFormat.map { (format) throws(OptionError) in
            if let codec = Codec(format) { return codec }
            throw OptionError(
                "capture-format", "\(format)",
                "has no packets to pass on; choose H264, HEVC or MJPG, or a codec other than copy.")
        }
        self.init(
            device: frames.device, codec: codec, size: frames.preset, desiredFrameRate: frames.desiredFrameRate,
            controls: frames.controls, keepsFrameRate: frames.keepsFrameRate)
    }
}

extension CameraCapturer.Configuration {
    /// The configuration that options describe.
    init(_ request: CapturerEntry.Request) throws(OptionError) {
        self.init(
            device: try request.input.map(cameraName), preset: try request.size() ?? .vga640x480,
            desiredFrameRate: cameraRate(try request.rate()))
        keepsFrameRate = request.options.contains("keep-rate")
        deinterlaces = try request.deinterlaces()
        captureFormat = try request.options.captureFormat("capture-format")
        for text in request.options.all("control") {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
                throw OptionError(
                    "control", text,
                    "give NAME=VALUE, as in brightness=128; capturer-demo list --controls shows the names.")
            }
            controls.append(.init(name: String(parts[0]), value: String(parts[1])))
        }
    }
}

/// A camera's name without the scheme, of `v4l2:/dev/video0`.
///
/// - Throws: for an empty name, which a script passes when a variable is not set: it means neither a device nor the
///   default.
func cameraName(_ input: String) throws(OptionError) -> String {
    let name = CapturerCatalog.scheme(of: input) == "v4l2" ? String(input.dropFirst("v4l2:".count)) : input
    guard !name.allSatisfy(\.isWhitespace) else {
        throw OptionError(
            "device", name,
            "names no device; give /dev/videoN, a link in /dev/v4l, an identifier, or a part of the camera's name, or "
                + "leave it out for the first that can be used.")
    }
    return name
}

/// The frame rate to request from a camera: 30 by default, and for `max` a rate above that of any camera.
func cameraRate(_ rate: CapturerEntry.Request.Rate?) -> FrameRate {
    switch rate {
    case .frames(let rate): rate
    case .maximum: 1000
    case nil: 30
    }
}

extension OptionValues {
    /// A camera's format: `NV12`, `YUYV`, `MJPG`; upper and lower case are the same where that names a known format.
    func captureFormat(_ name: String) throws(OptionError) -> FourCC? {
        try parsed(name) { (text, option) throws(OptionError) in
            for name in [text, text.uppercased()] {
                if let fourCC = FourCC(name), CaptureFormat.of(fourCC) != nil { return fourCC }
            }
            guard let fourCC = FourCC(text) else {
                throw OptionError(
                    option, text,
                    "not a format. A format's name has four characters, such as NV12, YUYV or MJPG; "
                        + "capturer-demo list --modes shows the camera's formats.")
            }
            return fourCC
        }
    }
}
