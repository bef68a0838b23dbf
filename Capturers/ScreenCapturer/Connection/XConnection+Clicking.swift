import CLibXCB
import VideoCapturing
import XDisplay

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension XConnection {
    /// The timeout of the click.
    private static let clickTimeout = Duration.seconds(60)

    /// Lets the user click a window; nil when the root is clicked.
    ///
    /// - Throws: `silent` without a click within a minute, `refused` when another program has grabbed the pointer.
    func clickedWindow() throws(XFailure) -> xcb_window_t? {
        let cursor = try crosshair()
        defer { xcb_free_cursor(handle, cursor) }
        let grab = xcb_grab_pointer(
            handle, 0, root, UInt16(XCB_EVENT_MASK_BUTTON_PRESS.rawValue | XCB_EVENT_MASK_BUTTON_RELEASE.rawValue),
            UInt8(XCB_GRAB_MODE_ASYNC.rawValue), UInt8(XCB_GRAB_MODE_ASYNC.rawValue), 0, cursor, 0)
        let status = try answer(grab.sequence, as: xcb_grab_pointer_reply_t.self) { $0.pointee.status }
        guard status == XCB_GRAB_STATUS_SUCCESS.rawValue else { throw .refused(code: 0) }
        defer {
            xcb_ungrab_pointer(handle, 0)
            xcb_flush(handle)
        }
        let deadline = MonotonicClock().now.advanced(by: XConnection.clickTimeout)
        var clicked: xcb_window_t?
        while true {
            while let event = xcb_poll_for_event(handle) {
                defer { free(event) }
                switch Int32(event.pointee.response_type & 0x7f) {
                case XCB_BUTTON_PRESS:
                    clicked = event.withMemoryRebound(to: xcb_button_press_event_t.self, capacity: 1) {
                        $0.pointee.child
                    }
                case XCB_BUTTON_RELEASE:
                    // The button belongs to the grab until here, so that no program sees half a click.
                    guard let clicked else { continue }
                    return clicked == 0 ? nil : try clientWindow(in: clicked)
                default: continue
                }
            }
            if isBroken { throw .gone }
            let left = (deadline - MonotonicClock().now).seconds
            guard left > 0 else { throw .silent }
            if wait(seconds: left) == .stopped { throw .stopping }
        }
    }

    /// The pointer shape during the choice (cursor font, `XC_crosshair`).
    private func crosshair() throws(XFailure) -> xcb_cursor_t {
        let glyph: UInt16 = 34
        let font = xcb_generate_id(handle)
        xcb_open_font(handle, font, 6, "cursor")
        let cursor = xcb_generate_id(handle)
        xcb_create_glyph_cursor(handle, cursor, font, font, glyph, glyph + 1, 0, 0, 0, .max, .max, .max)
        xcb_close_font(handle, font)
        return cursor
    }
}
