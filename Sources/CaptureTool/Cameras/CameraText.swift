import CameraCapturer
import VideoCapturing

/// Cameras in words, in lines of at most so many columns but for what went wrong.
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
        // Not wrapped: it may have a command to copy.
        if let problem = report.problem { lines.append("  " + printable("\(problem)", limit: 1000)) }
        if let modes = report.modes { lines += ["  modes"] + ModeTable.lines(modes) }
        if let decision = report.decision {
            lines.append("  choice")
            lines += decision.lines(rejectedLimit: 5).flatMap { line in
                // The first word is a heading in a column of its own.
                let words = line.split(separator: " ", maxSplits: 1).map(String.init)
                return wrap(words.last ?? "", first: "    \(padded(words.first ?? "", to: 12))", rest: 16)
            }
        }
        if let controls = report.controls {
            lines.append(controls.isEmpty ? "  controls: none" : "  controls")
            lines += ControlTable.lines(controls)
        }
        return lines
    }

    private static func name(_ camera: CameraDevice) -> String { printable(camera.name, limit: 40) }

    /// Words in lines that fit; `first` goes before the first line, and `rest` spaces before each other one. The
    /// separator's last space is where a line may end.
    static func wrap(_ words: [String], separator: String = " ", first: String, rest: Int) -> [String] {
        var lines: [String] = []
        var line = first
        for (index, word) in words.enumerated() {
            let word = printable(word, limit: 500)
            if index > 0 { line += separator.dropLast() }
            if index > 0, line.count + 1 + word.count + separator.count - 1 > columns {
                lines.append(line)
                line = String(repeating: " ", count: rest) + word
            } else {
                line += (index > 0 ? " " : "") + word
            }
        }
        return lines + [line]
    }

    /// The words of a text.
    static func wrap(_ text: String, first: String, rest: Int) -> [String] {
        wrap(text.split(separator: " ").map(String.init), first: first, rest: rest)
    }
}

/// `text`, filled up with spaces.
func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
}
