import CLibXCB
import VideoCapturing
import XTestTools

/// A window of an ``XClient``; it goes when the client does.
final class XWindow {
    let client: XClient
    let id: UInt32
    let visual: XClient.Visual
    private let context: UInt32
    private var cursor: UInt32?

    /// A mapped window on top of the others, which no window manager touches.
    ///
    /// - Parameters:
    ///   - depth: the window's own, where it is not the screen's.
    ///   - color: what it is filled with, now and where it grows.
    init(
        _ client: XClient, _ frame: PixelRect, depth: UInt8? = nil, title: String? = nil, color: Color = 0xFF00_0000,
        isMapped: Bool = true
    ) throws {
        self.client = client
        visual = try depth.map { try client.visual(depth: $0) } ?? client.rootVisual
        id = client.newID()
        context = client.newID()
        let colormap = client.newID()
        let connection = client.connection
        xcb_create_colormap(connection, UInt8(XCB_COLORMAP_ALLOC_NONE.rawValue), colormap, client.root, visual.id)
        let mask =
            XCB_CW_BACK_PIXEL.rawValue | XCB_CW_BORDER_PIXEL.rawValue | XCB_CW_OVERRIDE_REDIRECT.rawValue
            | XCB_CW_COLORMAP.rawValue
        xcb_create_window(
            connection, visual.depth, id, client.root, Int16(frame.x), Int16(frame.y), UInt16(frame.width),
            UInt16(frame.height), 0, UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue), visual.id, mask,
            [visual.pixel(color), 0, 1, colormap])
        xcb_create_gc(connection, context, id, 0, nil)
        if let title { try setTitle(title) }
        if isMapped { xcb_map_window(connection, id) }
        try client.sync()
    }

    /// The title, as programs set it today.
    func setTitle(_ title: String) throws {
        setText(try client.atom("_NET_WM_NAME"), try client.atom("UTF8_STRING"), title)
        try client.sync()
    }

    /// The title and class, as programs of old set them.
    func setPlainTitle(_ title: String, class name: String) throws {
        setText(XCB_ATOM_WM_NAME.rawValue, XCB_ATOM_STRING.rawValue, title)
        setText(XCB_ATOM_WM_CLASS.rawValue, XCB_ATOM_STRING.rawValue, "\(name.lowercased())\0\(name)\0")
        try client.sync()
    }

    func setProcessID(_ processID: Int32) throws {
        xcb_change_property(
            client.connection, UInt8(XCB_PROP_MODE_REPLACE.rawValue), id, try client.atom("_NET_WM_PID"),
            XCB_ATOM_CARDINAL.rawValue, 32, 1, [UInt32(processID)])
        try client.sync()
    }

    private func setText(_ property: UInt32, _ type: UInt32, _ text: String) {
        xcb_change_property(
            client.connection, UInt8(XCB_PROP_MODE_REPLACE.rawValue), id, property, type, 8, UInt32(text.utf8.count),
            Array(text.utf8))
    }

    func fill(_ rect: PixelRect, _ color: Color) throws {
        xcb_change_gc(client.connection, context, XCB_GC_FOREGROUND.rawValue, [visual.pixel(color)])
        var rectangle = xcb_rectangle_t(
            x: Int16(rect.x), y: Int16(rect.y), width: UInt16(rect.width), height: UInt16(rect.height))
        xcb_poly_fill_rectangle(client.connection, id, context, 1, &rectangle)
        try client.sync()
    }

    func draw(_ picture: Picture, x: Int = 0, y: Int = 0) throws {
        var bytes: [UInt8] = []
        let bytesPerPixel = visual.depth > 16 ? 4 : 2
        bytes.reserveCapacity(picture.width * picture.height * bytesPerPixel)
        for row in 0..<picture.height {
            for column in 0..<picture.width {
                let pixel = visual.pixel(picture[column, row])
                for byte in 0..<bytesPerPixel { bytes.append(UInt8(truncatingIfNeeded: pixel >> UInt32(8 * byte))) }
            }
            // Rows end at multiples of four bytes.
            while bytes.count % 4 != 0 { bytes.append(0) }
        }
        xcb_put_image(
            client.connection, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), id, context, UInt16(picture.width),
            UInt16(picture.height), Int16(x), Int16(y), 0, visual.depth, UInt32(bytes.count), bytes)
        try client.sync()
    }

    /// Moves a part of the picture, as a terminal does that scrolls.
    func copy(_ rect: PixelRect, toX x: Int, y: Int) throws {
        xcb_copy_area(
            client.connection, id, id, context, Int16(rect.x), Int16(rect.y), Int16(x), Int16(y), UInt16(rect.width),
            UInt16(rect.height))
        try client.sync()
    }

    func move(x: Int, y: Int) throws {
        // Signed, whatever the type says.
        try configure(
            XCB_CONFIG_WINDOW_X.rawValue | XCB_CONFIG_WINDOW_Y.rawValue,
            [UInt32(bitPattern: Int32(x)), UInt32(bitPattern: Int32(y))])
    }

    func resize(width: Int, height: Int) throws {
        try configure(
            XCB_CONFIG_WINDOW_WIDTH.rawValue | XCB_CONFIG_WINDOW_HEIGHT.rawValue, [UInt32(width), UInt32(height)])
    }

    func raise() throws {
        try configure(XCB_CONFIG_WINDOW_STACK_MODE.rawValue, [UInt32(XCB_STACK_MODE_ABOVE.rawValue)])
    }

    private func configure(_ what: xcb_config_window_t.RawValue, _ values: [UInt32]) throws {
        xcb_configure_window(client.connection, id, UInt16(what), values)
        try client.sync()
    }

    func map() throws {
        xcb_map_window(client.connection, id)
        try client.sync()
    }

    func unmap() throws {
        xcb_unmap_window(client.connection, id)
        try client.sync()
    }

    func destroy() throws {
        xcb_destroy_window(client.connection, id)
        try client.sync()
    }
}
