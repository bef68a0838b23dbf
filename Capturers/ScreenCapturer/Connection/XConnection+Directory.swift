import CLibXCB
import VideoCapturing
import XDisplay

extension XConnection {
    /// The application windows: those that the window manager lists (EWMH, `_NET_CLIENT_LIST`), or without one the visible
    /// children of the root.
    func windows() throws(XFailure) -> [ScreenDirectory.Window] {
        let titleAtoms = [try atom("_NET_WM_NAME"), xcb_atom_t(XCB_ATOM_WM_NAME.rawValue)]
        let processAtom = try atom("_NET_WM_PID")
        var ids = try numbers(atom("_NET_CLIENT_LIST"), of: root)
        if ids.isEmpty { ids = try children(of: root) }
        var windows: [ScreenDirectory.Window] = []
        for id in ids {
            do throws(XFailure) {
                guard try isShown(id) else { continue }
                let title = try titleAtoms.lazy.firstText { (atom) throws(XFailure) in try property(atom, of: id) }
                let names = try property(xcb_atom_t(XCB_ATOM_WM_CLASS.rawValue), of: id).split(separator: 0)
                windows.append(
                    ScreenDirectory.Window(
                        id: id, title: title, className: names.last.map { String(decoding: $0, as: UTF8.self) } ?? "",
                        processID: try numbers(processAtom, of: id).first.map { Int32(bitPattern: $0) },
                        frame: try frame(of: id)))
            } catch .refused {
                // Closed in the meantime.
                continue
            }
        }
        return windows
    }

    func children(of window: xcb_window_t) throws(XFailure) -> [xcb_window_t] {
        let cookie = xcb_query_tree(handle, window)
        return try answer(cookie.sequence, as: xcb_query_tree_reply_t.self) { reply in
            let count = Int(xcb_query_tree_children_length(reply))
            return Array(UnsafeBufferPointer(start: xcb_query_tree_children(reply), count: count))
        }
    }

    /// Whether the window and its ancestors are mapped, and it has pixels.
    func isShown(_ window: xcb_window_t) throws(XFailure) -> Bool {
        let cookie = xcb_get_window_attributes(handle, window)
        return try answer(cookie.sequence, as: xcb_get_window_attributes_reply_t.self) { reply in
            reply.pointee.map_state == XCB_MAP_STATE_VIEWABLE.rawValue
                && reply.pointee._class == XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue
        }
    }

    /// The window of a client inside a window manager's frame: the nearest descendant with the property `WM_STATE`
    /// (ICCCM, 4.1.3.1); the frame itself without one.
    func clientWindow(in frame: xcb_window_t) throws(XFailure) -> xcb_window_t {
        let state = try atom("WM_STATE")
        guard state != 0 else { return frame }
        var level = [frame]
        // Window managers nest only a few levels.
        for _ in 0..<4 where !level.isEmpty {
            for window in level where try !property(state, of: window).isEmpty { return window }
            var next: [xcb_window_t] = []
            for window in level { next += try children(of: window) }
            level = next
        }
        return frame
    }
}

extension Sequence<xcb_atom_t> {
    fileprivate func firstText(_ read: (xcb_atom_t) throws(XFailure) -> [UInt8]) throws(XFailure) -> String {
        for atom in self {
            let bytes = try read(atom)
            if !bytes.isEmpty { return String(decoding: bytes, as: UTF8.self) }
        }
        return ""
    }
}

extension XConnection {
    /// The monitors, the primary one first.
    func monitors() throws(XFailure) -> [ScreenDirectory.Monitor] {
        let size = try geometry(of: root)
        let whole = PixelRect(x: 0, y: 0, width: size.width, height: size.height)
        guard extensions.randr != nil else {
            return [ScreenDirectory.Monitor(name: "screen", frame: whole, isPrimary: true)]
        }
        let cookie = xcb_randr_get_monitors(handle, root, 1)
        let found: [(atom: xcb_atom_t, frame: PixelRect, isPrimary: Bool)]
        do {
            found = try answer(cookie.sequence, as: xcb_randr_get_monitors_reply_t.self) { reply in
                var result: [(atom: xcb_atom_t, frame: PixelRect, isPrimary: Bool)] = []
                var iterator = xcb_randr_get_monitors_monitors_iterator(reply)
                while iterator.rem > 0 {
                    let info = iterator.data.pointee
                    let frame = PixelRect(
                        x: Int(info.x), y: Int(info.y), width: Int(info.width), height: Int(info.height))
                    result.append((info.name, frame, info.primary != 0))
                    xcb_randr_monitor_info_next(&iterator)
                }
                return result
            }
        } catch .refused {
            // RandR before 1.5.
            return [ScreenDirectory.Monitor(name: "screen", frame: whole, isPrimary: true)]
        }
        var monitors: [ScreenDirectory.Monitor] = []
        for monitor in found {
            monitors.append(
                ScreenDirectory.Monitor(
                    name: try name(of: monitor.atom), frame: monitor.frame, isPrimary: monitor.isPrimary))
        }
        if monitors.isEmpty { return [ScreenDirectory.Monitor(name: "screen", frame: whole, isPrimary: true)] }
        return monitors.filter(\.isPrimary) + monitors.filter { !$0.isPrimary }
    }
}
