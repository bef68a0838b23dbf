import CLibXCB
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A connection to an X server. Used by one thread at a time; closed when it is released.
///
/// No call waits longer than ``timeout`` for the server, and none once the stop descriptor is readable: a server that
/// hangs must not block its clients.
package final class XConnection {
    /// The timeout of a reply in seconds.
    package static let timeout = 5.0

    package let handle: OpaquePointer
    package let root: xcb_window_t
    package let rootDepth: UInt8
    package let rootVisual: xcb_visualid_t
    package let extensions: XExtensions
    /// Readable when waits are to end; -1 for none.
    package var stopDescriptor: Int32 = -1

    /// Takes ownership of an open connection.
    package init(handle: OpaquePointer, screen: xcb_screen_t) {
        self.handle = handle
        root = screen.root
        rootDepth = screen.root_depth
        rootVisual = screen.root_visual
        extensions = XExtensions(handle)
    }

    deinit { xcb_disconnect(handle) }

    package var descriptor: Int32 { xcb_get_file_descriptor(handle) }
    package var isBroken: Bool { xcb_connection_has_error(handle) != 0 }

    /// The reply to a request, which the caller frees.
    package func reply<Reply>(_ sequence: UInt32, as type: Reply.Type) throws(XFailure) -> UnsafeMutablePointer<Reply> {
        xcb_flush(handle)
        var answer: UnsafeMutableRawPointer?
        var error: UnsafeMutablePointer<xcb_generic_error_t>?
        var remaining = XConnection.timeout
        while xcb_poll_for_reply(handle, sequence, &answer, &error) == 0 {
            if isBroken { throw .gone }
            let begin = MonotonicClock().now
            switch wait(seconds: remaining) {
            case .readable: break
            case .stopped:
                xcb_discard_reply(handle, sequence)
                throw .stopping
            case .timeout:
                xcb_discard_reply(handle, sequence)
                throw .silent
            }
            remaining = max(0, remaining - (MonotonicClock().now - begin).seconds)
        }
        if let error {
            let code = error.pointee.error_code
            free(error)
            throw .refused(code: code)
        }
        guard let answer else { throw .gone }
        return answer.assumingMemoryBound(to: Reply.self)
    }

    /// The result of `body` for the reply to a request.
    package func answer<Reply, Result>(
        _ sequence: UInt32, as type: Reply.Type, _ body: (UnsafeMutablePointer<Reply>) -> Result
    ) throws(XFailure) -> Result {
        let answer = try reply(sequence, as: type)
        defer { free(answer) }
        return body(answer)
    }

    /// Throws when the server has rejected a checked request.
    package func check(_ cookie: xcb_void_cookie_t) throws(XFailure) {
        // A reply to a later request means that this one has been executed.
        let probe = xcb_get_input_focus(handle)
        try answer(probe.sequence, as: xcb_get_input_focus_reply_t.self) { _ in }
        if let error = xcb_request_check(handle, cookie) {
            let code = error.pointee.error_code
            free(error)
            throw .refused(code: code)
        }
    }

    package enum Wait { case readable, stopped, timeout }

    /// Sleeps until the server has sent something, or for a number of seconds, indefinitely without one.
    ///
    /// - Parameters:
    ///   - seconds: the timeout; nil for none.
    ///   - interrupt: a descriptor that ends the wait when it is readable; nil for ``stopDescriptor``.
    @discardableResult
    package func wait(seconds: Double?, interruptedBy interrupt: Int32? = nil) -> Wait {
        let deadline = seconds.map { MonotonicClock().now.advanced(by: .seconds(min(max($0, 0), 1e6))) }
        let found = pollInput(descriptor, interruptedBy: interrupt ?? stopDescriptor, until: deadline)
        if found.contains(.interrupted) { return .stopped }
        // In doubt the caller checks the connection, and waits again.
        return found.isEmpty ? .timeout : .readable
    }
}

extension XConnection {
    /// The atom of a name; 0 when the server does not know it and it is not to be created.
    package func atom(_ name: String, creates: Bool = false) throws(XFailure) -> xcb_atom_t {
        let cookie = xcb_intern_atom(handle, creates ? 0 : 1, UInt16(name.utf8.count), name)
        return try answer(cookie.sequence, as: xcb_intern_atom_reply_t.self) { $0.pointee.atom }
    }

