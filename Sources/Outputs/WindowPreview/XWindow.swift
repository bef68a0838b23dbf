import CLibXCB
import VideoCapturing
import XDisplay

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A window on an X11 display: its life, its size, and the pixels in it. Confined to the thread of its preview.
///
/// Everything is libxcb's. Xlib would end the whole program when the server goes (`XIOError` calls `exit`).
final class XWindow: PreviewWindow {
    /// The timeout of the server's replies in seconds.
    static let timeout = XConnection.timeout

    let connection: XConnection
    let id: xcb_window_t
    let atoms: XWindowAtoms
    var keyboard: XKeyboard
    /// The size of the inside in pixels.
    private(set) var size: PixelSize
    private var isMapped = false
    /// Whether all of it is covered by others, as far as the server says.
    var isObscured = false
    private(set) var isFullScreen = false
    var isVisible: Bool { isMapped && !isObscured }
    /// Puts of pixels that the server has not confirmed. While there are any, it may still read the pixels.
    private var pendingPuts = 0
    private let layout: XPixelLayout
    private let context: xcb_gcontext_t
    private let windowManagerHasFullScreen: Bool
    private var image: WindowImage?
    /// The size of the picture in `image`; nil for none.
    private var imageSize: PixelSize?
    /// Where it was before full screen, where no window manager restores it.
    private var restoredFrame: PixelRect?

    /// Connects, and creates a window that is not mapped yet.
    ///
    /// - Throws: `CaptureError` when there is no usable display, `XFailure` when it does not answer.
    init(_ configuration: WindowPreview.Configuration, stopDescriptor: Int32) throws {
        let connection = try XWindow.connect(configuration.display)
        connection.stopDescriptor = stopDescriptor
        guard let layout = XPixelLayout(connection, visual: connection.rootVisual, depth: connection.rootDepth) else {
            throw CaptureError(
                .unavailable, operation: "open a window", subject: configuration.display,
                message: "The display has \(connection.rootDepth) bits per pixel; run the X server with 16, 24 or 30.")
        }
        self.connection = connection
        self.layout = layout
        atoms = try XWindowAtoms(connection)
        keyboard = try XKeyboard(connection)
        windowManagerHasFullScreen = try connection.numbers(atoms.supported, of: connection.root)
            .contains(atoms.fullScreen)
        size = configuration.size ?? PixelSize(width: 640, height: 480)
        id = xcb_generate_id(connection.handle)
        context = xcb_generate_id(connection.handle)
        create(title: configuration.title)
    }

    deinit {
        xcb_destroy_window(connection.handle, id)
        xcb_flush(connection.handle)
    }

    private static func connect(_ display: String?) throws(CaptureError) -> XConnection {
        if let name = display ?? XConnection.environment("DISPLAY") { return try XConnection.open(named: name) }
        let displays = XConnection.displays()
        let hint = displays.isEmpty ? "" : " (there is: \(displays.joined(separator: ", ")))"
        guard let wayland = XConnection.environment("WAYLAND_DISPLAY") else {
            throw CaptureError(
                .deviceNotFound, operation: "open a window",
                message:
                    "Neither DISPLAY nor WAYLAND_DISPLAY is set, so there is no screen to open a window on; run it "
                    + "in a desktop session, or set DISPLAY to an X display such as :0\(hint).")
        }
        throw CaptureError(
            .unavailable, operation: "open a window", subject: wayland,
            message:
                "WAYLAND_DISPLAY is set, but DISPLAY is not, and this window is opened through X11; start Xwayland, "
                + "which most desktops do by themselves, and set DISPLAY to its display, such as :0\(hint), or open it by "
                + "SDL (backend sdl).")
    }

