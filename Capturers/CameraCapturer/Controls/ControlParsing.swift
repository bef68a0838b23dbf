import VideoCapturing

extension CameraControl {
    /// What `text` means for this control: a number (`0x` for hexadecimal), a menu's index or item (or its unambiguous
    /// beginning, upper and lower case alike), on/off, true/false, yes/no, 1/0; anything for a button.
    ///
    /// Throws `invalidConfiguration`, with what would be right.
    public func parse(_ text: String) throws(CaptureError) -> CameraControlValue {
        switch kind {
        case .integer(let range, _):
            guard let number = CameraControl.number(text), range.contains(number) else { throw refusal(of: text) }
            return .integer(number)
        case .bitmask(let mask):
            guard let number = CameraControl.number(text), number & ~mask == 0 else { throw refusal(of: text) }
            return .integer(number)
        case .boolean:
            switch text.lowercased() {
            case "on", "true", "yes", "1": return .boolean(true)
            case "off", "false", "no", "0": return .boolean(false)
            default: throw refusal(of: text)
            }
        case .menu(let items):
            if let number = CameraControl.number(text) {
                guard items.contains(where: { $0.index == number }) else { throw refusal(of: text) }
                return .menu(number)
            }
            return .menu(try item(text, of: items).index)
        case .integerMenu(let items):
            // The numbers of the choices are what people know; an index is taken where it is none of them.
            if let item = items.first(where: { $0.name == text }) { return .menu(item.index) }
            guard let number = CameraControl.number(text), items.contains(where: { $0.index == number }) else {
                throw refusal(of: text)
            }
            return .menu(number)
        case .button:
            return .integer(1)
        case .text(let lengths):
            guard lengths.contains(text.utf8.count), !text.utf8.contains(0) else { throw refusal(of: text) }
            return .text(text)
        }
    }

    /// The value as it can be set, checked as ``parse(_:)`` checks a text.
    func check(_ value: CameraControlValue) throws(CaptureError) {
        switch (kind, value) {
        case (.integer(let range, _), .integer(let number)) where range.contains(number): return
        case (.bitmask(let mask), .integer(let number)) where number & ~mask == 0: return
        case (.boolean, .boolean), (.button, _): return
        case (.menu(let items), .menu(let number)), (.integerMenu(let items), .menu(let number)):
            if items.contains(where: { $0.index == number }) { return }
        case (.text(let lengths), .text(let text)) where lengths.contains(text.utf8.count): return
        default: break
        }
        throw refusal(of: "\(value)")
    }

    private func item(_ text: String, of items: [MenuItem]) throws(CaptureError) -> MenuItem {
        let wanted = text.lowercased()
        if let exact = items.first(where: { $0.name.lowercased() == wanted }) { return exact }
        let fitting = wanted.isEmpty ? [] : items.filter { $0.name.lowercased().hasPrefix(wanted) }
        guard fitting.count == 1 else { throw refusal(of: text) }
        return fitting[0]
    }

    /// A number of 64 bits, decimal or after `0x` hexadecimal.
    private static func number(_ text: String) -> Int64? {
        text.lowercased().hasPrefix("0x") ? Int64(text.dropFirst(2), radix: 16) : Int64(text)
    }

    private func refusal(of text: String) -> CaptureError {
        let standard = defaultValue.map { "; the default is \(describe($0))" } ?? ""
        return CaptureError(
            .invalidConfiguration, operation: "set the control", subject: name,
            message: "\(text.isEmpty ? "An empty value" : text) is not possible; it takes \(choices)\(standard).")
    }

    /// What it takes, for a sentence: `0 to 255 in steps of 5`.
    var choices: String {
        switch kind {
        case .integer(let range, let step):
            "\(range.lowerBound) to \(range.upperBound)" + (step == 1 ? "" : " in steps of \(step)")
        case .boolean: "on or off"
        case .menu(let items): items.map { "\($0.index) (\($0.name))" }.joined(separator: ", ")
        case .integerMenu(let items): items.map(\.name).joined(separator: ", ")
        case .bitmask(let mask): "bits of 0x" + String(UInt64(bitPattern: mask), radix: 16)
        case .button: "anything"
        case .text(let lengths): "a text of \(lengths.lowerBound) to \(lengths.upperBound) bytes"
        }
    }

    /// A value with its meaning, where it is a menu's: `3 (Aperture Priority Mode)`.
    func describe(_ value: CameraControlValue) -> String {
        guard case .menu(let items) = kind, let item = items.first(where: { $0.index == value.number }) else {
            return "\(value)"
        }
        return "\(item.index) (\(item.name))"
    }
}
