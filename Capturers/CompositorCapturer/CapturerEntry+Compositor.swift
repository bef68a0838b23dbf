public import VideoCapturing

extension CapturerEntry {
    /// Monitors of Wayland sessions, asked of the compositor itself, as the source `compositor` of a program, or a part of its
    /// source `screen`.
    public static let compositor = CapturerEntry(
        name: "compositor", summary: "A monitor of a Wayland session, asked of the compositor itself (wlroots).",
        options: [
            OptionDescription(
                "display", .text("NAME"), "the compositor, such as wayland-1", default: "$WAYLAND_DISPLAY"),
            OptionDescription("monitor", .text("NAME"), "one monitor, by its name", default: "the first one"),
            OptionDescription("region", .text("X,Y,SIZE"), "a part of it: 10,20,640x480", default: "all of it"),
            .flag("no-cursor", "leaves the pointer out"),
            .pixelFormat([.nv12, .i420, .argb], default: "nv12; argb where only PNG is written"),
            .frameRate("the maximum number of frames per second, or max", default: "30"),
        ],
        inputOption: "display",
        devices: DeviceDirectory(name: "screens") { _ in
            let report = CompositorReport()
            return DeviceDirectory.Listing(lines: report.lines, json: report.json.map { [$0] } ?? [])
        },
        check: { [CompositorReport().finding] },
        make: { request in
            let capture = CompositorCapturer(try CompositorCapturer.Configuration(request))
            var source = CatalogSource(capture)
            source.setNoticeHandler = { handler in capture.setEventHandler { handler("\($0)") } }
            source.isDrivenByChanges = true
            return source
        })
}

extension CompositorCapturer.Configuration {
    /// The configuration that options describe.
    init(_ request: CapturerEntry.Request) throws(OptionError) {
        self.init(
            display: request.input.flatMap { $0.lowercased() == "wayland" ? nil : $0 },
            monitor: request.options["monitor"],
            region: try request.options.region("region"), showsPointer: !request.options.contains("no-cursor"))
        pixelFormat = try request.pixelFormat() ?? (request.prefersRGB ? .argb : .nv12)
        frameRate = try request.maximumRate()
        if let window = request.options["window"] {
            throw OptionError(
                "window", window,
                "the compositor gives monitors only; a window needs the desktop portal, without --monitor and --region."
            )
        }
    }
}

/// What listings and self-tests report about the compositor.
struct CompositorReport {
    private var outputs: [Compositor.Output] = []
    private var problem: CaptureError?

    init() {
        do throws(CaptureError) {
            let compositor = try Compositor(nil, until: MonotonicClock().now + .seconds(2), interruptedBy: -1)
            outputs = compositor.outputs.sorted { $0.key < $1.key }.map(\.value)
        } catch {
            problem = error
        }
    }

    private var names: [String] {
        outputs.map { "\(printable($0.name, limit: 60)) \($0.size.width)x\($0.size.height)" }
    }

    var lines: [String] {
        problem == nil ? ["wayland, asked directly"] + names.map { "  monitor \($0)" } : []
    }

    var finding: Finding {
        Finding(
            "display", "wayland, asked directly", problem == nil ? .ok : .missing,
            problem == nil ? names.joined(separator: ", ") : "cannot be captured",
            remedy: problem.map { printable($0.message, limit: 500) })
    }

    /// As the JSON of X displays. Within a version members may be added, but none changes its meaning.
    var json: JSONValue? {
        guard problem == nil else { return nil }
        return .object([
            ("display", .string("wayland")), ("protocol", .string("wlr-screencopy")),
            (
                "monitors",
                .array(
                    outputs.map { output in
                        .object([
                            ("name", .string(output.name)), ("width", .integer(Int64(output.size.width))),
                            ("height", .integer(Int64(output.size.height))),
                        ])
                    })
            ), ("windows", .array([])),
        ])
    }
}
