import CLibXCB
import VideoCapturing

/// What the pointer looks like: premultiplied pixels, alpha in the highest byte (XFIXES, `CursorImage`).
struct PointerShape {
    var width: Int
    var height: Int
    /// Where in the picture the point is that it points with.
    var hotX: Int
    var hotY: Int
    var pixels: [UInt32]

    /// Blends it into pixels of blue, green, red and something.
    ///
    /// - Parameters:
    ///   - x: the column of the whole picture at which the shape's first column lies.
    ///   - y: as `x`.
    ///   - target: the pixels of `part`, row by row without a gap.
    ///   - part: what of the whole picture `target` holds.
    func blend(x: Int, y: Int, into target: UnsafeMutablePointer<UInt8>, of part: PixelRect) {
        let own = PixelRect(x: x, y: y, width: width, height: height)
        guard let common = own.intersection(part) else { return }
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
    /// The pointer's present shape; nil when the server does not tell.
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
