import CLibYUV
import VideoCapturing

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
    /// The chroma planes are turned as they are. Where a side is odd its last sample stands for one column
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
