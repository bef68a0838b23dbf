import CameraCapturer

/// The controls of a camera in columns: name, what it takes, value, default and state. The choices of menus stand below
/// their names.
enum ControlTable {
    static func lines(_ controls: [CameraControl]) -> [String] {
        guard !controls.isEmpty else { return [] }
        let rows = [["name", "takes", "value", "default", ""]] + controls.map(cells)
        // What is wider than its column, as the range of 64 bits, pushes the rest of its own line only.
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
            printable(control.name, limit: 34), takes(control.kind), text(control.value, of: control),
            text(control.defaultValue, of: control), states(control).joined(separator: ", "),
        ]
    }

    /// As it is to be written to set it.
    private static func text(_ value: CameraControlValue?, of control: CameraControl) -> String {
        switch (value, control.kind) {
        case (nil, _): "-"
        case (.integer(let bits), .bitmask): hexadecimal(bits)
        case (.menu(let index), .integerMenu(let items)): items.first { $0.index == index }?.name ?? "\(index)"
        case (let value?, _): printable("\(value)", limit: 20)
        }
    }

    private static func hexadecimal(_ bits: Int64) -> String { "0x" + String(UInt64(bitPattern: bits), radix: 16) }

    private static func takes(_ kind: CameraControl.Kind) -> String {
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

    /// What keeps the control from being set or read, in words that are also used in JSON.
    static func states(_ control: CameraControl) -> [String] {
        [
            (control.isReadOnly, "read-only"), (control.isWriteOnly, "write-only"), (control.isInactive, "inactive"),
            (control.isGrabbed, "grabbed"), (control.isVolatile, "volatile"),
        ].filter(\.0).map(\.1)
    }
}
