import CLibYUV
import VideoCapturing

extension Picture {
    /// RGB of any format into luma and chroma of `color`, 4:2:0. Chroma is the mean of its four pixels.
    ///
    /// libyuv has functions for BT.601 in limited range only; all else goes through
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

extension Picture {
    /// Luma and chroma of `color` into any RGB format. A sample of chroma stands for all its pixels.
    func toRGB(
        into target: MutablePicture, color: ColorDescription, scratch: inout ScratchMemory
    ) throws(CaptureError) {
        switch layout {
        case .planar:
            LumaChroma(y: y, u: u, v: v, isHalfHeight: true).toRGB(into: target, color: color)
        case .semiplanar where target.pixelFormat == .bgra:
            let constants = libyuv_constants(color.matrix == .bt709, color.range == .full, false)
            _ = (pixelFormat.isChromaSwapped ? NV21ToARGBMatrix : NV12ToARGBMatrix)(
                y.base, y.stride, chroma.base, chroma.stride, target.y.base, target.y.stride, constants, Int32(width),
                Int32(height))
        case .semiplanar:
            let chroma = try scratch.reservePlanes(2, rowBytes: chromaWidth, rows: chromaStripRows / 2)
            forEachStrip(ofHeight: height, rows: chromaStripRows) { rows in
                let strip = self.rows(rows)
                strip.splitChroma(intoU: chroma[0], v: chroma[1])
                LumaChroma(y: strip.y, u: chroma[0].readable, v: chroma[1].readable, isHalfHeight: true)
                    .toRGB(into: target.rows(rows), color: color)
            }
        case .semiplanar422:
            let chroma = try scratch.reservePlanes(2, rowBytes: chromaWidth, rows: pixelStripRows)
            forEachStrip(ofHeight: height, rows: pixelStripRows) { rows in
                let strip = self.rows(rows)
                strip.splitChroma(intoU: chroma[0], v: chroma[1])
                LumaChroma(y: strip.y, u: chroma[0].readable, v: chroma[1].readable, isHalfHeight: false)
                    .toRGB(into: target.rows(rows), color: color)
            }
        case .packed:
            // Through 4:2:2, so that no row of chroma is lost.
            let unpack = pixelFormat == .yuy2 ? YUY2ToI422 : UYVYToI422
            let planes = try scratch.reservePlanes(3, rowBytes: width, rows: pixelStripRows)
            forEachStrip(ofHeight: height, rows: pixelStripRows) { rows in
                let strip = self.rows(rows)
                _ = unpack(
                    strip.y.base, strip.y.stride, planes[0].base, planes[0].stride, planes[1].base, planes[1].stride,
                    planes[2].base, planes[2].stride, Int32(width), Int32(rows.count))
                LumaChroma(
                    y: planes[0].readable, u: planes[1].readable, v: planes[2].readable, isHalfHeight: false
                ).toRGB(into: target.rows(rows), color: color)
            }
        case .rgb32, .rgb24, .compressed:
            preconditionFailure("\(pixelFormat) has no luma")
        }
    }
}

/// Three planes; chroma has half the width, and half the height or all of it.
private struct LumaChroma {
    let y: PicturePlane
    let u: PicturePlane
    let v: PicturePlane
    let isHalfHeight: Bool

    /// libyuv writes blue before red; U and V exchanged, in the planes and in the constants, is how it
    /// gives red before blue.
    func toRGB(into target: MutablePicture, color: ColorDescription) {
        let isRedFirst = target.pixelFormat.componentOffsets.red < target.pixelFormat.componentOffsets.blue
        let isSwapped = target.pixelFormat == .rgb24 || isRedFirst
        let (first, second) = isSwapped ? (v, u) : (u, v)
        let constants = libyuv_constants(color.matrix == .bt709, color.range == .full, isSwapped)
        let convert =
            switch target.pixelFormat {
            case .bgra, .rgba: isHalfHeight ? I420ToARGBMatrix : I422ToARGBMatrix
            case .abgr, .argb: isHalfHeight ? I420ToRGBAMatrix : I422ToRGBAMatrix
            case .rgb24, .bgr24: isHalfHeight ? I420ToRGB24Matrix : I422ToRGB24Matrix
            default: preconditionFailure("\(target.pixelFormat) is not RGB")
            }
        _ = convert(
            y.base, y.stride, first.base, first.stride, second.base, second.stride, target.y.base, target.y.stride,
            constants, Int32(target.width), Int32(target.height))
    }
}
