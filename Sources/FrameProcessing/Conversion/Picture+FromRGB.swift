import CLibYUV
import VideoCapturing

extension Picture {
    /// RGB of any format into luma and chroma of `color`, 4:2:0. Chroma is the mean of its four pixels.
    ///
    /// libyuv has functions of its own for BT.601 in limited range only; all else goes through
    /// ``ColorEncoder``.
    func fromRGB(
        into target: MutablePicture, color: ColorDescription, scratch: inout ScratchMemory
    ) throws(CaptureError) {
        let isPlanar = target.layout == .planar
        if isPlanar, color == .bt601, layout == .rgb32 {
            return encodeBT601(y: target.y, u: target.u, v: target.v)
        }
        let needsPixels = layout == .rgb24 || (color != .bt601 && pixelFormat != .bgra)
        let stripRows = needsPixels ? pixelStripRows : chromaStripRows
        let planes = try ScratchPlanes(&scratch, width: width, rows: stripRows, needsPixels: needsPixels)
        let encoder = ColorEncoder(color)

        forEachStrip(ofHeight: height, rows: stripRows) { rows in
            let (source, target) = (self.rows(rows), target.rows(rows))
            let (u, v) = isPlanar ? (target.u, target.v) : (planes.u, planes.v)
            if color != .bt601 {
                encoder.encode(
                    source.asBGRA(scratch: planes.pixels), y: target.y, u: u, v: v, width: width, height: rows.count)
            } else if layout == .rgb32 {
                source.encodeBT601(y: target.y, u: u, v: v)
            } else {
                let pixels = source.asBGRA(scratch: planes.pixels)
                _ = ARGBToI420(
                    pixels.base, pixels.stride, target.y.base, target.y.stride, u.base, u.stride, v.base, v.stride,
                    Int32(width), Int32(rows.count))
            }
            if !isPlanar { mergeChroma(u.readable, v.readable, into: target) }
        }
    }

    /// Four-byte pixels by libyuv's own functions, whose names read the other way round.
    private func encodeBT601(y: MutablePicturePlane, u: MutablePicturePlane, v: MutablePicturePlane) {
        let encode =
            switch pixelFormat {
            case .argb: BGRAToI420
            case .abgr: RGBAToI420
            case .rgba: ABGRToI420
            default: ARGBToI420
            }
        _ = encode(
            planes[0].base, planes[0].stride, y.base, y.stride, u.base, u.stride, v.base, v.stride, Int32(width),
            Int32(height))
    }
}

/// What lies between the steps for one strip.
private struct ScratchPlanes {
    /// Pixels as B, G, R, A; of no size where none are needed.
    let pixels: MutablePicturePlane
    let u: MutablePicturePlane
    let v: MutablePicturePlane

    init(_ scratch: inout ScratchMemory, width: Int, rows: Int, needsPixels: Bool) throws(CaptureError) {
        let pixelStride = needsPixels ? (width * 4 + 63) / 64 * 64 : 0
        let chromaStride = ((width + 1) / 2 + 63) / 64 * 64
        let memory = try scratch.reserve(pixelStride * rows + chromaStride * rows)
        pixels = MutablePicturePlane(base: memory, stride: pixelStride)
        u = MutablePicturePlane(base: memory + pixelStride * rows, stride: chromaStride)
        v = MutablePicturePlane(base: u.row(rows / 2), stride: chromaStride)
    }
}
