import CLibXCB
import VideoCapturing

/// Follows the pointer: where it is in the picture, what it looks like, and what of the picture it changes.
///
/// The server tells of movement (XInput, raw motion) and of new shapes (XFIXES); where it is, is asked once a frame.
struct PointerTracker {
    /// Programs can move the pointer without a movement that is told; so it is looked for this often anyway.
    static let period = Duration.milliseconds(250)

    /// It has moved, or its shape has changed, since it was looked for.
    private(set) var isDue = true
    private var isShapeDue = true
    private var shape: PointerShape?
    /// Where the shape's first pixel lies in the picture; nil while the pointer is elsewhere.
    private var position: (x: Int, y: Int)?
    private var lastLook = MediaTime.zero
    private var drawn: PixelRect?

    init(_ connection: XConnection) {
        if connection.extensions.xfixes != nil {
            xcb_xfixes_select_cursor_input(
                connection.handle, connection.root, UInt32(XCB_XFIXES_CURSOR_NOTIFY_MASK_DISPLAY_CURSOR.rawValue))
        }
        if connection.extensions.input != nil { clibxcb_select_raw_motion(connection.handle, connection.root) }
    }

    /// Takes an event; true when it is the pointer's.
    mutating func take(_ event: UnsafeMutablePointer<xcb_generic_event_t>, _ extensions: XExtensions) -> Bool {
        let type = event.pointee.response_type & 0x7f
        if let xfixes = extensions.xfixes, type == xfixes.firstEvent + UInt8(XCB_XFIXES_CURSOR_NOTIFY) {
            isShapeDue = true
        } else if let input = extensions.input,
            clibxcb_generic_event_type(event, input.majorOpcode) == UInt16(XCB_INPUT_RAW_MOTION)
        {
            // Only where it is now matters.
        } else {
            return false
        }
        isDue = true
        return true
    }

    /// How long until it is to be looked for, though nothing was told.
    func timeToLook(_ now: MediaTime) -> Duration {
        isDue ? .zero : max(.zero, PointerTracker.period - (now - lastLook))
    }

    /// Looks for the pointer, and adds what it changes of the picture to `damage`.
    ///
    /// - Parameters:
    ///   - window: the window in whose coordinates the picture lies.
    ///   - x: where the picture begins in the window.
    ///   - y: as `x`.
    mutating func look(
        _ connection: XConnection, in window: xcb_window_t, x: Int, y: Int, at now: MediaTime,
        damage: inout DamagedRegion
    ) throws(XFailure) {
        lastLook = now
        isDue = false
        let cookie = xcb_query_pointer(connection.handle, window)
        let point = try connection.answer(cookie.sequence, as: xcb_query_pointer_reply_t.self) { reply in
            reply.pointee.same_screen == 0 ? nil : (x: Int(reply.pointee.win_x), y: Int(reply.pointee.win_y))
        }
        let isNew = isShapeDue
        if isShapeDue {
            shape = try connection.pointerShape()
            isShapeDue = false
        }
        guard let shape else { return }
        position = point.map { ($0.x - x - shape.hotX, $0.y - y - shape.hotY) }
        let place = position.map { PixelRect(x: $0.x, y: $0.y, width: shape.width, height: shape.height) }
        guard place != drawn || isNew else { return }
        if let drawn { damage.add(drawn) }
        if let place { damage.add(place) }
        drawn = place
    }

    /// Draws it into a part of the picture.
    func draw(into pixels: UnsafeMutablePointer<UInt8>, of part: PixelRect) {
        guard let shape, let position else { return }
        shape.blend(x: position.x, y: position.y, into: pixels, of: part)
    }

    /// The picture is another one: nothing is drawn in it yet.
    mutating func forget() {
        drawn = nil
        isDue = true
    }
}
