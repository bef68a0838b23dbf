import DesktopPortal
public import VideoCapturing

extension CapturerEntry {
    /// Screens and windows of Wayland sessions, as the source `wayland-screen` of a program, or the part of its source
    /// `screen` that is for Wayland.
    ///
    /// It keeps the user's consent in `XDG_STATE_HOME/swift-video-capturing`, apart for screens and windows.
    public static let waylandScreen = CapturerEntry(
        name: "wayland-screen", summary: "A screen or a window of a Wayland session, by the desktop portal.",
        options: [
            OptionDescription("display", .text("NAME"), "the display: wayland", default: "wayland"),
            OptionDescription(
                "window", .text("click"), "a window; the desktop asks which", default: "monitor or window"),
            .flag("no-cursor", "leaves the pointer out"),
            .pixelFormat([.nv12, .i420, .argb], default: "nv12; argb where only PNG is written"),
            .frameRate("the maximum number of frames per second, or max", default: "30"),
        ],
        inputOption: "display",
        devices: DeviceDirectory(name: "screens") { _ in
            let report = PortalReport()
            return DeviceDirectory.Listing(lines: report.lines, json: [report.json])
        },
        check: { [PortalReport().finding] },
        make: { request in
            let capture = WaylandScreenCapturer(try WaylandScreenCapturer.Configuration(request))
            var source = CatalogSource(capture)
            source.setNoticeHandler = { handler in capture.setEventHandler { handler("\($0)") } }
            source.isDrivenByChanges = true
            return source
        })
}

extension WaylandScreenCapturer.Configuration {
    /// The configuration that options describe.
    init(_ request: CapturerEntry.Request) throws(OptionError) {
        let node = try PipeWireCapturer.Configuration(
            CapturerEntry.Request(input: nil, options: request.options.filter { $0 != "size" }))
        self.init(frameRate: node.frameRate, pixelFormat: node.pixelFormat)
        if request.prefersRGB, try request.pixelFormat() == nil { pixelFormat = .argb }
        showsPointer = !request.options.contains("no-cursor")
        for option in ["monitor", "region"] {
            if let value = request.options[option] {
                throw OptionError(
                    option, value,
                    "on Wayland the dialog of the desktop chooses the screen; leave this out, or give an X display: "
                        + "--display :0.")
            }
        }
        if let window = request.options["window"] {
            guard window.lowercased() == "click" else {
                throw OptionError(
                    "window", window,
                    "on Wayland the dialog of the desktop chooses the window; give click, or an X display: --display :0."
                )
            }
            target = .window
        }
        let state = environmentVariable("XDG_STATE_HOME") ?? environmentVariable("HOME").map { "\($0)/.local/state" }
        consentFile = state.flatMap { state in
            state.hasPrefix("/")
                ? "\(state)/swift-video-capturing/\(target == .window ? "window" : "screen").consent" : nil
        }
    }
}

/// What listings and self-tests report about the desktop portal.
struct PortalReport {
    private var offer: ScreenCastPortal.Offer?
    private var problem: CaptureError?

    init() {
        do throws(CaptureError) {
            offer = try ScreenCastPortal(timeout: .seconds(5), interruptedBy: -1).offer
        } catch {
            problem = error
        }
    }

    private var text: String {
        guard let offer else { return "cannot be captured" }
        var shared: [String] = []
        if offer.sources.contains(.monitor) { shared.append("monitors") }
        if offer.sources.contains(.window) { shared.append("windows") }
        let pointer = offer.cursorModes.contains(.embedded) ? "with or without the pointer" : "without the pointer"
        let consent = offer.version >= 4 ? "consent may be kept" : "asks each time"
        return "\(shared.joined(separator: " and ")), \(pointer), \(consent) (portal version \(offer.version))"
    }

    var lines: [String] {
        ["display wayland", "  " + (problem.map { printable($0.message, limit: 500) } ?? text)]
    }

    var finding: Finding {
        Finding(
            "display", "display wayland", problem == nil ? .ok : .missing, text,
            remedy: problem.map { printable($0.message, limit: 500) })
    }

    /// As the JSON of X displays, with what the portal offers. Within a version members may be added, but none changes its
    /// meaning.
    var json: JSONValue {
        .object([
            ("display", .string("wayland")), ("monitors", .array([])), ("windows", .array([])),
            (
                "portal",
                offer.map { offer in
                    .object([
                        ("version", .integer(Int64(offer.version))),
                        ("monitors", .bool(offer.sources.contains(.monitor))),
                        ("windows", .bool(offer.sources.contains(.window))),
                        ("pointer", .bool(offer.cursorModes.contains(.embedded))),
                    ])
                } ?? .null
            ),
            ("problem", problem.map { .string("\($0)") } ?? .null),
        ])
    }
}
