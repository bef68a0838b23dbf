import CLibXCB

extension XConnection {
    /// The number of a name; 0 when the server does not know it.
    func atom(_ name: String) throws(XFailure) -> xcb_atom_t {
        let cookie = xcb_intern_atom(handle, 1, UInt16(name.utf8.count), name)
        return try answer(cookie.sequence, as: xcb_intern_atom_reply_t.self) { $0.pointee.atom }
    }

    /// The name of a number.
    func name(of atom: xcb_atom_t) throws(XFailure) -> String {
        let cookie = xcb_get_atom_name(handle, atom)
        return try answer(cookie.sequence, as: xcb_get_atom_name_reply_t.self) { reply in
            let bytes = UnsafeRawBufferPointer(
                start: xcb_get_atom_name_name(reply), count: Int(xcb_get_atom_name_name_length(reply)))
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// The bytes of a property of a window, at most 64 KiB; empty when it has none.
    func property(_ atom: xcb_atom_t, of window: xcb_window_t) throws(XFailure) -> [UInt8] {
        guard atom != 0 else { return [] }
        let cookie = xcb_get_property(handle, 0, window, atom, 0, 0, 16384)
        return try answer(cookie.sequence, as: xcb_get_property_reply_t.self) { reply in
            let count = max(0, Int(xcb_get_property_value_length(reply)))
            return [UInt8](UnsafeRawBufferPointer(start: xcb_get_property_value(reply), count: count))
        }
    }

    /// A property that is a list of 32-bit numbers.
    func numbers(_ atom: xcb_atom_t, of window: xcb_window_t) throws(XFailure) -> [UInt32] {
        let bytes = try property(atom, of: window)
        return bytes.withUnsafeBytes { bytes in
            (0..<bytes.count / 4).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self) }
        }
    }
}
