import CLibXCB
import VideoCapturing

extension XConnection {
    func geometry(of drawable: xcb_drawable_t) throws(XFailure) -> (width: Int, height: Int, depth: UInt8, border: Int)
    {
        let cookie = xcb_get_geometry(handle, drawable)
        return try answer(cookie.sequence, as: xcb_get_geometry_reply_t.self) { reply in
            (
                Int(reply.pointee.width), Int(reply.pointee.height), reply.pointee.depth,
                Int(reply.pointee.border_width)
            )
        }
    }

    /// The monitors, the primary one first.
    func monitors() throws(XFailure) -> [ScreenMonitor] {
        let size = try geometry(of: root)
        let whole = PixelRect(x: 0, y: 0, width: size.width, height: size.height)
        guard extensions.randr != nil else { return [ScreenMonitor(name: "screen", frame: whole, isPrimary: true)] }
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
            return [ScreenMonitor(name: "screen", frame: whole, isPrimary: true)]
        }
        var monitors: [ScreenMonitor] = []
        for monitor in found {
            monitors.append(
                ScreenMonitor(name: try name(of: monitor.atom), frame: monitor.frame, isPrimary: monitor.isPrimary))
        }
        if monitors.isEmpty { return [ScreenMonitor(name: "screen", frame: whole, isPrimary: true)] }
        return monitors.filter(\.isPrimary) + monitors.filter { !$0.isPrimary }
    }
}
