import CLibYUV
import VideoCapturing

extension Picture {
    /// Writes the same picture in the format and colour of `target`: from any format to any of 4:2:0 or RGB,
    /// except that JPEG is decoded to 4:2:0 only.
    func convert(
        from color: ColorDescription, into target: MutablePicture, _ targetColor: ColorDescription,
        scratch: inout ScratchMemory
    ) throws(CaptureError) {
        switch (pixelFormat.isRGB, target.pixelFormat.isRGB) {
        case (true, true):
            try shuffle(into: target, scratch: &scratch)
        case (true, false):
            try fromRGB(into: target, color: targetColor, scratch: &scratch)
        case (false, true):
            try toRGB(into: target, color: color, scratch: &scratch)
        case (false, false):
            if layout == .compressed {
                try decode(into: target, scratch: &scratch)
            } else {
                try relayout(into: target, scratch: &scratch)
            }
            if color != targetColor { try target.recolor(from: color, to: targetColor, scratch: &scratch) }
        }
    }
}

extension Picture {
    /// Copies the samples into a picture of the same format and size.
    func copy(into target: MutablePicture) {
        for index in planes.indices {
            copyPlane(
                planes[index], target.plane(index), rowBytes: pixelFormat.rowBytes(ofPlane: index, width: width),
                rows: pixelFormat.rows(ofPlane: index, height: height))
        }
    }
}

func copyPlane(_ source: PicturePlane, _ target: MutablePicturePlane, rowBytes: Int, rows: Int) {
    CopyPlane(source.base, source.stride, target.base, target.stride, Int32(rowBytes), Int32(rows))
}

extension Picture {
    /// One RGB format into another; the alpha of three bytes is 255.
    func shuffle(into target: MutablePicture, scratch: inout ScratchMemory) throws(CaptureError) {
        let (width, height) = (Int32(width), Int32(height))
        switch (layout, target.layout) {
        case _ where pixelFormat == target.pixelFormat:
            copy(into: target)
        case (.rgb24, .rgb24):
            // Exchanges the first and the third byte, whichever they are.
            _ = RAWToRGB24(y.base, y.stride, target.y.base, target.y.stride, width, height)
        case (.rgb24, _):
            widenToBGRA(target.y)
            if target.pixelFormat != .bgra {
                shuffleBytes(target.y.readable, .bgra, into: target.y, target.pixelFormat, self.width, self.height)
            }
        case (_, .rgb24):
            let bgra = try scratch.reservePlanes(1, rowBytes: self.width * 4, rows: pixelStripRows)[0]
            forEachStrip(ofHeight: self.height, rows: pixelStripRows) { rows in
                let (strip, target) = (self.rows(rows), target.rows(rows))
                let source = strip.asBGRA(scratch: bgra)
                _ = (target.pixelFormat == .rgb24 ? ARGBToRAW : ARGBToRGB24)(
                    source.base, source.stride, target.y.base, target.y.stride, width, Int32(rows.count))
            }
        default:
            shuffleBytes(y, pixelFormat, into: target.y, target.pixelFormat, self.width, self.height)
        }
    }

    /// The pixels of any RGB format in the order that libyuv knows best, its "ARGB"; in place if they have
    /// it already, else in `scratch`.
    func asBGRA(scratch: MutablePicturePlane) -> PicturePlane {
        switch pixelFormat {
        case .bgra:
            return y
        case .rgb24, .bgr24:
            widenToBGRA(scratch)
        default:
            shuffleBytes(y, pixelFormat, into: scratch, .bgra, width, height)
        }
        return scratch.readable
    }

    /// Three bytes a pixel as four, with an alpha of 255.
    private func widenToBGRA(_ target: MutablePicturePlane) {
        _ = (pixelFormat == .rgb24 ? RAWToARGB : RGB24ToARGB)(
            y.base, y.stride, target.base, target.stride, Int32(width), Int32(height))
    }
}

/// Puts the four bytes of each pixel into another order; source and target may be the same.
private func shuffleBytes(
    _ source: PicturePlane, _ from: PixelFormat, into target: MutablePicturePlane, _ to: PixelFormat,
    _ width: Int, _ height: Int
) {
    let (old, new) = (from.componentOffsets, to.componentOffsets)
    var order = SIMD16<UInt8>(repeating: 0)
    for pixel in 0..<4 {
        let first = UInt8(pixel * 4)
        order[pixel * 4 + Int(new.red)] = first + old.red
        order[pixel * 4 + Int(new.green)] = first + old.green
        order[pixel * 4 + Int(new.blue)] = first + old.blue
        order[pixel * 4 + Int(new.alpha)] = first + old.alpha
    }
    withUnsafeBytes(of: order) { order in
        _ = ARGBShuffle(
            source.base, source.stride, target.base, target.stride,
            order.baseAddress!.assumingMemoryBound(to: UInt8.self), Int32(width), Int32(height))
    }
}
