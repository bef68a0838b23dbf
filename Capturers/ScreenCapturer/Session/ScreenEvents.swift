import CLibXCB
import XDisplay

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The events of the server since the last read.
struct ScreenEvents {
    /// Something has been drawn.
    var hasDamage = false
    /// The window, or the display, may have another size.
    var isReshaped = false
    /// Whether the window is shown.
    var isHidden = false
    /// The window is closed.
    var isDestroyed = false

    /// Selects the events.
    static func select(_ connection: XConnection, _ subject: ScreenSubject) {
        var mask = XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue
        withUnsafePointer(to: &mask) {
            _ = xcb_change_window_attributes(
                connection.handle, subject.window, XCB_CW_EVENT_MASK.rawValue, UnsafeRawPointer($0))
        }
        if connection.extensions.randr != nil, !subject.isWindow {
            let what =
                XCB_RANDR_NOTIFY_MASK_SCREEN_CHANGE.rawValue | XCB_RANDR_NOTIFY_MASK_CRTC_CHANGE.rawValue
                | XCB_RANDR_NOTIFY_MASK_OUTPUT_CHANGE.rawValue
            xcb_randr_select_input(connection.handle, connection.root, UInt16(what))
        }
    }

    /// Reads all events that have arrived; those of the pointer are passed to `pointer`.
    mutating func read(_ connection: XConnection, _ subject: ScreenSubject, pointer: inout PointerTracker?)
        throws(XFailure)
    {
        let extensions = connection.extensions
        while let event = xcb_poll_for_event(connection.handle) {
            defer { free(event) }
            if pointer?.take(event, extensions) ?? false { continue }
            let type = event.pointee.response_type & 0x7f
            if let damage = extensions.damage, type == damage.firstEvent + UInt8(XCB_DAMAGE_NOTIFY) {
                hasDamage = true
                continue
            }
            if let randr = extensions.randr, type == randr.firstEvent || type == randr.firstEvent + 1 {
                isReshaped = isReshaped || !subject.isWindow
                continue
            }
            take(type, event, subject)
        }
        if connection.isBroken { throw .gone }
    }

    private mutating func take(
        _ type: UInt8, _ event: UnsafeMutablePointer<xcb_generic_event_t>, _ subject: ScreenSubject
    ) {
        switch Int32(type) {
        case XCB_CONFIGURE_NOTIFY:
            isReshaped = true
        case XCB_UNMAP_NOTIFY where subject.isWindow:
            isHidden = true
        case XCB_MAP_NOTIFY where subject.isWindow:
            isHidden = false
            // The previous pixmap no longer belongs to the window.
            isReshaped = true
        case XCB_DESTROY_NOTIFY where subject.isWindow:
            isDestroyed = true
        default:
            break
        }
    }
}
