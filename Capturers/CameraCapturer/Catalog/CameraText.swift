import V4L2Support
import VideoCapturing

/// Cameras as text, in lines of at most ``columns`` columns; error messages are not wrapped.
enum CameraText {
    static let columns = 100

    static func lines(_ reports: [CameraReport]) -> [String] {
        guard !reports.isEmpty else { return ["cameras: none; capturer-demo doctor says what to do"] }
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
        // Not wrapped, since it may contain a command to copy.
        if let problem = report.problem { lines.append("  " + printable("\(problem)", limit: 1000)) }
        if let modes = report.modes { lines += ["  modes"] + ModeTable.lines(modes) }
        if let decision = report.decision {
            lines.append("  choice")
            lines += decision.lines(rejectedLimit: 5).flatMap { line in
                // The first word is a heading in a separate column.
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

    /// Wraps words into lines that fit. `first` starts the first line, `rest` spaces start every other line; a line may
    /// end at the separator's last space.
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

    /// Wraps the words of a text.
    static func wrap(_ text: String, first: String, rest: Int) -> [String] {
        wrap(text.split(separator: " ").map(String.init), first: first, rest: rest)
    }
}

/// `text`, padded with spaces.
func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
}

/// The modes of a camera: a section for formats with the same sizes and rates, and in it a line for each size.
enum ModeTable {
    /// Formats with the same modes.
    struct Section: Hashable {
        var names: [String]
        var note: String
        var entries: [CameraMode.Group.Entry]
    }

    /// In the driver's order; formats that cannot be used come last.
    static func sections(_ modes: [CameraMode.Group]) -> [Section] {
        var sections: [Section] = []
        for group in modes.filter(\.isUsable) + modes.filter({ !$0.isUsable }) {
            let note =
                group.isEmulated
                ? "emulated by a library, not used"
                : group.cost != nil ? "" : Codec(group.fourCC) != nil ? "with --codec copy only" : "cannot be used"
            if let index = sections.firstIndex(where: { $0.note == note && $0.entries == group.entries }) {
                sections[index].names.append("\(group.fourCC)")
            } else {
                sections.append(Section(names: ["\(group.fourCC)"], note: note, entries: group.entries))
            }
        }
        return sections
    }

    static func lines(_ modes: [CameraMode.Group]) -> [String] {
        sections(modes).flatMap { section in
            let note = section.note.isEmpty ? "" : " (\(section.note))"
            let heading = CameraText.wrap(
                section.names.joined(separator: " ") + note, first: "    ", rest: 4)
            let width = section.entries.map { "\($0.sizes)".count }.max() ?? 0
            let sizes = section.entries.flatMap { entry in
                CameraText.wrap(
                    "\(entry.rates)", first: "      \(padded("\(entry.sizes)", to: width))  ", rest: width + 8)
            }
            return heading + (sizes.isEmpty ? ["      no sizes"] : sizes)
        }
    }
}

/// The controls of a camera in columns: name, accepted values, value, default and state. The items of a menu follow
/// below its name.
enum ControlTable {
    static func lines(_ controls: [CameraControl]) -> [String] {
        guard !controls.isEmpty else { return [] }
        let rows = [["name", "accepts", "value", "default", ""]] + controls.map(cells)
        // A cell that is wider than its column, such as a range of 64-bit numbers, shifts only the rest of its line.
        let widths = zip(0..<4, [34, 24, 12, 12]).map { column, limit in
            rows.map { $0[column].count }.filter { $0 <= limit }.max() ?? 0
        }
        var lines: [String] = []
        for (index, cells) in rows.enumerated() {
            var line = "    "
            for (column, cell) in cells.enumerated() {
                line += column < 4 ? padded(cell, to: widths[column]) + "  " : cell
            }
            while line.last == " " { line.removeLast() }
            lines.append(line)
            if index > 0 { lines += items(controls[index - 1]) }
        }
        return lines
    }

    private static func cells(_ control: CameraControl) -> [String] {
        [
            printable(control.name, limit: 34), acceptedValues(control.kind), text(control.value, of: control),
            text(control.defaultValue, of: control), states(control).joined(separator: ", "),
        ]
    }

    /// A value in the form in which `--control` sets it.
    private static func text(_ value: CameraControl.Value?, of control: CameraControl) -> String {
        switch (value, control.kind) {
        case (nil, _): "-"
        case (.integer(let bits), .bitmask): hexadecimal(bits)
        case (.menu(let index), .integerMenu(let items)): items.first { $0.index == index }?.name ?? "\(index)"
        case (let value?, _): printable("\(value)", limit: 20)
        }
    }

    private static func hexadecimal(_ bits: Int64) -> String { "0x" + String(UInt64(bitPattern: bits), radix: 16) }

    private static func acceptedValues(_ kind: CameraControl.Kind) -> String {
        switch kind {
        case .integer(let range, let step):
            "\(range.lowerBound) to \(range.upperBound)" + (step == 1 ? "" : " by \(step)")
        case .boolean: "on, off"
        case .menu, .integerMenu: "menu"
        case .bitmask(let mask): "bits of " + hexadecimal(mask)
        case .button: "button"
        case .text(let lengths): "\(lengths.lowerBound) to \(lengths.upperBound) bytes"
        }
    }

    private static func items(_ control: CameraControl) -> [String] {
        let items =
            switch control.kind {
            case .menu(let items): items.map { "\($0.index) \($0.name)" }
            case .integerMenu(let items): items.map(\.name)
            default: [String]()
            }
        return items.isEmpty ? [] : CameraText.wrap(items, separator: ", ", first: "      ", rest: 6)
    }

    /// The states that restrict setting or reading the control; JSON uses the same words.
    static func states(_ control: CameraControl) -> [String] {
        [
            (control.isReadOnly, "read-only"), (control.isWriteOnly, "write-only"), (control.isInactive, "inactive"),
            (control.isGrabbed, "grabbed"), (control.isVolatile, "volatile"),
        ].filter(\.0).map(\.1)
    }
}
