import CLibXCB
import CLibYUV
import VideoCapturing

/// The layouts of pixels that actual servers use.
package enum XPixelLayout {
    /// Depth 24 and 32: blue, green, red and one unused byte or alpha.
    case bgrx
    /// Depth 30: two unused bits, then 10 each of red, green and blue, in little-endian words.
    case rgb30
    /// Depth 30 with red and blue exchanged.
    case bgr30
    /// Depth 16: 5 bits of red, 6 of green, 5 of blue, in little-endian words.
    case rgb565

    /// The layout of a visual; nil for an unsupported one, such as a palette.
    package init?(_ connection: XConnection, visual: xcb_visualid_t, depth: UInt8) {
        guard let setup = xcb_get_setup(connection.handle), setup.pointee.image_byte_order == 0,
            let bits = XPixelLayout.bitsPerPixel(setup, depth: depth),
            let masks = XPixelLayout.masks(setup, visual: visual)
        else { return nil }
        switch (bits, masks.red, masks.green, masks.blue) {
        case (32, 0xFF0000, 0xFF00, 0xFF): self = .bgrx
        case (32, 0x3FF0_0000, 0xFFC00, 0x3FF): self = .rgb30
        case (32, 0x3FF, 0xFFC00, 0x3FF0_0000): self = .bgr30
        case (16, 0xF800, 0x7E0, 0x1F): self = .rgb565
        default: return nil
        }
    }

    /// The bytes of a row; rows are padded to words of 32 bits.
    package func bytesPerRow(width: Int) -> Int {
        switch self {
        case .bgrx, .rgb30, .bgr30: width * 4
        case .rgb565: (width * 2 + 3) / 4 * 4
        }
    }

    /// Whether the bytes are in the order of `PixelFormat.bgra`.
    package var isBGRA: Bool { self == .bgrx }

    /// Converts pixels to blue, green, red, alpha.
    package func convert(
        _ source: UnsafePointer<UInt8>, to target: UnsafeMutablePointer<UInt8>, width: Int, height: Int
    ) {
        let stride = Int32(bytesPerRow(width: width))
        let targetStride = Int32(width * 4)
        // libyuv names the order within words, the project that of bytes: its ARGB is BGRA here.
        switch self {
        case .bgrx: ARGBCopy(source, stride, target, targetStride, Int32(width), Int32(height))
        case .rgb30: AR30ToARGB(source, stride, target, targetStride, Int32(width), Int32(height))
        // Exchanges red and blue, which are exchanged already.
        case .bgr30: AR30ToABGR(source, stride, target, targetStride, Int32(width), Int32(height))
        case .rgb565: RGB565ToARGB(source, stride, target, targetStride, Int32(width), Int32(height))
        }
    }

    /// Converts blue, green, red, alpha to the server's pixels.
    package func encode(
        _ source: UnsafePointer<UInt8>, to target: UnsafeMutablePointer<UInt8>, width: Int, height: Int
    ) {
        let stride = Int32(width * 4)
        let targetStride = Int32(bytesPerRow(width: width))
        switch self {
        case .bgrx: ARGBCopy(source, stride, target, targetStride, Int32(width), Int32(height))
        case .rgb30: ARGBToAR30(source, stride, target, targetStride, Int32(width), Int32(height))
        // Takes red for blue, which are exchanged in the target.
        case .bgr30: ABGRToAR30(source, stride, target, targetStride, Int32(width), Int32(height))
        case .rgb565: ARGBToRGB565(source, stride, target, targetStride, Int32(width), Int32(height))
        }
    }

    private static func bitsPerPixel(_ setup: UnsafePointer<xcb_setup_t>, depth: UInt8) -> UInt8? {
        var formats = xcb_setup_pixmap_formats_iterator(setup)
        while formats.rem > 0 {
            if formats.data.pointee.depth == depth { return formats.data.pointee.bits_per_pixel }
            xcb_format_next(&formats)
        }
        return nil
    }

    private static func masks(
        _ setup: UnsafePointer<xcb_setup_t>, visual: xcb_visualid_t
    ) -> (red: UInt32, green: UInt32, blue: UInt32)? {
        var screens = xcb_setup_roots_iterator(setup)
        while screens.rem > 0 {
            var depths = xcb_screen_allowed_depths_iterator(screens.data)
            while depths.rem > 0 {
                var visuals = xcb_depth_visuals_iterator(depths.data)
                while visuals.rem > 0 {
                    let type = visuals.data.pointee
                    if type.visual_id == visual { return (type.red_mask, type.green_mask, type.blue_mask) }
                    xcb_visualtype_next(&visuals)
                }
                xcb_depth_next(&depths)
            }
            xcb_screen_next(&screens)
        }
        return nil
    }
}
