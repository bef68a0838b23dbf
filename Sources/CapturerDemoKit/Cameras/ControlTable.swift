import CameraCapturer

/// The controls of a camera in columns: name, what it takes, value, default and state. The choices of menus stand below
/// their names.
enum ControlTable {
    static func lines(_ controls: [CameraControl]) -> [String] {
        guard !controls.isEmpty else { return [] }
        let rows = [["name", "takes", "value", "default", ""]] + controls.map(cells)
        let widths = (0..<4).map { column in rows.map { $0[column].count }.max() ?? 0 }
        var lines: [String] = []
        for (index, cells) in rows.enumerated() {
            var line = "    "
            for (column, cell) in cells.enumerated() {
                line += column < 4 ? padded(cell, to: widths[column]) + "  " : cell
            }
            while line.last == " " { line.removeLast() }
            lines.append(line)
            if index > 0, let items = items(controls[index - 1]) {
                lines += CameraText.wrap(items, first: "      ", rest: 6)
            }
        }
        return lines
    }

    private static func cells(_ control: CameraControl) -> [String] {
        [
            printable(control.name, limit: 34), takes(control.kind), text(control.value), text(control.defaultValue),
            states(control).joined(separator: ", "),
        ]
    }

    private static func text(_ value: CameraControlValue?) -> String {
        value.map { printable("\($0)", limit: 20) } ?? "-"
    }

    private static func takes(_ kind: CameraControl.Kind) -> String {
        switch kind {
        case .integer(let range, let step):
            "\(range.lowerBound) to \(range.upperBound)" + (step == 1 ? "" : " by \(step)")
        case .boolean: "on, off"
        case .menu, .integerMenu: "menu"
        case .bitmask(let mask): "bits of 0x" + String(UInt64(bitPattern: mask), radix: 16)
        case .button: "button"
        case .text(let lengths): "\(lengths.lowerBound) to \(lengths.upperBound) bytes"
        }
    }

    private static func items(_ control: CameraControl) -> String? {
        switch control.kind {
        case .menu(let items): items.map { "\($0.index) \($0.name)" }.joined(separator: ", ")
        case .integerMenu(let items): items.map { "\($0.index): \($0.name)" }.joined(separator: ", ")
        default: nil
        }
    }

    /// What keeps the control from being set or read, in words that are also used in JSON.
    static func states(_ control: CameraControl) -> [String] {
        [
            (control.isReadOnly, "read-only"), (control.isWriteOnly, "write-only"), (control.isInactive, "inactive"),
            (control.isGrabbed, "grabbed"), (control.isVolatile, "volatile"),
        ].filter(\.0).map(\.1)
    }
}
