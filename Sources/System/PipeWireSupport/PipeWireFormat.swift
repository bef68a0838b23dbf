package import CPipeWire
package import VideoCapturing

/// The format of a stream's frames, as server and reader have agreed.
package struct PipeWireFormat: Sendable, Hashable {
    /// How the samples lie in memory.
    package var pixelFormat: PixelFormat
    /// Whether the fourth byte of a pixel means nothing.
    package var hasUnusedByte: Bool
    /// The size in pixels.
    package var size: PixelSize
    /// The rate; nil for frames that come when something changes.
    package var frameRate: FrameRate?
    /// Color matrix and range; those that are usual in the pixel format where the stream does not say.
    package var color: ColorDescription

    /// Reads a format.
    ///
    /// - Returns: nil for another kind of video than the formats in `readable`.
    package init?(_ pod: UnsafePointer<spa_pod>?) {
        var parsed = cpw_format()
        guard cpw_parse_format(pod, &parsed), !parsed.has_modifier,
            let known = PipeWireFormat.table.first(where: { $0.code == parsed.format })
        else { return nil }
        pixelFormat = known.pixelFormat
        hasUnusedByte = known.hasUnusedByte
        size = PixelSize(width: Int(parsed.width), height: Int(parsed.height))
        guard size.isValid else { return nil }
        frameRate = FrameRate(Int32(clamping: parsed.rate_numerator), per: Int32(clamping: parsed.rate_denominator))
        color = .assumed(for: pixelFormat)
        if !pixelFormat.isRGB {
            if parsed.color_matrix == SPA_VIDEO_COLOR_MATRIX_BT709.rawValue { color.matrix = .bt709 }
            if parsed.color_range == SPA_VIDEO_COLOR_RANGE_0_255.rawValue { color.range = .full }
        }
    }

    /// The formats that are read, those first that cost least.
    package static var readable: [UInt32] { table.map(\.code) }

    /// The number of a format; nil for one that PipeWire does not have.
    package static func code(of pixelFormat: PixelFormat) -> UInt32? {
        table.first { $0.pixelFormat == pixelFormat && !$0.hasUnusedByte }?.code
    }

    private static let table: [(code: UInt32, pixelFormat: PixelFormat, hasUnusedByte: Bool)] = [
        (SPA_VIDEO_FORMAT_NV12.rawValue, .nv12, false), (SPA_VIDEO_FORMAT_I420.rawValue, .i420, false),
        (SPA_VIDEO_FORMAT_YV12.rawValue, .yv12, false), (SPA_VIDEO_FORMAT_NV21.rawValue, .nv21, false),
        (SPA_VIDEO_FORMAT_YUY2.rawValue, .yuy2, false), (SPA_VIDEO_FORMAT_UYVY.rawValue, .uyvy, false),
        (SPA_VIDEO_FORMAT_BGRx.rawValue, .bgra, true), (SPA_VIDEO_FORMAT_BGRA.rawValue, .bgra, false),
        (SPA_VIDEO_FORMAT_RGBx.rawValue, .rgba, true), (SPA_VIDEO_FORMAT_RGBA.rawValue, .rgba, false),
        (SPA_VIDEO_FORMAT_xRGB.rawValue, .argb, true), (SPA_VIDEO_FORMAT_ARGB.rawValue, .argb, false),
        (SPA_VIDEO_FORMAT_xBGR.rawValue, .abgr, true), (SPA_VIDEO_FORMAT_ABGR.rawValue, .abgr, false),
        (SPA_VIDEO_FORMAT_RGB.rawValue, .rgb24, false), (SPA_VIDEO_FORMAT_BGR.rawValue, .bgr24, false),
    ]
}

extension PipeWireFormat {
    /// Where the planes of a frame lie in one piece of memory, one after the other.
    ///
    /// - Parameters:
    ///   - stride: the distance of the rows of the first plane in bytes; the others have the one that follows from it.
    ///   - pixelFormat: how the samples lie.
    ///   - size: the size of the frame.
    /// - Returns: each plane's first byte and stride, and the bytes of all.
    package static func layout(
        stride: Int, _ pixelFormat: PixelFormat, _ size: PixelSize
    ) -> (planes: PlaneList<(offset: Int, stride: Int)>, byteCount: Int) {
        var planes = PlaneList<(offset: Int, stride: Int)>()
        var offset = 0
        for plane in 0..<pixelFormat.planeCount {
            let own = plane > 0 && pixelFormat.planeCount == 3 ? stride / 2 : stride
            planes.append((offset, own))
            offset += own * pixelFormat.rows(ofPlane: plane, height: size.height)
        }
        return (planes, offset)
    }
}
