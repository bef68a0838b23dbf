import VideoCapturing

/// What listings and self-tests report about a display.
struct ScreenReport: Sendable {
    var display: String
    var monitors: [ScreenDirectory.Monitor] = []
    var windows: [ScreenDirectory.Window] = []
    /// Why it cannot be captured.
    var problem: CaptureError?

    /// The displays of this machine; the one in `DISPLAY` is the first.
    static func all(environment: (String) -> String? = environmentVariable) -> [ScreenReport] {
        var names = ScreenDirectory.displays()
        if let own = environment("DISPLAY"), !own.isEmpty {
            // With or without the number of its screen.
            names.removeAll { own == $0 || own.hasPrefix("\($0).") }
            names.insert(own, at: 0)
        }
        return names.map(ScreenReport.init(asking:))
    }

    private init(asking display: String) {
        self.display = display
        do throws(CaptureError) {
            let directory = ScreenDirectory(display: display)
            monitors = try directory.monitors()
            windows = try directory.windows()
        } catch {
            problem = error
        }
    }

    init(
        display: String, monitors: [ScreenDirectory.Monitor] = [], windows: [ScreenDirectory.Window] = [],
        problem: CaptureError? = nil
    ) {
        self.display = display
        self.monitors = monitors
        self.windows = windows
        self.problem = problem
    }
}

extension ScreenReport {
    /// As text; titles come from other programs.
    static func lines(_ reports: [ScreenReport]) -> [String] {
        guard !reports.isEmpty else { return ["screens: none; no X server runs on this machine"] }
        return reports.flatMap(\.lines)
    }

    private var lines: [String] {
        let name = printable(display, limit: 40)
        // Not wrapped, since it may contain a command to copy.
        if let problem { return ["display \(name)", "  \(printable(problem.message, limit: 500))"] }
        var lines = ["display \(name)"]
        for monitor in monitors {
            let position = "\(monitor.frame.x),\(monitor.frame.y)" + (monitor.isPrimary ? ", primary" : "")
            lines.append(
                "  monitor \(printable(monitor.name, limit: 30)): \(monitor.frame.sizeText) at \(position)")
        }
        for window in windows {
            let title = printable(window.title.isEmpty ? window.className : window.title, limit: 50)
            lines.append("  window \(window.idText): \(window.frame.sizeText) \(title)")
        }
        return lines
    }

    /// The displays, and whether they can be captured.
    static func findings(_ reports: [ScreenReport]) -> [Finding] {
        guard !reports.isEmpty else {
            return [
                Finding(
                    "display", "display", .missing, "no X server runs here, and DISPLAY is not set",
                    remedy: "Log in to an X11 session, or export DISPLAY. Only screens, windows and players need one.")
            ]
        }
        return reports.map { report in
            let name = "display \(printable(report.display, limit: 40))"
            if let problem = report.problem {
                return Finding(
                    "display", name, .missing, "cannot be captured",
                    remedy: printable(problem.message, limit: 500))
            }
            let monitors = report.monitors.map { "\(printable($0.name, limit: 30)) \($0.frame.sizeText)" }
            return Finding(
                "display", name, .ok, "\(monitors.joined(separator: ", ")), \(report.windows.count) windows")
        }
    }

    /// Within a version members may be added, but none changes its meaning.
    var json: JSONValue {
        .object([
            ("display", .string(display)),
            (
                "monitors",
                .array(
                    monitors.map {
                        .object([
                            ("name", .string($0.name)), ("primary", .bool($0.isPrimary)), ("frame", $0.frame.json),
                        ])
                    })
            ),
            (
                "windows",
                .array(
                    windows.map {
                        .object([
                            ("id", .string($0.idText)), ("title", .string($0.title)),
                            ("class", .string($0.className)),
                            ("process", $0.processID.map { .integer(Int64($0)) } ?? .null), ("frame", $0.frame.json),
                        ])
                    })
            ),
            ("problem", problem.map { .string("\($0)") } ?? .null),
        ])
    }
}

extension ScreenDirectory.Window {
    fileprivate var idText: String { "0x" + String(id, radix: 16) }
}

extension PixelRect {
    fileprivate var sizeText: String { "\(width)x\(height)" }

    fileprivate var json: JSONValue {
        .object([
            ("x", .integer(Int64(x))), ("y", .integer(Int64(y))), ("width", .integer(Int64(width))),
            ("height", .integer(Int64(height))),
        ])
    }
}
