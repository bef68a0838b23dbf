import CLibXCB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A program on an X screen that draws what a test tells it to. All calls return once the server has done it.
///
/// For one thread at a time.
package final class XClient: @unchecked Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    /// How the pixels of a window are made of colours.
    package struct Visual {
        package var id: UInt32
        package var depth: UInt8
        package var red: UInt32
        package var green: UInt32
        package var blue: UInt32

        /// A colour, 0xAARRGGBB, as this visual's pixel.
        package func pixel(_ color: UInt32) -> UInt32 {
            func place(_ value: UInt32, _ mask: UInt32) -> UInt32 {
                let bits = mask.nonzeroBitCount
                let spread =
                    bits > 8 ? value << UInt32(bits - 8) | value >> UInt32(16 - bits) : value >> UInt32(8 - bits)
                return spread << UInt32(mask.trailingZeroBitCount)
            }
            let rest = depth == 32 ? color & 0xFF00_0000 : 0
            return rest | place(color >> 16 & 255, red) | place(color >> 8 & 255, green) | place(color & 255, blue)
        }
    }

    package let connection: OpaquePointer
    package let root: UInt32
    package let rootVisual: Visual
    private let visuals: [Visual]

    package init(_ screen: VirtualScreen) throws {
        guard let connection = xcb_connect(screen.name, nil), xcb_connection_has_error(connection) == 0 else {
            throw Failure(description: "no connection to \(screen.name)")
        }
        self.connection = connection
        let first = xcb_setup_roots_iterator(xcb_get_setup(connection)).data!
        root = first.pointee.root
        visuals = XClient.visuals(of: first)
        let id = first.pointee.root_visual
        rootVisual = visuals.first { $0.id == id }!
    }

    deinit { xcb_disconnect(connection) }

    private static func visuals(of screen: UnsafeMutablePointer<xcb_screen_t>) -> [Visual] {
        var found: [Visual] = []
        var depths = xcb_screen_allowed_depths_iterator(screen)
        while depths.rem > 0 {
            var types = xcb_depth_visuals_iterator(depths.data)
            while types.rem > 0 {
                let type = types.data.pointee
                found.append(
                    Visual(
                        id: type.visual_id, depth: depths.data.pointee.depth, red: type.red_mask,
                        green: type.green_mask, blue: type.blue_mask))
                xcb_visualtype_next(&types)
            }
            xcb_depth_next(&depths)
        }
        return found
    }

    /// A visual for a depth that is not the screen's own.
    package func visual(depth: UInt8) throws -> Visual {
        guard let found = visuals.first(where: { $0.depth == depth }) else {
            throw Failure(description: "the screen has no visual of depth \(depth)")
        }
        return found
    }

    /// Waits until the server has done everything so far; throws when it refused any of it.
    package func sync() throws {
        let cookie = xcb_get_input_focus(connection)
        xcb_flush(connection)
        var reply: UnsafeMutableRawPointer?
        var answer = pollfd(fd: xcb_get_file_descriptor(connection), events: Int16(POLLIN), revents: 0)
        while xcb_poll_for_reply(connection, cookie.sequence, &reply, nil) == 0 {
            guard poll(&answer, 1, 10_000) != 0 else { throw Failure(description: "the server does not answer") }
        }
        free(reply)
        guard xcb_connection_has_error(connection) == 0 else { throw Failure(description: "the server has gone") }
        while let event = xcb_poll_for_event(connection) {
            defer { free(event) }
            guard event.pointee.response_type == 0 else { continue }
            let error = UnsafeRawPointer(event).loadUnaligned(as: xcb_generic_error_t.self)
            throw Failure(description: "X error \(error.error_code), request \(error.major_code).\(error.minor_code)")
        }
    }

    package func newID() -> UInt32 { xcb_generate_id(connection) }

    package func atom(_ name: String) throws -> UInt32 {
        let cookie = xcb_intern_atom(connection, 0, UInt16(name.utf8.count), name)
        guard let reply = xcb_intern_atom_reply(connection, cookie, nil) else {
            throw Failure(description: "no atom \(name)")
        }
        defer { free(reply) }
        return reply.pointee.atom
    }

    /// How many windows the screen has, those of other programs too.
    package func topLevelWindowCount() throws -> Int {
        guard let reply = xcb_query_tree_reply(connection, xcb_query_tree(connection, root), nil) else {
            throw Failure(description: "no list of windows")
        }
        defer { free(reply) }
        return Int(reply.pointee.children_len)
    }
}
