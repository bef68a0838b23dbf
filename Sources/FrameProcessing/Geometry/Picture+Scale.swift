import CLibYUV
import VideoCapturing

/// How pixels are chosen or mixed when a picture changes its size.
///
/// libyuv rounds: what is mixed may be off by one code in luma and chroma (with ``box`` by three where a
/// picture shrinks to a few pixels), and by two in RGB and alpha.
public enum ScaleFilter: String, Sendable, Hashable, CaseIterable {
    /// The nearest pixel: fastest, and the only one that mixes nothing.
    case none
    /// Mixes two neighbours in a row; for RGB as ``bilinear``.
    case linear
    /// Mixes four neighbours.
    case bilinear
    /// The mean of all pixels that a new one covers; upwards as ``bilinear``. For RGB only where both
    /// sides shrink by the same whole even number; else that is bilinear too.
    case box

    var mode: FilterMode {
        switch self {
        case .none: kFilterNone
        case .linear: kFilterLinear
        case .bilinear: kFilterBilinear
        case .box: kFilterBox
        }
    }
}

extension Picture {
    /// Writes the picture in the size of `target`, which has the same format; 4:2:0 or four bytes a pixel.
    func scale(
        into target: MutablePicture, filter: ScaleFilter, scratch: inout ScratchMemory
    ) throws(CaptureError) {
        if layout == .rgb32 {
            // In version 1857 the linear filter, at exactly half the size, reads a pixel before each row.
            let mode = filter == .linear ? kFilterBilinear : filter.mode
            _ = ARGBScale(
                y.base, y.stride, Int32(width), Int32(height), target.y.base, target.y.stride, Int32(target.width),
                Int32(target.height), mode)
            return
        }
        let old = PixelSize(width: chromaWidth, height: chromaHeight)
        let new = PixelSize(width: target.picture.chromaWidth, height: target.picture.chromaHeight)
        scalePlane(
            y, PixelSize(width: width, height: height), into: target.y,
            PixelSize(width: target.width, height: target.height), filter)
        if layout == .planar {
            scalePlane(u, old, into: target.u, new, filter)
            scalePlane(v, old, into: target.v, new, filter)
            return
        }
        // libyuv's scaling of pairs rounds downwards and has no box filter, so that the same picture would look
        // different in NV12 and in I420; its scaling of planes is better and as fast.
        let oldStride = (old.width + 63) / 64 * 64
        let newStride = (new.width + 63) / 64 * 64
        let memory = try scratch.reserve(2 * (oldStride * old.height + newStride * new.height))
        let oldU = MutablePicturePlane(base: memory, stride: oldStride)
        let oldV = MutablePicturePlane(base: oldU.row(old.height), stride: oldStride)
        let newU = MutablePicturePlane(base: oldV.row(old.height), stride: newStride)
        let newV = MutablePicturePlane(base: newU.row(new.height), stride: newStride)
        splitChroma(intoU: oldU, v: oldV)
        scalePlane(oldU.readable, old, into: newU, new, filter)
        scalePlane(oldV.readable, old, into: newV, new, filter)
        mergeChroma(newU.readable, newV.readable, into: target)
    }
}

private func scalePlane(
    _ source: PicturePlane, _ old: PixelSize, into target: MutablePicturePlane, _ new: PixelSize, _ filter: ScaleFilter
) {
    ScalePlane(
        source.base, source.stride, Int32(old.width), Int32(old.height), target.base, target.stride, Int32(new.width),
        Int32(new.height), filter.mode)
}
