import CLibXCB
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What a person at the screen sees and does: pixels, keys, windows.
extension XClient {
    /// What is on the screen, as 0xRRGGBB, row by row; of a screen with 24 bits.
    package func screenPixels() throws -> ScreenPixels {
        let cookie = xcb_get_geometry(connection, root)
        guard let size = xcb_get_geometry_reply(connection, cookie, nil) else {
            throw Failure(description: "no size of the screen")
        }
        defer { free(size) }
        let image = xcb_get_image(
            connection, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), root, 0, 0, size.pointee.width, size.pointee.height,
            .max)
        guard let reply = xcb_get_image_reply(connection, image, nil) else {
            throw Failure(description: "no picture of the screen")
        }
        defer { free(reply) }
        let bytes = UnsafeRawBufferPointer(
            start: xcb_get_image_data(reply), count: Int(xcb_get_image_data_length(reply)))
        let (width, height) = (Int(size.pointee.width), Int(size.pointee.height))
        let bytesPerRow = bytes.count / height
        let bytesPerPixel = bytesPerRow / width
        let words = (0..<width * height).map { index -> UInt32 in
            let offset = index / width * bytesPerRow + index % width * bytesPerPixel
            let pixel =
                bytesPerPixel == 4
                ? bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                : UInt32(bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
            return rootVisual.color(pixel)
        }
        return ScreenPixels(width: width, height: height, words: words)
    }

    /// The windows on the screen, the topmost last.
    package func topLevelWindows() throws -> [UInt32] {
        guard let reply = xcb_query_tree_reply(connection, xcb_query_tree(connection, root), nil) else {
            throw Failure(description: "no list of windows")
        }
        defer { free(reply) }
        return Array(
            UnsafeBufferPointer(start: xcb_query_tree_children(reply), count: Int(reply.pointee.children_len)))
    }

    /// Presses a key and lets go of it, as a person does.
    ///
    /// - Parameters:
    ///   - symbol: the number of X11/keysymdef.h.
    ///   - modifier: another that is held meanwhile.
    package func type(_ symbol: UInt32, with modifier: UInt32? = nil) throws {
        let key = try code(of: symbol)
        let held = try modifier.map { try code(of: $0) }
        if let held { fake(XCB_KEY_PRESS, held) }
        fake(XCB_KEY_PRESS, key)
        fake(XCB_KEY_RELEASE, key)
        if let held { fake(XCB_KEY_RELEASE, held) }
        try sync()
    }

    /// Keys go to the window under the pointer where no window manager says otherwise.
    package func point(atX x: Int, y: Int) throws {
        xcb_warp_pointer(connection, 0, root, 0, 0, 0, 0, Int16(x), Int16(y))
        try sync()
    }

    private func fake(_ type: Int32, _ code: UInt8) {
        xcb_test_fake_input(connection, UInt8(type), code, 0, root, 0, 0, 0)
    }

    private func code(of symbol: UInt32) throws -> UInt8 {
        let setup = xcb_get_setup(connection)!.pointee
        let count = setup.max_keycode - setup.min_keycode + 1
        let cookie = xcb_get_keyboard_mapping(connection, setup.min_keycode, count)
        guard let reply = xcb_get_keyboard_mapping_reply(connection, cookie, nil) else {
            throw Failure(description: "no keyboard")
        }
        defer { free(reply) }
        let width = Int(reply.pointee.keysyms_per_keycode)
        let symbols = UnsafeBufferPointer(start: xcb_get_keyboard_mapping_keysyms(reply), count: Int(count) * width)
        guard let index = symbols.firstIndex(of: symbol) else {
            throw Failure(description: "no key for \(symbol)")
        }
        return setup.min_keycode + UInt8(index / width)
    }

    /// Asks a window to close, as a window manager does when its button is clicked (ICCCM, 4.2.8.1).
    package func askToClose(_ window: UInt32) throws {
        try send(window, to: window, try atom("WM_PROTOCOLS"), [try atom("WM_DELETE_WINDOW")], mask: 0)
    }

    /// Sends a message of five numbers at most.
    package func send(_ window: UInt32, to target: UInt32, _ type: UInt32, _ numbers: [UInt32], mask: UInt32) throws {
        var message = xcb_client_message_event_t()
        message.response_type = UInt8(XCB_CLIENT_MESSAGE)
        message.format = 32
        message.window = window
        message.type = type
        withUnsafeMutableBytes(of: &message.data.data32) { bytes in
            for (index, number) in numbers.enumerated() {
                bytes.storeBytes(of: number, toByteOffset: index * 4, as: UInt32.self)
            }
        }
        withUnsafeBytes(of: &message) { bytes in
            _ = xcb_send_event(
                connection, 0, target, mask, bytes.baseAddress!.assumingMemoryBound(to: CChar.self))
        }
        try sync()
    }

    /// Has the server throw out the program that a window belongs to, as xkill(1) does.
    package func killOwner(of window: UInt32) throws {
        xcb_kill_client(connection, window)
        try sync()
    }

    /// Moves a window and gives it a size, as a person does at its frame.
    package func configure(_ window: UInt32, _ frame: PixelRect) throws {
        let mask =
            XCB_CONFIG_WINDOW_X.rawValue | XCB_CONFIG_WINDOW_Y.rawValue | XCB_CONFIG_WINDOW_WIDTH.rawValue
            | XCB_CONFIG_WINDOW_HEIGHT.rawValue
        xcb_configure_window(
            connection, window, UInt16(mask),
            [UInt32(frame.x), UInt32(frame.y), UInt32(frame.width), UInt32(frame.height)])
        try sync()
    }

    /// Shows or hides a window.
    package func setMapped(_ window: UInt32, _ isMapped: Bool) throws {
        if isMapped { xcb_map_window(connection, window) } else { xcb_unmap_window(connection, window) }
        try sync()
    }

    /// A black window on top of all others.
    package func cover(_ frame: PixelRect) throws -> UInt32 {
        let window = newID()
        xcb_create_window(
            connection, rootVisual.depth, window, root, Int16(frame.x), Int16(frame.y), UInt16(frame.width),
            UInt16(frame.height), 0, UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue), rootVisual.id,
            XCB_CW_BACK_PIXEL.rawValue | XCB_CW_OVERRIDE_REDIRECT.rawValue, [0, 1])
        xcb_map_window(connection, window)
        try sync()
        return window
    }
}

/// What is on a screen.
package struct ScreenPixels {
    package let width: Int
    package let height: Int
    /// 0xRRGGBB, row by row.
    package let words: [UInt32]

    package init(width: Int, height: Int, words: [UInt32]) {
        (self.width, self.height, self.words) = (width, height, words)
    }

    package subscript(x: Int, y: Int) -> UInt32 { words[y * width + x] }
}

extension XClient.Visual {
    /// A pixel of this visual as 0xRRGGBB.
    package func color(_ pixel: UInt32) -> UInt32 {
        func part(_ mask: UInt32) -> UInt32 {
            let bits = UInt32(mask.nonzeroBitCount)
            let value = (pixel & mask) >> UInt32(mask.trailingZeroBitCount)
            return bits >= 8 ? value >> (bits - 8) : value << (8 - bits) | value >> (2 * bits - 8)
        }
        return part(red) << 16 | part(green) << 8 | part(blue)
    }
}
