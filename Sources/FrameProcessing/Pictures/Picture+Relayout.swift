import CLibYUV
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension Picture {
    /// Luma and chroma of any uncompressed layout into any of 4:2:0, with the numbers as they are; chroma of
    /// 4:2:2 becomes the mean of two rows.
    func relayout(into target: MutablePicture, scratch: inout ScratchMemory) throws(CaptureError) {
        if pixelFormat == target.pixelFormat { return copy(into: target) }
        if layout == .packed { return try unpack(into: target, scratch: &scratch) }
        copyPlane(y, target.y, rowBytes: width, rows: height)
        if layout == .semiplanar422 { return try halveChroma(into: target, scratch: &scratch) }
        if layout == .planar, target.layout == .planar {
            copyPlane(u, target.u, rowBytes: chromaWidth, rows: chromaHeight)
            copyPlane(v, target.v, rowBytes: chromaWidth, rows: chromaHeight)
        } else if layout == .planar {
            mergeChroma(u, v, into: target)
        } else if target.layout == .planar {
            splitChroma(intoU: target.u, v: target.v)
        } else {
            SwapUVPlane(
                chroma.base, chroma.stride, target.chroma.base, target.chroma.stride, Int32(chromaWidth),
                Int32(chromaHeight))
        }
    }

    /// Packed 4:2:2 into 4:2:0.
    private func unpack(into target: MutablePicture, scratch: inout ScratchMemory) throws(CaptureError) {
        let unpack = pixelFormat == .yuy2 ? YUY2ToI420 : UYVYToI420
        if target.layout == .planar {
            _ = unpack(
                y.base, y.stride, target.y.base, target.y.stride, target.u.base, target.u.stride, target.v.base,
                target.v.stride, Int32(width), Int32(height))
            return
        }
        let planes = try scratch.reservePlanes(2, rowBytes: chromaWidth, rows: chromaStripRows / 2)
        forEachStrip(ofHeight: height, rows: chromaStripRows) { rows in
            let (source, target) = (self.rows(rows), target.rows(rows))
            _ = unpack(
                source.y.base, source.y.stride, target.y.base, target.y.stride, planes[0].base, planes[0].stride,
                planes[1].base, planes[1].stride, Int32(width), Int32(rows.count))
            mergeChroma(planes[0].readable, planes[1].readable, into: target)
        }
    }

    /// Two rows of chroma become their mean; of an odd height the last one stays as it is.
    private func halveChroma(into target: MutablePicture, scratch: inout ScratchMemory) throws(CaptureError) {
        if target.pixelFormat == .nv12 { return halveChroma(into: target.chroma) }
        let plane = try scratch.reservePlanes(1, rowBytes: chromaWidth * 2, rows: chromaStripRows / 2)[0]
        forEachStrip(ofHeight: height, rows: chromaStripRows) { rows in
            let (source, target) = (self.rows(rows), target.rows(rows))
            source.halveChroma(into: plane)
            let (width, height) = (Int32(chromaWidth), Int32(source.chromaHeight))
            if target.layout == .planar {
                SplitUVPlane(
                    plane.base, plane.stride, target.u.base, target.u.stride, target.v.base, target.v.stride, width,
                    height)
            } else {
                SwapUVPlane(
                    plane.base, plane.stride, target.chroma.base, target.chroma.stride, width, height)
            }
        }
    }

    private func halveChroma(into target: MutablePicturePlane) {
        let pairs = height / 2
        if pairs > 0 {
            _ = InterpolatePlane(
                chroma.base, chroma.stride * 2, chroma.row(1), chroma.stride * 2, target.base, target.stride,
                Int32(chromaWidth * 2), Int32(pairs), 128)
        }
        if height % 2 == 1 {
            memcpy(target.row(pairs), chroma.row(height - 1), chromaWidth * 2)
        }
    }

    /// The chroma of a semiplanar picture as planes, with as many rows as it has.
    func splitChroma(intoU u: MutablePicturePlane, v: MutablePicturePlane) {
        let (first, second) = pixelFormat.isChromaSwapped ? (v, u) : (u, v)
        SplitUVPlane(
            chroma.base, chroma.stride, first.base, first.stride, second.base, second.stride, Int32(chromaWidth),
            Int32(layout == .semiplanar422 ? height : chromaHeight))
    }
}

/// Planes of chroma as the pairs of a semiplanar picture.
func mergeChroma(_ u: PicturePlane, _ v: PicturePlane, into target: MutablePicture) {
    let (first, second) = target.pixelFormat.isChromaSwapped ? (v, u) : (u, v)
    MergeUVPlane(
        first.base, first.stride, second.base, second.stride, target.chroma.base, target.chroma.stride,
        Int32(target.picture.chromaWidth), Int32(target.picture.chromaHeight))
}
