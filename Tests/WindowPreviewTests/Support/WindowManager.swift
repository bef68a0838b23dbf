import CLibXCB
import TestTools
import VideoCapturing
import XTestTools

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The part of a window manager that full screen takes (EWMH, `_NET_WM_STATE`).
final class WindowManager {
    let fullScreen: UInt32
    private let client: XClient
    private let state: UInt32

    init(_ client: XClient) throws {
        self.client = client
        fullScreen = try client.atom("_NET_WM_STATE_FULLSCREEN")
        state = try client.atom("_NET_WM_STATE")
        xcb_change_property(
            client.connection, UInt8(XCB_PROP_MODE_REPLACE.rawValue), client.root, try client.atom("_NET_SUPPORTED"),
            XCB_ATOM_ATOM.rawValue, 32, 2, [state, fullScreen])
        xcb_change_window_attributes(
            client.connection, client.root, XCB_CW_EVENT_MASK.rawValue,
            [XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY.rawValue])
        try client.sync()
    }

    /// The first two numbers of the next request of a window to change its state; nil when none comes.
    func waitForRequest(of window: UInt32) throws -> [UInt32]? {
        var found: [UInt32]?
        _ = eventually {
            while let event = xcb_poll_for_event(client.connection) {
                defer { free(event) }
                guard Int32(event.pointee.response_type & 0x7F) == XCB_CLIENT_MESSAGE else { continue }
                let message = UnsafeRawPointer(event).loadUnaligned(as: xcb_client_message_event_t.self)
                guard message.window == window, message.type == state else { continue }
                found = [message.data.data32.0, message.data.data32.1]
            }
            return found != nil
        }
        return found
    }

    /// Does what a window has asked for.
    func setFullScreen(_ window: UInt32, _ isOn: Bool) throws {
        let frame = isOn ? [0, 0, 160, 120] : [0, 0, 64, 48]
        try client.configure(window, PixelRect(x: frame[0], y: frame[1], width: frame[2], height: frame[3]))
        xcb_change_property(
            client.connection, UInt8(XCB_PROP_MODE_REPLACE.rawValue), window, state, XCB_ATOM_ATOM.rawValue, 32,
            isOn ? 1 : 0, [fullScreen])
        try client.sync()
    }
}
