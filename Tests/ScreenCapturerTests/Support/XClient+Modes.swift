import CLibXCB
import VideoCapturing
import XTestTools

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension XClient {
    /// Changes the size of the whole screen, to at most the one that it began with, as a display's mode change does.
    func setScreenSize(width: Int, height: Int) throws {
        guard
            let resources = xcb_randr_get_screen_resources_reply(
                connection, xcb_randr_get_screen_resources(connection, root), nil)
        else { throw Failure(description: "the server has no RandR") }
        defer { free(resources) }
        let controller = xcb_randr_get_screen_resources_crtcs(resources)[0]
        var output = xcb_randr_get_screen_resources_outputs(resources)[0]
        let mode = try modeID(width: width, height: height, of: resources)
        let disable = xcb_randr_set_crtc_config(
            connection, controller, 0, resources.pointee.config_timestamp, 0, 0, 0, 1, 0, nil)
        free(xcb_randr_set_crtc_config_reply(connection, disable, nil))
        xcb_randr_set_screen_size(
            connection, root, UInt16(width), UInt16(height), UInt32(width), UInt32(height))
        // Asked for again: the modes of the output have changed since.
        guard
            let now = xcb_randr_get_screen_resources_reply(
                connection, xcb_randr_get_screen_resources(connection, root), nil)
        else { throw Failure(description: "the server has no RandR") }
        defer { free(now) }
        xcb_randr_add_output_mode(connection, output, mode)
        let enable = xcb_randr_set_crtc_config(
            connection, controller, 0, now.pointee.config_timestamp, 0, 0, mode, 1, 1, &output)
        guard let reply = xcb_randr_set_crtc_config_reply(connection, enable, nil) else {
            throw Failure(description: "the mode \(width)x\(height) was refused")
        }
        defer { free(reply) }
        try sync()
        guard reply.pointee.status == 0 else {
            throw Failure(description: "the mode \(width)x\(height) was refused: \(reply.pointee.status)")
        }
    }

    /// The mode of a size; made when there is none.
    private func modeID(
        width: Int, height: Int, of resources: UnsafePointer<xcb_randr_get_screen_resources_reply_t>
    ) throws -> UInt32 {
        let known = UnsafeBufferPointer(
            start: xcb_randr_get_screen_resources_modes(resources),
            count: Int(xcb_randr_get_screen_resources_modes_length(resources)))
        if let found = known.first(where: { Int($0.width) == width && Int($0.height) == height }) { return found.id }
        let name = "test \(width)x\(height)"
        var mode = xcb_randr_mode_info_t()
        mode.width = UInt16(width)
        mode.height = UInt16(height)
        mode.name_len = UInt16(name.utf8.count)
        let cookie = xcb_randr_create_mode(connection, root, mode, UInt32(name.utf8.count), name)
        guard let reply = xcb_randr_create_mode_reply(connection, cookie, nil) else {
            throw Failure(description: "no mode \(width)x\(height) can be made")
        }
        defer { free(reply) }
        return reply.pointee.mode
    }

    /// Adds a monitor that is a part of the screen; the first one takes the place of the whole screen's.
    func addMonitor(_ name: String, _ frame: PixelRect, isPrimary: Bool = false, takesOutput: Bool = false) throws {
        var words = [UInt32](repeating: 0, count: MemoryLayout<xcb_randr_monitor_info_t>.size / 4)
        var information = xcb_randr_monitor_info_t()
        information.name = try atom(name)
        information.primary = isPrimary ? 1 : 0
        information.x = Int16(frame.x)
        information.y = Int16(frame.y)
        information.width = UInt16(frame.width)
        information.height = UInt16(frame.height)
        information.width_in_millimeters = UInt32(frame.width)
        information.height_in_millimeters = UInt32(frame.height)
        if takesOutput {
            information.nOutput = 1
            words.append(try firstOutput())
        }
        words.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: information, as: xcb_randr_monitor_info_t.self)
            _ = xcb_randr_set_monitor(
                connection, root, bytes.baseAddress!.assumingMemoryBound(to: xcb_randr_monitor_info_t.self))
        }
        try sync()
    }

    func removeMonitor(_ name: String) throws {
        xcb_randr_delete_monitor(connection, root, try atom(name))
        try sync()
    }

    private func firstOutput() throws -> UInt32 {
        guard
            let resources = xcb_randr_get_screen_resources_reply(
                connection, xcb_randr_get_screen_resources(connection, root), nil)
        else { throw Failure(description: "the server has no RandR") }
        defer { free(resources) }
        return xcb_randr_get_screen_resources_outputs(resources)[0]
    }
}
