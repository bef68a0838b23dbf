import CLibYUV
import VideoCapturing

extension Picture {
    /// Luma and chroma of `color` into any RGB format. A sample of chroma stands for all its pixels.
    func toRGB(
        into target: MutablePicture, color: ColorDescription, scratch: inout ScratchMemory
    ) throws(CaptureError) {
        switch layout {
        case .planar:
            LumaChroma(y: y, u: u, v: v, isHalfHeight: true).toRGB(into: target, color: color)
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
