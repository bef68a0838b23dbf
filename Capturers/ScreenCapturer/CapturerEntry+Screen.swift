import VideoCapturing

extension CapturerEntry {
    /// X11 screens, as the source `screen` of a program.
    public static let screen = CapturerEntry(
        name: "screen", summary: "An X11 screen, a monitor or a window; only changes cost processor time.",
        schemes: ["x11"],
        options: [
            OptionDescription("display", .text("NAME"), "the X display, such as :0", default: "$DISPLAY"),
            OptionDescription(
                "monitor", .text("NAME"), "one monitor, by its name, or primary", default: "all of the display"),
            OptionDescription(
                "window", .text("ID|TITLE"), "one window: its id (0x…), its title or a part of it, or click",
                default: "none"),
            OptionDescription("region", .text("X,Y,SIZE"), "a part of it: 10,20,640x480", default: "all of it"),
            .flag("no-cursor", "leaves the pointer out"),
            .pixelFormat([.nv12, .i420, .argb], default: "nv12; argb where only PNG is written"),
            .frameRate("the maximum number of frames per second, or max", default: "30"),
        ],
        inputOption: "display",
        devices: DeviceDirectory(name: "screens") { _ in
            let reports = ScreenReport.all()
            return DeviceDirectory.Listing(lines: ScreenReport.lines(reports), json: reports.map(\.json))
        },
        check: { ScreenReport.findings(ScreenReport.all()) },
        make: { request in
            let screen = ScreenCapturer(try ScreenCapturer.Configuration(request))
            var source = CatalogSource(screen)
            source.setNoticeHandler = { handler in screen.setEventHandler { handler("\($0)") } }
            source.isDrivenByChanges = true
            return source
        })
}

extension CapturerEntry {
    /// X11 screens, and in Wayland sessions those of another capturer, as the one source `screen` of a program. `--display`
    /// chooses; without it a session with `WAYLAND_DISPLAY` is one of Wayland.
    ///
    /// - Parameter wayland: the capturer of Wayland screens, whose options have the names of those of ``screen``.
    public static func screen(onWayland wayland: CapturerEntry) -> CapturerEntry {
        var entry = screen
        entry.summary = "A screen, a monitor or a window, of X11 or Wayland; only changes cost."
        entry.options[0].help = "the X display, such as :0, or wayland"
        entry.options[0].defaultText = "that of the session"
        entry.devices = DeviceDirectory(name: "screens") { values in
            let reports = ScreenReport.all()
            var listing = DeviceDirectory.Listing(lines: ScreenReport.lines(reports), json: reports.map(\.json))
            if isWaylandSession, let devices = wayland.devices {
                let other = try devices.list(values)
                listing = DeviceDirectory.Listing(
                    lines: other.lines + (reports.isEmpty ? [] : listing.lines), json: other.json + listing.json)
            }
            return listing
        }
        entry.check = {
            let reports = ScreenReport.all()
            guard isWaylandSession, let check = wayland.check else { return ScreenReport.findings(reports) }
            return check() + (reports.isEmpty ? [] : ScreenReport.findings(reports))
        }
        entry.make = { request in
            let isWayland = request.input.map { $0.lowercased() == "wayland" } ?? isWaylandSession
            return try (isWayland ? wayland : screen).make(request)
        }
        return entry
    }

    private static var isWaylandSession: Bool { environmentVariable("WAYLAND_DISPLAY")?.isEmpty == false }
}

extension ScreenCapturer.Configuration {
    /// The configuration that options describe.
    init(_ request: CapturerEntry.Request) throws(OptionError) {
        self.init(display: request.input.map(ScreenCapturer.Configuration.displayName))
        pixelFormat = try request.pixelFormat() ?? (request.prefersRGB ? .argb : .nv12)
        switch try request.rate() {
        case .frames(let rate): frameRate = rate
        // Above the rate of any screen.
        case .maximum: frameRate = 1000
        case nil: frameRate = 30
        }
        showsPointer = !request.options.contains("no-cursor")
        let monitor = request.options["monitor"]
        let window = request.options["window"]
        if let monitor, window != nil {
            throw OptionError("monitor", monitor, "captured is either a monitor or a --window; leave one out.")
        }
        if let monitor { target = .monitor(monitor) }
        if let window { target = try ScreenCapturer.Configuration.windowTarget(window) }
        region = try request.options.parsed("region", ScreenCapturer.Configuration.parseRegion)
    }

    /// An identifier in hexadecimal or decimal, `click`, or else a title.
    private static func windowTarget(_ text: String) throws(OptionError) -> ScreenCapturer.Configuration.Target {
        guard !text.isEmpty else {
            throw OptionError(
                "window", text, "give an id such as 0x2a00007, a title, or click to choose one with the pointer.")
        }
        if text.lowercased() == "click" { return .clickedWindow }
        let isHexadecimal = text.lowercased().hasPrefix("0x")
        if let id = isHexadecimal ? UInt32(text.dropFirst(2), radix: 16) : UInt32(text) { return .window(id) }
        return .windowTitled(text)
    }

    /// A part of a frame: `10,20,640x480`, the left and top edge and the size.
    private static func parseRegion(_ text: String, _ option: String) throws(OptionError) -> PixelRect {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let maximum = VideoFormat.maximumSide
        guard parts.count == 3, let x = parseDigits(parts[0], as: Int.self),
            let y = parseDigits(parts[1], as: Int.self), x <= maximum, y <= maximum,
            let size = try? OptionValues(["size": [parts[2]]]).size("size")
        else { throw OptionError(option, text, "give X,Y,WIDTHxHEIGHT, such as 0,0,640x480.") }
        return PixelRect(x: x, y: y, width: size.width, height: size.height)
    }

    /// A display's name without the scheme, of `x11::0`.
    private static func displayName(_ input: String) -> String {
        CapturerCatalog.scheme(of: input) == "x11" ? String(input.dropFirst("x11:".count)) : input
    }
}
