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
