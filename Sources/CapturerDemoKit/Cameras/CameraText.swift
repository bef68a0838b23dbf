import CameraCapturer
import VideoCapturing

/// Cameras in words, in lines of at most so many columns.
enum CameraText {
    static let columns = 100

    static func lines(_ reports: [CameraReport]) -> [String] {
        guard !reports.isEmpty else { return ["cameras: none; capturer-demo doctor says what to do about it"] }
        var lines: [String] = []
        for (index, report) in reports.enumerated() {
            if index > 0 { lines.append("") }
            lines += CameraText.lines(report)
        }
        return lines
    }

    private static func lines(_ report: CameraReport) -> [String] {
        let camera = report.camera
        var lines = ["\(printable(camera.path, limit: 60)): \(name(camera)), \(camera.access)"]
        lines.append("  id   \(printable(camera.id, limit: 90))")
        if !camera.bus.isEmpty {
            let driver = camera.driver.isEmpty ? "" : " (\(printable(camera.driver, limit: 20)))"
            lines.append("  bus  \(printable(camera.bus, limit: 60))\(driver)")
        }
        if let problem = report.problem {
            lines += wrap("\(problem)", first: "  ", rest: 2)
        }
        if let modes = report.modes { lines += ["  modes"] + ModeTable.lines(modes) }
        if let decision = report.decision {
            lines.append("  choice")
            lines += decision.lines(rejectedLimit: 5).flatMap { wrap($0, first: "    ", rest: 16) }
        }
        if let controls = report.controls {
            lines.append(controls.isEmpty ? "  controls: none" : "  controls")
            lines += ControlTable.lines(controls)
        }
        return lines
    }

    private static func name(_ camera: CameraDevice) -> String { printable(camera.name, limit: 40) }

    /// The words of `text` in lines that fit; `first` goes before the first, and so many spaces before each other one.
    /// Spaces between words stay within a line.
    static func wrap(_ text: String, first: String, rest: Int) -> [String] {
        var lines: [String] = []
        var line = first
        var hasWord = false
        var gap = ""
        for word in printable(text, limit: 10_000).split(separator: " ", omittingEmptySubsequences: false) {
            if word.isEmpty {
                gap += " "
                continue
            }
            let space = hasWord ? gap + " " : ""
            if hasWord, line.count + space.count + word.count > columns {
                lines.append(line)
                line = String(repeating: " ", count: rest) + word
            } else {
                line += space + word
            }
            hasWord = true
            gap = ""
        }
        return lines + [line]
    }
}

/// `text`, filled up with spaces.
func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
}
