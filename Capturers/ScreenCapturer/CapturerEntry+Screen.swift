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
    /// X11 screens, and in Wayland sessions those of other capturers, as the one source `screen` of a program. `--display`
    /// chooses; without it a session with `WAYLAND_DISPLAY` is one of Wayland.
    ///
    /// - Parameters:
    ///   - wayland: the capturer of Wayland screens, by a dialog of the desktop. Its options have the names of those of
    ///     ``screen``.
    ///   - direct: one that asks the compositor itself: for `--monitor` and `--region`, and where the first one does not work.
    public static func screen(onWayland wayland: CapturerEntry, orDirectly direct: CapturerEntry? = nil)
        -> CapturerEntry
    {
        var entry = screen
        entry.summary = "A screen, a monitor or a window, of X11 or Wayland; only changes cost."
        entry.options[0].help = "the X display, such as :0, or wayland"
        entry.options[0].defaultText = "that of the session"
        entry.devices = DeviceDirectory(name: "screens") { values in
            let reports = ScreenReport.all()
            let own = DeviceDirectory.Listing(lines: ScreenReport.lines(reports), json: reports.map(\.json))
            guard isWaylandSession else { return own }
            let others = try [wayland, direct].compactMap { try $0?.devices?.list(values) }
            return DeviceDirectory.Listing(
                lines: others.flatMap(\.lines) + (reports.isEmpty ? [] : own.lines),
                json: others.flatMap(\.json) + own.json)
        }
        entry.check = {
            let reports = ScreenReport.all()
            guard isWaylandSession, let check = wayland.check else { return ScreenReport.findings(reports) }
            let findings = [check(), direct?.check?() ?? []]
            // One way is enough.
            let working = findings.filter(\.isWorking).flatMap(\.self)
            return (working.isEmpty ? findings[0] : working) + (reports.isEmpty ? [] : ScreenReport.findings(reports))
        }
        entry.make = { request in
            let isWayland = request.input.map { $0.lowercased() == "wayland" } ?? isWaylandSession
            guard isWayland else { return try screen.make(request) }
            let isPart = request.options.contains("monitor") || request.options.contains("region")
            // The compositor is asked first, since that is a matter of milliseconds.
            guard let direct, direct.check?().isWorking == true, isPart || wayland.check?().isWorking == false else {
                return try wayland.make(request)
            }
            return try direct.make(request)
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
        frameRate = try request.maximumRate()
        showsPointer = !request.options.contains("no-cursor")
        let monitor = request.options["monitor"]
        let window = request.options["window"]
        if let monitor, window != nil {
            throw OptionError("monitor", monitor, "captured is either a monitor or a --window; leave one out.")
        }
        if let monitor { target = .monitor(monitor) }
        if let window { target = try ScreenCapturer.Configuration.windowTarget(window) }
        region = try request.options.region("region")
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

    /// A display's name without the scheme, of `x11::0`.
    private static func displayName(_ input: String) -> String {
        CapturerCatalog.scheme(of: input) == "x11" ? String(input.dropFirst("x11:".count)) : input
    }
}

extension [Finding] {
    fileprivate var isWorking: Bool { !isEmpty && allSatisfy { $0.state == .ok } }
}
