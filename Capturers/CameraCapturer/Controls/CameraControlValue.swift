/// What a control of a camera is set to.
public enum CameraControlValue: Sendable, Hashable {
    /// A number, or bits.
    case integer(Int64)
    /// On or off.
    case boolean(Bool)
    /// The index of a menu's item.
    case menu(Int64)
    /// A text.
    case text(String)

    /// The number that drivers take for it; nil for a text.
    var number: Int64? {
        switch self {
        case .integer(let number), .menu(let number): number
        case .boolean(let isOn): isOn ? 1 : 0
        case .text: nil
        }
    }

    /// - Parameters:
    ///   - number: what the driver gave.
    ///   - kind: the control's.
    init(_ number: Int64, _ kind: CameraControl.Kind) {
        switch kind {
        case .boolean: self = .boolean(number != 0)
        case .menu, .integerMenu: self = .menu(number)
        case .integer, .bitmask, .button, .text: self = .integer(number)
        }
    }
}

extension CameraControlValue: CustomStringConvertible {
    /// As it can be written to set it: `128`, `on`, `3`.
    public var description: String {
        switch self {
        case .integer(let number), .menu(let number): "\(number)"
        case .boolean(let isOn): isOn ? "on" : "off"
        case .text(let text): text
        }
    }
}