    /// The name of an atom.
    package func name(of atom: xcb_atom_t) throws(XFailure) -> String {
        let cookie = xcb_get_atom_name(handle, atom)
        return try answer(cookie.sequence, as: xcb_get_atom_name_reply_t.self) { reply in
            let bytes = UnsafeRawBufferPointer(
                start: xcb_get_atom_name_name(reply), count: Int(xcb_get_atom_name_name_length(reply)))
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// The bytes of a property of a window, at most 64 KiB; empty when it has none.
    package func property(_ atom: xcb_atom_t, of window: xcb_window_t) throws(XFailure) -> [UInt8] {
        guard atom != 0 else { return [] }
        let cookie = xcb_get_property(handle, 0, window, atom, 0, 0, 16384)
        return try answer(cookie.sequence, as: xcb_get_property_reply_t.self) { reply in
            let count = max(0, Int(xcb_get_property_value_length(reply)))
            return [UInt8](UnsafeRawBufferPointer(start: xcb_get_property_value(reply), count: count))
        }
    }

    /// A property that is a list of 32-bit numbers.
    package func numbers(_ atom: xcb_atom_t, of window: xcb_window_t) throws(XFailure) -> [UInt32] {
        let bytes = try property(atom, of: window)
        return bytes.withUnsafeBytes { bytes in
            (0..<bytes.count / 4).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self) }
        }
    }
}

extension XConnection {
    /// The position of a window on the display.
    package func frame(of window: xcb_window_t) throws(XFailure) -> PixelRect {
        let size = try geometry(of: window)
        let cookie = xcb_translate_coordinates(handle, window, root, 0, 0)
        return try answer(cookie.sequence, as: xcb_translate_coordinates_reply_t.self) { reply in
            PixelRect(
                x: Int(reply.pointee.dst_x), y: Int(reply.pointee.dst_y), width: size.width, height: size.height)
        }
    }

    /// The size, depth and border of a window or pixmap.
    package func geometry(of drawable: xcb_drawable_t) throws(XFailure) -> (
        width: Int, height: Int, depth: UInt8, border: Int
    ) {
        let cookie = xcb_get_geometry(handle, drawable)
        return try answer(cookie.sequence, as: xcb_get_geometry_reply_t.self) { reply in
            (
                Int(reply.pointee.width), Int(reply.pointee.height), reply.pointee.depth,
                Int(reply.pointee.border_width)
            )
        }
    }
}

/// The extensions of an X server that are used here; nil for those it does not have.
package struct XExtensions {
    package struct Numbers {
        package var majorOpcode: UInt8
        package var firstEvent: UInt8
    }

    package let damage: Numbers?
    package let xfixes: Numbers?
    package let composite: Numbers?
    package let randr: Numbers?
    package let sharedMemory: Numbers?
    package let input: Numbers?

    package init(_ connection: OpaquePointer) {
        func numbers(_ which: clibxcb_extension) -> Numbers? {
            guard let data = clibxcb_extension_data(connection, which), data.pointee.present != 0 else { return nil }
            return Numbers(majorOpcode: data.pointee.major_opcode, firstEvent: data.pointee.first_event)
        }
        damage = numbers(CLIBXCB_DAMAGE)
        xfixes = numbers(CLIBXCB_XFIXES)
        composite = numbers(CLIBXCB_COMPOSITE)
        randr = numbers(CLIBXCB_RANDR)
        sharedMemory = numbers(CLIBXCB_SHM)
        input = numbers(CLIBXCB_INPUT)
        // A server accepts no request of these before the version has been negotiated.
        if damage != nil { xcb_discard_reply(connection, xcb_damage_query_version(connection, 1, 1).sequence) }
        if xfixes != nil { xcb_discard_reply(connection, xcb_xfixes_query_version(connection, 5, 0).sequence) }
        if composite != nil { xcb_discard_reply(connection, xcb_composite_query_version(connection, 0, 4).sequence) }
        if randr != nil { xcb_discard_reply(connection, xcb_randr_query_version(connection, 1, 5).sequence) }
        if input != nil { xcb_discard_reply(connection, xcb_input_xi_query_version(connection, 2, 2).sequence) }
    }
}

/// Why a connection to an X server, or a request, has failed.
package enum XFailure: Error {
    /// The server has closed the connection, or has exited.
    case gone
    /// The server does not reply.
    case silent
    /// The wait was ended from outside.
    case stopping
    /// The server has rejected this request, with an error code of the protocol (X11, 4).
    case refused(code: UInt8)
}
