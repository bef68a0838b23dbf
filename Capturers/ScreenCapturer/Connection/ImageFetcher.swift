import CLibXCB
import VideoCapturing
import XDisplay

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Fetches rectangles of a window or pixmap. The requests are pipelined, so that the server copies one rectangle while the
/// previous one is being converted.
final class ImageFetcher {
    private let connection: XConnection
    private let layout: XPixelLayout
    private let shared: SharedImage?
    private var pending: [(sequence: UInt32, offset: Int)] = []

    var usesSharedMemory: Bool { shared != nil }

    /// - Parameters:
    ///   - connection: the connection to the server.
    ///   - layout: the layout of the pixels.
    ///   - width: the width of the whole frame in pixels.
    ///   - height: its height.
    init(_ connection: XConnection, layout: XPixelLayout, width: Int, height: Int) throws(XFailure) {
        self.connection = connection
        self.layout = layout
        shared = try SharedImage(connection, byteCount: max(4096, layout.bytesPerRow(width: width) * height))
        pending.reserveCapacity(64)
    }

    /// Fetches each of `parts` and passes its pixels to `body`, valid and writable during the call.
    ///
    /// - Parameters:
    ///   - parts: the rectangles to fetch, in pixels of the frame.
    ///   - drawable: the window or pixmap.
    ///   - x: the column of the drawable at which the frame begins.
    ///   - y: the row of the drawable at which the frame begins.
    /// - Throws: `refused` when a part no longer lies in the drawable.
    func fetch(
        _ parts: [PixelRect], of drawable: xcb_drawable_t, x: Int, y: Int,
        _ body: (_ part: PixelRect, _ pixels: UnsafeMutablePointer<UInt8>) -> Void
    ) throws(XFailure) {
        guard let shared else {
            for part in parts { try fetchSent(part, of: drawable, x: x, y: y, body) }
            return
        }
        var begun = 0
        while begun < parts.count {
            var used = 0
            let first = begun
            pending.removeAll(keepingCapacity: true)
            while begun < parts.count {
                let part = parts[begun]
                let byteCount = (layout.bytesPerRow(width: part.width) * part.height + 63) / 64 * 64
                // Widened parts may overlap, and together exceed the frame.
                guard used + byteCount <= shared.byteCount || used == 0 else { break }
                let cookie = xcb_shm_get_image(
                    connection.handle, drawable, Int16(clamping: x + part.x), Int16(clamping: y + part.y),
                    UInt16(part.width),
                    UInt16(part.height), .max, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), shared.segment, UInt32(used))
                pending.append((cookie.sequence, used))
                used += byteCount
                begun += 1
            }
            for (index, request) in pending.enumerated() {
                do throws(XFailure) {
                    try connection.answer(request.sequence, as: xcb_shm_get_image_reply_t.self) { _ in }
                } catch {
                    // The other replies are not needed, but must be released.
                    for late in pending[(index + 1)...] { xcb_discard_reply(connection.handle, late.sequence) }
                    throw error
                }
                body(parts[first + index], (shared.memory + request.offset).assumingMemoryBound(to: UInt8.self))
            }
        }
    }

    private func fetchSent(
        _ part: PixelRect, of drawable: xcb_drawable_t, x: Int, y: Int,
        _ body: (_ part: PixelRect, _ pixels: UnsafeMutablePointer<UInt8>) -> Void
    ) throws(XFailure) {
        let cookie = xcb_get_image(
            connection.handle, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), drawable, Int16(clamping: x + part.x),
            Int16(clamping: y + part.y), UInt16(part.width), UInt16(part.height), .max)
        let reply = try connection.reply(cookie.sequence, as: xcb_get_image_reply_t.self)
        defer { free(reply) }
        guard Int(xcb_get_image_data_length(reply)) >= layout.bytesPerRow(width: part.width) * part.height else {
            throw .gone
        }
        body(part, xcb_get_image_data(reply))
    }
}
