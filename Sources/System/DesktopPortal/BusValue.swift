internal import CDBus

/// A value of a D-Bus message, without the descriptors, which are taken one by one.
///
/// The types: <https://dbus.freedesktop.org/doc/dbus-specification.html#type-system>.
package indirect enum BusValue: Sendable, Hashable {
    case string(String)
    case path(String)
    case uint32(UInt32)
    case int32(Int32)
    case bool(Bool)
    /// Arrays and structures.
    case list([BusValue])
    case dictionary([String: BusValue])
    /// A type that the portal's answers do not need.
    case other

    var text: String? {
        switch self {
        case .string(let text), .path(let text): text
        default: nil
        }
    }
    var number: UInt32? { if case .uint32(let number) = self { number } else { nil } }
    var items: [BusValue]? { if case .list(let items) = self { items } else { nil } }
    var entries: [String: BusValue]? { if case .dictionary(let entries) = self { entries } else { nil } }
}

/// A type's code, which is its letter in a signature.
private func code(_ letter: Unicode.Scalar) -> Int32 { Int32(letter.value) }

// MARK: Writing

extension BusValue {
    private var signature: String {
        switch self {
        case .string: "s"
        case .path: "o"
        case .uint32: "u"
        case .int32: "i"
        case .bool: "b"
        case .dictionary: "a{sv}"
        case .list, .other: preconditionFailure("not among the arguments of a portal")
        }
    }

    /// Appends the value to a message.
    func append(to iterator: UnsafeMutablePointer<DBusMessageIter>) {
        func append(_ letter: Unicode.Scalar, _ value: some BitwiseCopyable) {
            withUnsafePointer(to: value) { _ = dbus_message_iter_append_basic(iterator, code(letter), $0) }
        }
        switch self {
        case .string(let text): text.withCString { append("s", $0) }
        case .path(let text): text.withCString { append("o", $0) }
        case .uint32(let number): append("u", number)
        case .int32(let number): append("i", number)
        case .bool(let value): append("b", dbus_bool_t(value ? 1 : 0))
        case .list, .other: break
        case .dictionary(let entries):
            BusValue.contain("a", "{sv}", in: iterator) { array in
                for (key, value) in entries {
                    BusValue.contain("e", nil, in: array) { entry in
                        BusValue.string(key).append(to: entry)
                        BusValue.contain("v", value.signature, in: entry) { value.append(to: $0) }
                    }
                }
            }
        }
    }

    private static func contain(
        _ letter: Unicode.Scalar, _ signature: String?, in iterator: UnsafeMutablePointer<DBusMessageIter>,
        _ body: (UnsafeMutablePointer<DBusMessageIter>) -> Void
    ) {
        var inner = DBusMessageIter()
        dbus_message_iter_open_container(iterator, code(letter), signature, &inner)
        body(&inner)
        dbus_message_iter_close_container(iterator, &inner)
    }
}

// MARK: Reading

extension BusValue {
    /// The values from there to the end of a message or a container.
    static func all(_ iterator: inout DBusMessageIter) -> [BusValue] {
        var values: [BusValue] = []
        while dbus_message_iter_get_arg_type(&iterator) != 0 {
            values.append(BusValue(&iterator))
            dbus_message_iter_next(&iterator)
        }
        return values
    }

    private init(_ iterator: inout DBusMessageIter) {
        func basic<Value: BitwiseCopyable>(_ initial: Value) -> Value {
            var value = initial
            dbus_message_iter_get_basic(&iterator, &value)
            return value
        }
        func string() -> String { basic(UnsafePointer<CChar>?.none).map { String(cString: $0) } ?? "" }
        func inside() -> DBusMessageIter {
            var inner = DBusMessageIter()
            dbus_message_iter_recurse(&iterator, &inner)
            return inner
        }
        switch dbus_message_iter_get_arg_type(&iterator) {
        case code("s"): self = .string(string())
        case code("o"): self = .path(string())
        case code("u"): self = .uint32(basic(UInt32(0)))
        case code("i"): self = .int32(basic(Int32(0)))
        case code("b"): self = .bool(basic(dbus_bool_t(0)) != 0)
        case code("v"):
            var inner = inside()
            self = BusValue(&inner)
        case code("a") where dbus_message_iter_get_element_type(&iterator) == code("e"):
            var inner = inside()
            var entries: [String: BusValue] = [:]
            while dbus_message_iter_get_arg_type(&inner) == code("e") {
                var entry = DBusMessageIter()
                dbus_message_iter_recurse(&inner, &entry)
                let pair = BusValue.all(&entry)
                if pair.count == 2, let key = pair[0].text { entries[key] = pair[1] }
                dbus_message_iter_next(&inner)
            }
            self = .dictionary(entries)
        case code("a"), code("r"):
            var inner = inside()
            self = .list(BusValue.all(&inner))
        default: self = .other
        }
    }
}
