import V4L2Support
import VideoCapturing

/// A setting of a camera as its driver offers it: brightness, exposure, focus and others.
public struct CameraControl: Sendable, Hashable, Identifiable {
    /// The type and range of a control's value.
    public enum Kind: Sendable, Hashable {
        /// A number in a range, in steps from the lower bound.
        case integer(range: ClosedRange<Int64>, step: Int64)
        /// On or off.
        case boolean
        /// One of several named choices.
        case menu([MenuItem])
        /// One of several numbers.
        case integerMenu([MenuItem])
        /// Bits that may be set.
        case bitmask(Int64)
        /// An action that setting it triggers; has no value.
        case button
        /// A text whose length in bytes is in the range.
        case text(lengths: ClosedRange<Int>)
    }

    /// One choice of a menu.
    public struct MenuItem: Sendable, Hashable {
        /// The driver's number of the choice. Menus may have gaps.
        public let index: Int64
        /// The name to show; of an integer menu the number.
        public let name: String
    }

    /// The control's number in V4L2, `V4L2_CID_…`.
    public let id: UInt32
    /// The name to set it by: `exposure_time_absolute`. Made from the title as `v4l2-ctl` makes it.
    public let name: String
    /// The driver's title to show: `Exposure Time, Absolute`.
    public let title: String
    /// The type and range of the value.
    public let kind: Kind
    /// The driver's default; nil for buttons and texts.
    public let defaultValue: CameraControl.Value?
    /// The present value; nil for controls that cannot be read.
    public internal(set) var value: CameraControl.Value?
    /// The driver's flags, `V4L2_CTRL_FLAG_…`.
    let flags: UInt32
    /// Whether the driver takes the value in 64 bits.
    let isLong: Bool

    /// Whether it can be read but not set.
    public var isReadOnly: Bool { has(0x0004) }
    /// Whether it has no effect now, since another control rules it: exposure while it is automatic.
    public var isInactive: Bool { has(0x0010) }
    /// Whether the camera changes it automatically.
    public var isVolatile: Bool { has(0x0080) }
    /// Whether it can be set but not read.
    public var isWriteOnly: Bool { has(0x0040) }
    /// Whether it cannot be changed now, mostly since frames are being captured.
    public var isGrabbed: Bool { has(0x0002) }
    /// Whether setting it changes others.
    var changesOthers: Bool { has(0x0008) }

    private func has(_ flag: UInt32) -> Bool { flags & flag != 0 }

    /// The name to set a control by: letters and digits in lower case, each run of anything else between them one `_`.
    static func name(for title: String) -> String {
        let words = title.utf8.split { byte in
            !(UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                && !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        return words.map { String(decoding: $0, as: UTF8.self).lowercased() }.joined(separator: "_")
    }
}

extension CameraControl {
    /// The value of a camera's control.
    public enum Value: Sendable, Hashable {
        /// A number, or bits.
        case integer(Int64)
        /// On or off.
        case boolean(Bool)
        /// The index of a menu's item.
        case menu(Int64)
        /// A text.
        case text(String)

        /// The number in the driver's interface; nil for a text.
        var number: Int64? {
            switch self {
            case .integer(let number), .menu(let number): number
            case .boolean(let isOn): isOn ? 1 : 0
            case .text: nil
            }
        }

        /// - Parameters:
        ///   - number: the driver's number.
        ///   - kind: the control's kind.
        init(_ number: Int64, _ kind: CameraControl.Kind) {
            switch kind {
            case .boolean: self = .boolean(number != 0)
            case .menu, .integerMenu: self = .menu(number)
            case .integer, .bitmask, .button, .text: self = .integer(number)
            }
        }
    }
}

extension CameraControl.Value: CustomStringConvertible {
    /// The text that sets this value: `128`, `on`, `3`.
    public var description: String {
        switch self {
        case .integer(let number), .menu(let number): "\(number)"
        case .boolean(let isOn): isOn ? "on" : "off"
        case .text(let text): text
        }
    }
}

extension CameraControl {
    /// Reads a value for this control: a number (`0x` for hexadecimal), a menu's index or item (or its unambiguous
    /// beginning, case-insensitive), on/off, true/false, yes/no, 1/0; anything for a button.
    ///
    /// - Throws: `invalidConfiguration` with the values that are possible.
    public func parse(_ text: String) throws(CaptureError) -> CameraControl.Value {
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
            // A number is first looked for among the choices; an index is accepted where it is not one of them.
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

    /// Checks a value as ``parse(_:)`` checks a text.
    ///
    /// - Throws: `invalidConfiguration`.
    func check(_ value: CameraControl.Value) throws(CaptureError) {
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

    /// The possible values, for messages: `0 to 255 in steps of 5`.
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

    /// A value with its name, where it is a menu's: `3 (Aperture Priority Mode)`.
    func describe(_ value: CameraControl.Value) -> String {
        guard case .menu(let items) = kind, let item = items.first(where: { $0.index == value.number }) else {
            return "\(value)"
        }
        return "\(item.index) (\(item.name))"
    }
}
