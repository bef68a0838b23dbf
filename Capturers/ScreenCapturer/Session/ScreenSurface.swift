import CLibXCB
import FrameProcessing
import VideoCapturing
import XDisplay

/// The source of the pixels: a part of the root, or of the pixmap of a window, which the server keeps complete even where
/// other windows cover it (COMPOSITE). Replaced when the size changes.
final class ScreenSurface {
    /// The window or pixmap from which pixels are fetched.
    let drawable: xcb_drawable_t
    /// The column and row of `drawable` at which the frame begins.
    let drawableX: Int
    let drawableY: Int
    /// The column and row of the subject's window at which the frame begins.
    let windowX: Int
    let windowY: Int
    let width: Int
    let height: Int
    let layout: XPixelLayout

    private let connection: XConnection
    private let pixmap: xcb_pixmap_t?

    /// - Throws: `CaptureError` when the region does not lie in it or its layout is not supported; `XFailure.refused` while
    ///   a window is hidden.
    init(_ connection: XConnection, _ subject: ScreenSubject, region: PixelRect?) throws {
        let geometry = try connection.geometry(of: subject.window)
        var area = PixelRect(x: 0, y: 0, width: geometry.width, height: geometry.height)
        if case .monitor(let name) = subject.kind {
            // The part of a monitor outside of the display has no pixels.
            guard let frame = try connection.findMonitor(name).frame.clipped(to: area) else {
                throw XFailure.refused(code: 0)
            }
            area = frame
        }
        if let region {
            let inside = PixelRect(x: 0, y: 0, width: area.width, height: area.height)
            guard region.clipped(to: inside) == region else {
                throw CaptureError(
                    .invalidConfiguration, operation: "capture a region", subject: region.text,
                    message: "The region does not lie in \(subject.name), which is \(area.width)x\(area.height).")
            }
            area = region.offset(x: area.x, y: area.y)
        }
        let visual =
            subject.isWindow ? try connection.visual(of: subject.window) : connection.rootVisual
        guard let layout = XPixelLayout(connection, visual: visual, depth: geometry.depth) else {
            throw CaptureError(
                .formatUnsupported, operation: "capture the screen", subject: subject.name,
                message:
                    "Its pixels have a depth of \(geometry.depth) bits in an order that is not known; use a display "
                    + "of 24 bits.")
        }
        if subject.isWindow {
            let pixmap = xcb_generate_id(connection.handle)
            try connection.check(
                xcb_composite_name_window_pixmap_checked(connection.handle, subject.window, pixmap))
            self.pixmap = pixmap
            drawable = pixmap
        } else {
            pixmap = nil
            drawable = subject.window
        }
        self.connection = connection
        // The pixmap of a window begins with its border.
        drawableX = area.x + (subject.isWindow ? geometry.border : 0)
        drawableY = area.y + (subject.isWindow ? geometry.border : 0)
        windowX = area.x
        windowY = area.y
        width = area.width
        height = area.height
        self.layout = layout
    }

    deinit {
        if let pixmap { xcb_free_pixmap(connection.handle, pixmap) }
    }

    func hasShape(of other: ScreenSurface) -> Bool {
        width == other.width && height == other.height && layout == other.layout
    }
}

extension XConnection {
    fileprivate func visual(of window: xcb_window_t) throws(XFailure) -> xcb_visualid_t {
        let cookie = xcb_get_window_attributes(handle, window)
        return try answer(cookie.sequence, as: xcb_get_window_attributes_reply_t.self) { $0.pointee.visual }
    }
}