    private func create(title: String) {
        let events =
            XCB_EVENT_MASK_KEY_PRESS.rawValue | XCB_EVENT_MASK_KEY_RELEASE.rawValue | XCB_EVENT_MASK_EXPOSURE.rawValue
            | XCB_EVENT_MASK_VISIBILITY_CHANGE.rawValue | XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue
            | XCB_EVENT_MASK_PROPERTY_CHANGE.rawValue
        let handle = connection.handle
        // The center stays while the size changes, until it is drawn again; the background, pixel 0, is black.
        xcb_create_window(
            handle, connection.rootDepth, id, connection.root, 0, 0, UInt16(size.width), UInt16(size.height), 0,
            UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue), connection.rootVisual,
            XCB_CW_BACK_PIXEL.rawValue | XCB_CW_BIT_GRAVITY.rawValue | XCB_CW_EVENT_MASK.rawValue,
            [0, XCB_GRAVITY_CENTER.rawValue, events])
        // Without events for each of its copies.
        xcb_create_gc(handle, context, id, XCB_GC_GRAPHICS_EXPOSURES.rawValue, [0])
        setProperty(atoms.protocols, XCB_ATOM_ATOM.rawValue, [atoms.deleteWindow])
        setProperty(atoms.processID, XCB_ATOM_CARDINAL.rawValue, [UInt32(bitPattern: getpid())])
        setText(atoms.name, atoms.utf8, title)
        setText(XCB_ATOM_WM_NAME.rawValue, atoms.utf8, title)
        setText(XCB_ATOM_WM_CLASS.rawValue, XCB_ATOM_STRING.rawValue, "window-preview\0WindowPreview\0")
    }

    private func setProperty(_ property: xcb_atom_t, _ type: xcb_atom_t, _ values: [UInt32]) {
        xcb_change_property(
            connection.handle, UInt8(XCB_PROP_MODE_REPLACE.rawValue), id, property, type, 32, UInt32(values.count),
            values)
    }

    private func setText(_ property: xcb_atom_t, _ type: xcb_atom_t, _ text: String) {
        let bytes = Array(text.utf8.prefix(4096))
        xcb_change_property(
            connection.handle, UInt8(XCB_PROP_MODE_REPLACE.rawValue), id, property, type, 8, UInt32(bytes.count), bytes)
    }

    // MARK: Size

    func map(size wanted: PixelSize, isFullScreen: Bool) throws {
        if wanted != size {
            let values = [UInt32(wanted.width), UInt32(wanted.height)]
            xcb_configure_window(
                connection.handle, id,
                UInt16(XCB_CONFIG_WINDOW_WIDTH.rawValue | XCB_CONFIG_WINDOW_HEIGHT.rawValue), values)
            size = wanted
        }
        if isFullScreen {
            // Read by the window manager when it sees the window first.
            if windowManagerHasFullScreen {
                setProperty(atoms.state, XCB_ATOM_ATOM.rawValue, [atoms.fullScreen])
            } else {
                _ = try setFullScreen(true)
            }
        }
        xcb_map_window(connection.handle, id)
        isMapped = true
    }

    /// The size of the whole screen.
    func screenSize() throws(XFailure) -> PixelSize {
        let screen = try connection.geometry(of: connection.root)
        return PixelSize(width: screen.width, height: screen.height)
    }

    /// Enters or leaves full screen: through the window manager, which reports it when it has done so, or without one by
    /// itself.
    ///
    /// - Returns: whether it is done.
    func setFullScreen(_ isWanted: Bool) throws(XFailure) -> Bool {
        guard isWanted != isFullScreen else { return false }
        if windowManagerHasFullScreen {
            var message = xcb_client_message_event_t()
            message.response_type = UInt8(XCB_CLIENT_MESSAGE)
            message.format = 32
            message.window = id
            message.type = atoms.state
            // _NET_WM_STATE: remove or add, the property, no second one, asked by an application.
            message.data.data32 = (isWanted ? 1 : 0, atoms.fullScreen, 0, 1, 0)
            let mask =
                XCB_EVENT_MASK_SUBSTRUCTURE_REDIRECT.rawValue | XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY.rawValue
            withUnsafeBytes(of: &message) { bytes in
                _ = xcb_send_event(
                    connection.handle, 0, connection.root, mask, bytes.baseAddress!.assumingMemoryBound(to: CChar.self))
            }
            return false
        }
        var frame = PixelRect(x: 0, y: 0, width: 0, height: 0)
        if isWanted {
            let screen = try screenSize()
            restoredFrame = try connection.frame(of: id)
            (frame.width, frame.height) = (screen.width, screen.height)
        } else if let restoredFrame {
            frame = restoredFrame
        } else {
            return false
        }
        configure(frame)
        isFullScreen = isWanted
        return true
    }

    private func configure(_ frame: PixelRect) {
        let mask =
            XCB_CONFIG_WINDOW_X.rawValue | XCB_CONFIG_WINDOW_Y.rawValue | XCB_CONFIG_WINDOW_WIDTH.rawValue
            | XCB_CONFIG_WINDOW_HEIGHT.rawValue | XCB_CONFIG_WINDOW_STACK_MODE.rawValue
        let values = [
            UInt32(bitPattern: Int32(frame.x)), UInt32(bitPattern: Int32(frame.y)), UInt32(frame.width),
            UInt32(frame.height), XCB_STACK_MODE_ABOVE.rawValue,
        ]
        xcb_configure_window(connection.handle, id, UInt16(mask), values)
    }

    /// Takes over what an event says of the window; true when it differs.
    func didResize(_ new: PixelSize) -> Bool {
        guard new != size, new.isValid else { return false }
        size = new
        return true
    }

    /// Takes over what the window manager says; true when it differs.
    func readFullScreen() throws(XFailure) -> Bool {
        let isNow = try connection.numbers(atoms.state, of: id).contains(atoms.fullScreen)
        guard windowManagerHasFullScreen, isNow != isFullScreen else { return false }
        isFullScreen = isNow
        return true
    }

    func didUnmap() { isMapped = false }
    func didMap() { isMapped = true }

    // MARK: Pixels

    /// Whether the server may still read the pixels, so that they must not be written.
    var isBusy: Bool { pendingPuts > 0 }

    /// Whether there is a picture to be put.
    var hasPicture: Bool { imageSize != nil }

    var usesSharedMemory: Bool { image?.shared != nil }

    func draw(
        in rect: PixelRect,
        _ draw: (_ memory: UnsafeMutablePointer<UInt8>, _ bytesPerRow: Int) throws(CaptureError) -> Void
    ) throws {
        let size = PixelSize(width: rect.width, height: rect.height)
        let byteCount = layout.bytesPerRow(width: size.width) * size.height
        // What fails leaves the pixels as they were, unless they were of another size.
        if imageSize != size { imageSize = nil }
        let image: WindowImage
        if let kept = self.image, kept.byteCount >= byteCount, kept.byteCount / 8 <= byteCount {
            image = kept
        } else {
            // The old one first, so that memory for both is never needed.
            (self.image, imageSize) = (nil, nil)
            image = try WindowImage(connection, byteCount: byteCount)
            self.image = image
        }
        if layout.isBGRA {
            try draw(image.memory, size.width * 4)
        } else {
            let staging = image.staging(byteCount: size.width * size.height * 4)
            try draw(staging, size.width * 4)
            layout.encode(staging, to: image.memory, width: size.width, height: size.height)
        }
        imageSize = size
    }

    /// Of the same size as the picture.
    func put(_ rect: PixelRect) {
        guard let image, imageSize == PixelSize(width: rect.width, height: rect.height) else { return }
        let format = UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue)
        let (width, height) = (UInt16(rect.width), UInt16(rect.height))
        if let shared = image.shared {
            xcb_shm_put_image(
                connection.handle, id, context, width, height, 0, 0, width, height, Int16(rect.x), Int16(rect.y),
                connection.rootDepth, format, 1, shared.segment, 0)
            pendingPuts += 1
            return
        }
        // In strips that a request can hold; its header takes some bytes.
        let bytesPerRow = layout.bytesPerRow(width: rect.width)
        let limit = min(Int(xcb_get_maximum_request_length(connection.handle)) * 4 - 64, 1 << 20)
        let rows = max(1, limit / bytesPerRow)
        for row in stride(from: 0, to: rect.height, by: rows) {
            let count = min(rows, rect.height - row)
            xcb_put_image(
                connection.handle, format, id, context, width, UInt16(count), Int16(rect.x), Int16(rect.y + row), 0,
                connection.rootDepth, UInt32(count * bytesPerRow), image.memory + row * bytesPerRow)
        }
    }

    func didPut() { pendingPuts = max(0, pendingPuts - 1) }

    /// Blackens what lies around a picture.
    func clear(around rect: PixelRect) {
        let (right, bottom) = (rect.x + rect.width, rect.y + rect.height)
        clear(PixelRect(x: 0, y: 0, width: size.width, height: rect.y))
        clear(PixelRect(x: 0, y: bottom, width: size.width, height: size.height - bottom))
        clear(PixelRect(x: 0, y: rect.y, width: rect.x, height: rect.height))
        clear(PixelRect(x: right, y: rect.y, width: size.width - right, height: rect.height))
    }

    private func clear(_ rect: PixelRect) {
        // A side of zero would mean the rest of the window.
        guard rect.width > 0, rect.height > 0 else { return }
        xcb_clear_area(
            connection.handle, 0, id, Int16(rect.x), Int16(rect.y), UInt16(rect.width), UInt16(rect.height))
    }
}

/// The memory of a window's pixels: shared with the server where it can be, else sent.
private final class WindowImage {
    let shared: SharedImage?
    let memory: UnsafeMutablePointer<UInt8>
    let byteCount: Int
    private var staging = UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)

    init(_ connection: XConnection, byteCount: Int) throws(XFailure) {
        self.byteCount = byteCount
        shared = try SharedImage(connection, byteCount: byteCount)
        memory = shared?.memory.assumingMemoryBound(to: UInt8.self) ?? .allocate(capacity: byteCount)
    }

    deinit {
        if shared == nil { memory.deallocate() }
        staging.deallocate()
    }

    /// Memory for pixels that are converted to the server's own afterwards.
    func staging(byteCount: Int) -> UnsafeMutablePointer<UInt8> {
        if staging.count < byteCount {
            staging.deallocate()
            staging = .allocate(capacity: byteCount)
        }
        return staging.baseAddress!
    }
}
