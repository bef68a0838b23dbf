import VideoCapturing

extension FrameProcessor {
    /// Converts pixels that lie in somebody's memory into a part of a picture that is being made.
    ///
    /// Of 4:2:0 pictures a part begins at even coordinates, and ends at even ones or with the picture.
    ///
    /// - Parameters:
    ///   - memory: the pixels, in one plane; read during the call only.
    ///   - pixelFormat: how the samples lie in `memory`.
    ///   - color: how the numbers in `memory` map to light.
    ///   - part: where they go; its size is theirs.
    ///   - target: the picture.
    ///   - targetColor: how the numbers of the picture map to light.
    /// - Throws: `invalidConfiguration` for a part outside of the picture or one that its format cannot have,
    ///   `formatUnsupported`, `outOfMemory`.
    public func convert(
        _ memory: PlaneMemory, _ pixelFormat: PixelFormat, color: ColorDescription, into part: PixelRect,
        of target: borrowing PixelWriter, color targetColor: ColorDescription
    ) throws(CaptureError) {
        guard part.isPart(ofWidth: target.width, height: target.height, as: target.pixelFormat),
            pixelFormat.planeCount == 1, !pixelFormat.isCompressed, memory.bytesPerRow <= Int32.max,
            memory.bytesPerRow >= pixelFormat.rowBytes(ofPlane: 0, width: part.width),
            memory.byteCount >= memory.bytesPerRow * (part.height - 1)
                + pixelFormat.rowBytes(ofPlane: 0, width: part.width)
        else {
            throw CaptureError(
                .invalidConfiguration, operation: "convert a part of a picture", subject: "\(part)",
                message: "The part does not lie in the picture, or its pixels are not all there.")
        }
        let source = Picture(
            pixelFormat: pixelFormat, width: part.width, height: part.height,
            planes: [
                PicturePlane(
                    base: memory.base.assumingMemoryBound(to: UInt8.self), stride: Int32(memory.bytesPerRow))
            ])
        try target.withPicture { (whole) throws(CaptureError) in
            let target = MutablePicture(picture: whole.picture.cropped(to: part))
            try withScratch { (scratch) throws(CaptureError) in
                try source.convert(from: color, into: target, targetColor, scratch: &scratch)
            }
        }
    }
}

extension PixelRect {
    /// Whether it can be written by itself: it lies inside, and cuts no chroma sample.
    func isPart(ofWidth width: Int, height: Int, as pixelFormat: PixelFormat) -> Bool {
        guard x >= 0, y >= 0, self.width > 0, self.height > 0, self.width <= width - x, self.height <= height - y
        else { return false }
        switch pixelFormat.layout {
        case .rgb32, .rgb24: return true
        case .compressed: return false
        case .planar, .semiplanar, .semiplanar422, .packed:
            let isCut = x % 2 != 0 || (self.width % 2 != 0 && x + self.width != width)
            guard pixelFormat.layout == .planar || pixelFormat.layout == .semiplanar else { return !isCut }
            return !isCut && y % 2 == 0 && (self.height % 2 == 0 || y + self.height == height)
        }
    }
}
