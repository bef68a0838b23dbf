import CLibXCB
import FrameProcessing
import VideoCapturing
import XDisplay

/// Tracks the pointer: its position in the frame, its shape, and the damage that it causes.
///
/// The server reports movement (XInput, raw motion) and new shapes (XFIXES); the position is queried once per frame.
struct PointerTracker {
    /// Programs can move the pointer without an event, so its position is also polled at this interval.
    static let period = Duration.milliseconds(250)

    /// Whether it has moved, or its shape has changed, since the last query.
    private(set) var isDue = true
    private var isShapeDue = true
    private var shape: PointerShape?
    /// The position of the shape's first pixel in the frame; nil while the pointer is on another screen.
    private var position: (x: Int, y: Int)?
    private var lastQuery = MediaTime.zero
    private var drawn: PixelRect?

    init(_ connection: XConnection) {
        if connection.extensions.xfixes != nil {
            xcb_xfixes_select_cursor_input(
                connection.handle, connection.root, UInt32(XCB_XFIXES_CURSOR_NOTIFY_MASK_DISPLAY_CURSOR.rawValue))
        }
        if connection.extensions.input != nil { clibxcb_select_raw_motion(connection.handle, connection.root) }
    }

    /// Handles an event; true when it concerns the pointer.
    mutating func take(_ event: UnsafeMutablePointer<xcb_generic_event_t>, _ extensions: XExtensions) -> Bool {
        let type = event.pointee.response_type & 0x7f
        if let xfixes = extensions.xfixes, type == xfixes.firstEvent + UInt8(XCB_XFIXES_CURSOR_NOTIFY) {
            isShapeDue = true
        } else if let input = extensions.input,
            clibxcb_generic_event_type(event, input.majorOpcode) == UInt16(XCB_INPUT_RAW_MOTION)
        {
            // Only the current position matters, which is queried.
        } else {
            return false
        }
        isDue = true
        return true
    }

    /// The time until the next query.
    func timeToQuery(_ now: MediaTime) -> Duration {
        isDue ? .zero : max(.zero, PointerTracker.period - (now - lastQuery))
    }

    /// Queries the pointer, and adds the damage of its movement.
    ///
    /// - Parameters:
    ///   - connection: the connection to the server.
    ///   - window: the window that contains the frame.
    ///   - x: the column of the window at which the frame begins.
    ///   - y: the row of the window at which the frame begins.
    ///   - now: the current time.
    ///   - damage: the region to which the damage is added.
    mutating func update(
        _ connection: XConnection, in window: xcb_window_t, x: Int, y: Int, at now: MediaTime,
        damage: inout DamagedRegion
    ) throws(XFailure) {
        lastQuery = now
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

    /// Draws it into a part of the frame.
    func draw(into pixels: UnsafeMutablePointer<UInt8>, of part: PixelRect) {
        guard let shape, let position else { return }
        shape.blend(x: position.x, y: position.y, into: pixels, of: part)
    }

    /// Begins a new frame, in which nothing is drawn yet.
    mutating func reset() {
        drawn = nil
        isDue = true
    }
}

/// The shape of the pointer: premultiplied pixels, alpha in the highest byte (XFIXES, `CursorImage`).
struct PointerShape {
    var width: Int
    var height: Int
    /// The position of the hot spot in the shape.
    var hotX: Int
    var hotY: Int
    var pixels: [UInt32]

    /// Blends it into pixels of blue, green, red and an unused byte.
    ///
    /// - Parameters:
    ///   - x: the column of the frame at which the shape begins.
    ///   - y: the row of the frame at which the shape begins.
    ///   - target: the pixels of `part`, row by row without a gap.
    ///   - part: the part of the frame that `target` holds.
    func blend(x: Int, y: Int, into target: UnsafeMutablePointer<UInt8>, of part: PixelRect) {
        let own = PixelRect(x: x, y: y, width: width, height: height)
        guard let common = own.clipped(to: part) else { return }
        target.withMemoryRebound(to: UInt32.self, capacity: part.width * part.height) { target in
            for row in common.y..<common.y + common.height {
                for column in common.x..<common.x + common.width {
                    let source = pixels[(row - y) * width + column - x]
                    let alpha = source >> 24
                    guard alpha != 0 else { continue }
                    let index = (row - part.y) * part.width + column - part.x
                    target[index] = alpha == 255 ? source : PointerShape.blend(source, over: target[index])
                }
            }
        }
    }

    private static func blend(_ source: UInt32, over target: UInt32) -> UInt32 {
        let rest = 255 - (source >> 24)
        var result: UInt32 = 0
        for shift: UInt32 in [0, 8, 16] {
            // Exactly rounded division by 255.
            let product = (target >> shift & 255) * rest + 128
            let part = (source >> shift & 255) + (product + product >> 8) >> 8
            result |= min(part, 255) << shift
        }
        return result | target & 0xFF00_0000
    }
}

extension XConnection {
    /// The current shape of the pointer; nil when the server does not report it.
    func pointerShape() throws(XFailure) -> PointerShape? {
        guard extensions.xfixes != nil else { return nil }
        do {
            return try answer(
                xcb_xfixes_get_cursor_image(handle).sequence, as: xcb_xfixes_get_cursor_image_reply_t.self
            ) { reply in
                let count = Int(reply.pointee.width) * Int(reply.pointee.height)
                guard Int(xcb_xfixes_get_cursor_image_cursor_image_length(reply)) >= count else { return nil }
                return PointerShape(
                    width: Int(reply.pointee.width), height: Int(reply.pointee.height), hotX: Int(reply.pointee.xhot),
                    hotY: Int(reply.pointee.yhot),
                    pixels: Array(
                        UnsafeBufferPointer(start: xcb_xfixes_get_cursor_image_cursor_image(reply), count: count)))
            }
        } catch .refused {
            return nil
        }
    }
}
