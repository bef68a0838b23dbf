import CLibXCB
import XTestTools

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension XClient {
    /// Moves the pointer to a place on the screen, as a person does with a mouse.
    func movePointer(x: Int, y: Int) throws {
        xcb_test_fake_input(connection, UInt8(XCB_MOTION_NOTIFY), 0, 0, root, Int16(x), Int16(y), 0)
        try sync()
    }

    /// Puts the pointer somewhere, as programs do: no device has moved.
    func warpPointer(x: Int, y: Int) throws {
        xcb_warp_pointer(connection, 0, root, 0, 0, 0, 0, Int16(x), Int16(y))
        try sync()
    }

    /// Presses and lets go of the first button where the pointer is.
    func click() throws {
        for type in [XCB_BUTTON_PRESS, XCB_BUTTON_RELEASE] {
            xcb_test_fake_input(connection, UInt8(type), 1, 0, root, 0, 0, 0)
        }
        try sync()
    }

    /// Lets the pointer look like `picture` over a window, with its tip at the given pixel. Where the picture is not
    /// opaque its colours are already multiplied by alpha.
    func setPointer(_ picture: Picture, tipX: Int = 0, tipY: Int = 0, over window: XWindow) throws {
        let pixmap = newID()
        let context = newID()
        let drawing = newID()
        let cursor = newID()
        xcb_create_pixmap(connection, 32, pixmap, root, UInt16(picture.width), UInt16(picture.height))
        xcb_create_gc(connection, context, pixmap, 0, nil)
        let pixels = (0..<picture.height).flatMap { y in (0..<picture.width).map { picture[$0, y] } }
        pixels.withUnsafeBytes { bytes in
            _ = xcb_put_image(
                connection, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), pixmap, context, UInt16(picture.width),
                UInt16(picture.height), 0, 0, 0, 32, UInt32(bytes.count), bytes.baseAddress)
        }
        xcb_render_create_picture(connection, drawing, pixmap, try formatWithAlpha(), 0, nil)
        xcb_render_create_cursor(connection, cursor, drawing, UInt16(tipX), UInt16(tipY))
        xcb_change_window_attributes(connection, window.id, XCB_CW_CURSOR.rawValue, [cursor])
        xcb_render_free_picture(connection, drawing)
        xcb_free_cursor(connection, cursor)
        xcb_free_gc(connection, context)
        xcb_free_pixmap(connection, pixmap)
        try sync()
    }

    private func formatWithAlpha() throws -> UInt32 {
        // Else the server does not yet know which version is spoken.
        free(xcb_render_query_version_reply(connection, xcb_render_query_version(connection, 0, 11), nil))
        guard
            let reply = xcb_render_query_pict_formats_reply(connection, xcb_render_query_pict_formats(connection), nil)
        else { throw Failure(description: "the server does not render") }
        defer { free(reply) }
        let formats = UnsafeBufferPointer(
            start: xcb_render_query_pict_formats_formats(reply),
            count: Int(xcb_render_query_pict_formats_formats_length(reply)))
        guard
            let found = formats.first(where: {
                $0.depth == 32 && $0.direct.alpha_mask == 255 && $0.direct.alpha_shift == 24
                    && $0.direct.red_shift == 16
            })
        else { throw Failure(description: "the server has no pictures with alpha") }
        return found.id
    }
}
