import CLibXCB
import VideoCapturing
import XDisplay

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension XWindow {
    /// Calls `body` with each event that has arrived.
    ///
    /// - Throws: `gone` when the server is.
    func readEvents(_ body: (PreviewWindowEvent) throws -> Void) throws {
        while let event = xcb_poll_for_event(connection.handle) {
            defer { free(event) }
            if let found = try interpret(event) { try body(found) }
        }
        if connection.isBroken { throw XFailure.gone }
    }

    /// As ``readEvents(_:)``, for events that were read while something else was sent or awaited.
    ///
    /// - Returns: whether there were any.
    func readQueuedEvents(_ body: (PreviewWindowEvent) throws -> Void) throws -> Bool {
        var hasFound = false
        while let event = xcb_poll_for_queued_event(connection.handle) {
            defer { free(event) }
            hasFound = true
            if let found = try interpret(event) { try body(found) }
        }
        return hasFound
    }

    func flush() { xcb_flush(connection.handle) }

    private func interpret(_ event: UnsafeMutablePointer<xcb_generic_event_t>) throws(XFailure) -> PreviewWindowEvent? {
        let raw = UnsafeRawPointer(event)
        let type = Int32(event.pointee.response_type & 0x7f)
        switch type {
        case 0:
            let error = raw.loadUnaligned(as: xcb_generic_error_t.self)
            // The server will not confirm what it has refused.
            if error.major_code == connection.extensions.sharedMemory?.majorOpcode { didPut() }
            return nil
        case XCB_KEY_PRESS:
            let press = raw.loadUnaligned(as: xcb_key_press_event_t.self)
            return keyboard.press(press.detail, state: press.state, time: press.time).map { .key($0) }
        case XCB_KEY_RELEASE:
            let release = raw.loadUnaligned(as: xcb_key_release_event_t.self)
            keyboard.release(release.detail, time: release.time)
            return nil
        case XCB_EXPOSE:
            return raw.loadUnaligned(as: xcb_expose_event_t.self).count == 0 ? .exposed : nil
        case XCB_CONFIGURE_NOTIFY:
            let notice = raw.loadUnaligned(as: xcb_configure_notify_event_t.self)
            return didResize(PixelSize(width: Int(notice.width), height: Int(notice.height))) ? .resized : nil
        case XCB_VISIBILITY_NOTIFY:
            let notice = raw.loadUnaligned(as: xcb_visibility_notify_event_t.self)
            isObscured = notice.state == XCB_VISIBILITY_FULLY_OBSCURED.rawValue
            return .visibility
        case XCB_MAP_NOTIFY:
            didMap()
            return .visibility
        case XCB_UNMAP_NOTIFY:
            didUnmap()
            return .visibility
        case XCB_DESTROY_NOTIFY: return .closed
        case XCB_MAPPING_NOTIFY:
            keyboard = try XKeyboard(connection)
            return nil
        case XCB_PROPERTY_NOTIFY:
            let notice = raw.loadUnaligned(as: xcb_property_notify_event_t.self)
            guard notice.atom == atoms.state else { return nil }
            return try readFullScreen() ? .fullScreen : nil
        case XCB_CLIENT_MESSAGE:
            let message = raw.loadUnaligned(as: xcb_client_message_event_t.self)
            return message.type == atoms.protocols && message.data.data32.0 == atoms.deleteWindow ? .closed : nil
        default:
            if let first = connection.extensions.sharedMemory?.firstEvent, type == Int32(first) { didPut() }
            return nil
        }
    }
}

/// The atoms of a window: ICCCM's and EWMH's.
struct XWindowAtoms {
    let protocols: xcb_atom_t
    let deleteWindow: xcb_atom_t
    let state: xcb_atom_t
    let fullScreen: xcb_atom_t
    let supported: xcb_atom_t
    let name: xcb_atom_t
    let utf8: xcb_atom_t
    let processID: xcb_atom_t

    init(_ connection: XConnection) throws(XFailure) {
        protocols = try connection.atom("WM_PROTOCOLS", creates: true)
        deleteWindow = try connection.atom("WM_DELETE_WINDOW", creates: true)
        state = try connection.atom("_NET_WM_STATE", creates: true)
        fullScreen = try connection.atom("_NET_WM_STATE_FULLSCREEN", creates: true)
        supported = try connection.atom("_NET_SUPPORTED", creates: true)
        name = try connection.atom("_NET_WM_NAME", creates: true)
        utf8 = try connection.atom("UTF8_STRING", creates: true)
        processID = try connection.atom("_NET_WM_PID", creates: true)
    }
}

/// Which key of the keyboard stands for which command, in its present layout.
struct XKeyboard {
    private var keys: [xcb_keycode_t: PreviewKey] = [:]
    private var lastRelease: (key: xcb_keycode_t, time: xcb_timestamp_t)?

    init(_ connection: XConnection) throws(XFailure) {
        let setup = xcb_get_setup(connection.handle)!
        let first = setup.pointee.min_keycode
        let count = setup.pointee.max_keycode - first + 1
        let cookie = xcb_get_keyboard_mapping(connection.handle, first, count)
        keys = try connection.answer(cookie.sequence, as: xcb_get_keyboard_mapping_reply_t.self) { reply in
            var keys: [xcb_keycode_t: PreviewKey] = [:]
            let symbols = UnsafeBufferPointer(
                start: xcb_get_keyboard_mapping_keysyms(reply),
                count: Int(xcb_get_keyboard_mapping_keysyms_length(reply)))
            let width = max(1, Int(reply.pointee.keysyms_per_keycode))
            for (index, symbol) in symbols.enumerated() {
                // Of any group, so that a keyboard with a second alphabet works too.
                guard let key = PreviewKey(symbol: symbol, escape: 0xFF1B) else { continue }
                let code = first + xcb_keycode_t(index / width)
                if keys[code] == nil { keys[code] = key }
            }
            return keys
        }
    }

    /// The command of a key; nil for others, for repeats of a key that is held, and together with Control, Alt or Super.
    mutating func press(_ code: xcb_keycode_t, state: UInt16, time: xcb_timestamp_t) -> PreviewKey? {
        // A repeat is a release and a press at the same time.
        if let last = lastRelease, last.key == code, last.time == time { return nil }
        let others = XCB_MOD_MASK_CONTROL.rawValue | XCB_MOD_MASK_1.rawValue | XCB_MOD_MASK_4.rawValue
        return UInt32(state) & others == 0 ? keys[code] : nil
    }

    mutating func release(_ code: xcb_keycode_t, time: xcb_timestamp_t) { lastRelease = (code, time) }
}
