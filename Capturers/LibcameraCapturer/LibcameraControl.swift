import CLibcamera
import VideoCapturing

/// A control of a camera, with its range.
public struct LibcameraControl: Sendable, Hashable {
    /// What values a control takes.
    public enum Kind: Sendable, Hashable {
        /// `true` or `false`.
        case boolean
        /// A whole number from the minimum to the maximum; a choice, such as `AwbMode`, is one too.
        case integer(minimum: Int64, maximum: Int64)
        /// A number from the minimum to the maximum.
        case number(minimum: Double, maximum: Double)
        /// A rectangle, or several values; it cannot be set by name here.
        case other
    }

    /// The name in libcamera, such as `AnalogueGain`.
    public let name: String
    /// What values it takes.
    public let kind: Kind
    /// The camera's default as text; nil where it states none.
    public let defaultValue: String?
    let id: UInt32

    init(_ control: lc_control) {
        var control = control
        id = control.id
        name = cText(&control.name)
        switch UInt8(bitPattern: control.kind) {
        case UInt8(ascii: "b"): kind = .boolean
        case UInt8(ascii: "i"):
            kind = .integer(minimum: whole(control.minimum), maximum: whole(control.maximum))
        case UInt8(ascii: "f"): kind = .number(minimum: control.minimum, maximum: control.maximum)
        default: kind = .other
        }
        defaultValue = control.has_default ? LibcameraControl.text(control.standard, kind) : nil
    }

    /// For tests.
    package init(name: String, kind: Kind, id: UInt32 = 1) {
        self.name = name
        self.kind = kind
        self.id = id
        defaultValue = nil
    }

    private static func text(_ value: Double, _ kind: Kind) -> String? {
        switch kind {
        case .boolean: value != 0 ? "true" : "false"
        case .integer: "\(whole(value))"
        case .number: "\(value)"
        case .other: nil
        }
    }

    /// The value of a text.
    ///
    /// - Throws: `invalidConfiguration` with the range, for any other text.
    package func parse(_ text: String) throws(CaptureError) -> Double {
        let value: Double?
        let range: String
        switch kind {
        case .boolean:
            value = ["true": 1, "yes": 1, "on": 1, "1": 1, "false": 0, "no": 0, "off": 0, "0": 0][text.lowercased()]
            range = "true or false"
        case .integer(let minimum, let maximum):
            value = Int64(text).flatMap { $0 >= minimum && $0 <= maximum ? Double($0) : nil }
            range = "a whole number from \(minimum) to \(maximum)"
        case .number(let minimum, let maximum):
            value = Double(text).flatMap { $0 >= minimum && $0 <= maximum ? $0 : nil }
            range = "a number from \(minimum) to \(maximum)"
        case .other:
            throw CaptureError(
                .invalidConfiguration, operation: "set a control", subject: name,
                message: "This control has several values, and cannot be set by its name; leave it out.")
        }
        guard let value else {
            throw CaptureError(
                .invalidConfiguration, operation: "set a control", subject: name,
                message: "'\(text)' is not a value of this control; give \(range).")
        }
        return value
    }

    /// The settings of a configuration, as controls and numbers.
    ///
    /// - Throws: `invalidConfiguration` for an unknown name or an invalid value.
    static func resolve(
        _ settings: [LibcameraCapturer.Configuration.ControlSetting], in controls: [LibcameraControl]
    ) throws(CaptureError) -> [(control: LibcameraControl, value: Double)] {
        var resolved: [(control: LibcameraControl, value: Double)] = []
        for setting in settings {
            guard let control = controls.first(where: { $0.name.lowercased() == setting.name.lowercased() }) else {
                let names = controls.map(\.name)
                let guess = nearestName(to: setting.name, in: names).map { " Did you mean \($0)?" } ?? ""
                throw CaptureError(
                    .invalidConfiguration, operation: "set a control", subject: setting.name,
                    message: "The camera has no such control.\(guess)"
                        + (names.isEmpty ? " It has none at all." : " It has \(names.joined(separator: ", "))."))
            }
            resolved.append((control, try control.parse(setting.value)))
        }
        return resolved
    }
}

extension LibcameraControl: CustomStringConvertible {
    /// `AnalogueGain: 1.0 to 16.0, 1.0 by default`.
    public var description: String {
        let range =
            switch kind {
            case .boolean: "true or false"
            case .integer(let minimum, let maximum): "\(minimum) to \(maximum)"
            case .number(let minimum, let maximum): "\(minimum) to \(maximum)"
            case .other: "several values"
            }
        return "\(name): \(range)" + (defaultValue.map { ", \($0) by default" } ?? "")
    }
}

/// The nearest whole number within 64 bits; zero for NaN.
private func whole(_ value: Double) -> Int64 {
    value.isNaN ? 0 : Int64(exactly: value.rounded()) ?? (value < 0 ? .min : .max)
}
