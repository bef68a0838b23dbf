import CLibYUV
import VideoCapturing

extension FrameTransform {
    /// How pixels are chosen or mixed when a picture changes its size.
    ///
    /// libyuv rounds: mixed samples may be off by one code in luma and chroma (with ``box`` by three where a
    /// picture shrinks to a few pixels), and by two in RGB and alpha.
    public enum Filter: String, Sendable, Hashable, CaseIterable {
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
}

extension Picture {
    /// Writes the picture in the size of `target`, which has the same format; 4:2:0 or four bytes a pixel.
    func scale(
        into target: MutablePicture, filter: FrameTransform.Filter, scratch: inout ScratchMemory
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
    _ source: PicturePlane, _ old: PixelSize, into target: MutablePicturePlane, _ new: PixelSize,
    _ filter: FrameTransform.Filter
) {
    ScalePlane(
        source.base, source.stride, Int32(old.width), Int32(old.height), target.base, target.stride, Int32(new.width),
        Int32(new.height), filter.mode)
}

/// A clockwise turn, and then a mirroring from left to right. All eight take one pass.
struct Turn: Equatable {
    var rotation: VideoOrientation = .up
    var mirrors = false

    var isNothing: Bool { self == Turn() }
}

extension Picture {
    /// Writes the picture turned into `target`, which has the same format, 4:2:0 or four bytes a pixel, and
    /// the size that results.
    ///
    /// The chroma planes are turned as they are. Where a side is odd, its last sample is for one column
    /// (or row) only, so that a turn that brings it to the front shifts chroma by half of its own pixel.
    func turn(_ turn: Turn, into target: MutablePicture, scratch: inout ScratchMemory) throws(CaptureError) {
        switch (turn.rotation, turn.mirrors) {
        case (.up, false): copy(into: target)
        case (.up, true): mirror(into: target)
        case (.down, false): flipped().mirror(into: target)
        case (.down, true): flipped().copy(into: target)
        case (.left, false): try quarterTurn(kRotate90, into: target, scratch: &scratch)
        case (.left, true): try flipped().quarterTurn(kRotate90, into: target, scratch: &scratch)
        case (.right, false): try quarterTurn(kRotate270, into: target, scratch: &scratch)
        case (.right, true): try flipped().quarterTurn(kRotate270, into: target, scratch: &scratch)
        }
    }

    private func mirror(into target: MutablePicture) {
        let (width, height) = (Int32(width), Int32(height))
        if layout == .rgb32 {
            _ = ARGBMirror(y.base, y.stride, target.y.base, target.y.stride, width, height)
            return
        }
        MirrorPlane(y.base, y.stride, target.y.base, target.y.stride, width, height)
        let chromaSize = (Int32(chromaWidth), Int32(chromaHeight))
        if layout == .semiplanar {
            MirrorUVPlane(
                chroma.base, chroma.stride, target.chroma.base, target.chroma.stride, chromaSize.0, chromaSize.1)
            return
        }
        MirrorPlane(u.base, u.stride, target.u.base, target.u.stride, chromaSize.0, chromaSize.1)
        MirrorPlane(v.base, v.stride, target.v.base, target.v.stride, chromaSize.0, chromaSize.1)
    }

    private func quarterTurn(
        _ mode: RotationMode, into target: MutablePicture, scratch: inout ScratchMemory
    ) throws(CaptureError) {
        let (width, height) = (Int32(width), Int32(height))
        if layout == .rgb32 {
            let source = try withWholePixelStride(scratch: &scratch)
            _ = ARGBRotate(source.base, source.stride, target.y.base, target.y.stride, width, height, mode)
            return
        }
        _ = RotatePlane(y.base, y.stride, target.y.base, target.y.stride, width, height, mode)
        let chromaSize = (Int32(chromaWidth), Int32(chromaHeight))
        if layout == .planar {
            _ = RotatePlane(u.base, u.stride, target.u.base, target.u.stride, chromaSize.0, chromaSize.1, mode)
            _ = RotatePlane(v.base, v.stride, target.v.base, target.v.stride, chromaSize.0, chromaSize.1, mode)
            return
        }
        let (turnedWidth, turnedHeight) = (chromaHeight, chromaWidth)
        let planes = try scratch.reservePlanes(2, rowBytes: turnedWidth, rows: turnedHeight)
        _ = SplitRotateUV(
            chroma.base, chroma.stride, planes[0].base, planes[0].stride, planes[1].base, planes[1].stride,
            chromaSize.0, chromaSize.1, mode)
        MergeUVPlane(
            planes[0].base, planes[0].stride, planes[1].base, planes[1].stride, target.chroma.base,
            target.chroma.stride, Int32(turnedWidth), Int32(turnedHeight))
    }

    /// libyuv turns four-byte pixels only where a whole number of them lies between rows; the memory of
    /// others may be different and is copied then.
    private func withWholePixelStride(scratch: inout ScratchMemory) throws(CaptureError) -> PicturePlane {
        if y.stride % 4 == 0 { return y }
        let copy = try scratch.reservePlanes(1, rowBytes: width * 4, rows: height)[0]
        copyPlane(y, copy, rowBytes: width * 4, rows: height)
        return copy.readable
    }
}
