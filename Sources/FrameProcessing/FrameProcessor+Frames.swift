import VideoCapturing

extension FrameProcessor {
    /// Does what `transform` asks for to a frame, and keeps all else that is known of it.
    ///
    /// Damage is carried over to the new place of its pixels. A frame that was rotated is `.up`. One that was
    /// mirrored is no longer marked as mirrored, because its pixels are ready for display. If there is nothing
    /// to do, the same buffer is returned.
    ///
    /// - Throws: `invalidConfiguration` for a part outside of the picture or a size out of range,
    ///   `formatUnsupported` for a format that cannot be made and for JPEG of rare kinds, `corruptData` for damaged
    ///   JPEG pictures, `outOfMemory`.
    public func apply(_ transform: FrameTransform, to frame: VideoFrame) throws(CaptureError) -> VideoFrame {
        let turns = transform.appliesOrientation && frame.orientation.swapsDimensions
        var transform = transform
        if transform.squaresPixels, transform.size == nil, !frame.pixelAspect.isSquare {
            let kept = PixelSize(
                width: transform.crop?.width ?? frame.width, height: transform.crop?.height ?? frame.height
            ).squared(frame.pixelAspect)
            transform.size = turns ? kept.transposed : kept
        }
        let plan = try TransformPlan(
            transform, pixelFormat: frame.pixelFormat, size: PixelSize(width: frame.width, height: frame.height),
            color: frame.color, orientation: frame.orientation)
        var result = frame
        result.buffer = try run(plan, filter: transform.filter, on: frame.buffer)
        result.color = plan.color
        // Another format is still the picture of the JPEG; other pixels are not.
        if !plan.keepsGeometry { result.compressed = nil }
        if transform.appliesOrientation { result.orientation = .up }
        if transform.squaresPixels {
            result.pixelAspect = .square
        } else if turns {
            result.pixelAspect = frame.pixelAspect.transposed
        }
        if transform.mirrors { result.isMirrored = false }
        // An empty list stays one: nothing has changed anywhere.
        if !plan.isIdentity, let damage = frame.damage, !damage.isEmpty {
            result.damage = DamageMap(plan, from: frame.pixelFormat).map(damage)
        }
        return result
    }

    /// The frame in another format or colour.
    ///
    /// From every format to I420, YV12, NV12, NV21 and the RGB formats. BT.601 and BT.709, limited and full
    /// range are true in both directions; a colour that differs is a conversion and never only a label.
    ///
    /// - Parameters:
    ///   - frame: the frame; its own colour says how its numbers are read.
    ///   - pixelFormat: the format of the result.
    ///   - color: the matrix and range of the result; nil to keep the frame's, for which RGB becomes
    ///     luma and chroma of limited range. An RGB result is of full range always.
    public func convert(
        _ frame: VideoFrame, to pixelFormat: PixelFormat, color: ColorDescription? = nil
    ) throws(CaptureError) -> VideoFrame {
        try apply(FrameTransform(pixelFormat: pixelFormat, color: color), to: frame)
    }

    /// The frame in another size; both sides in pixels of the buffer, before its orientation is applied.
    /// 4:2:2 and MJPEG become NV12, and RGB24 becomes ARGB.
    public func scale(
        _ frame: VideoFrame, width: Int, height: Int, filter: FrameTransform.Filter = .box
    ) throws(CaptureError) -> VideoFrame {
        try apply(FrameTransform(size: PixelSize(width: width, height: height), filter: filter), to: frame)
    }

    /// A part of the frame; see ``FrameTransform/crop``. 4:2:2 and MJPEG become NV12.
    public func crop(_ frame: VideoFrame, to rect: PixelRect) throws(CaptureError) -> VideoFrame {
        try apply(FrameTransform(crop: rect), to: frame)
    }

    /// The frame turned by its orientation, which is `.up` afterwards.
    public func upright(_ frame: VideoFrame) throws(CaptureError) -> VideoFrame {
        try apply(FrameTransform(appliesOrientation: true), to: frame)
    }

    /// The frame with left and right exchanged, as seen when it is upright. Not marked as mirrored afterwards.
    public func mirror(_ frame: VideoFrame) throws(CaptureError) -> VideoFrame {
        try apply(FrameTransform(mirrors: true), to: frame)
    }
}

extension FrameProcessor {
    /// A picture in another format or colour; as ``convert(_:to:color:)`` of frames, for bare pixels.
    ///
    /// - Parameters:
    ///   - buffer: the picture; it is not changed.
    ///   - color: how the numbers of the picture map to light; nil for the format's usual.
    ///   - pixelFormat: the format of the result.
    ///   - targetColor: the same of the result; nil to keep it.
    public func convert(
        _ buffer: PixelBuffer, color: ColorDescription? = nil, to pixelFormat: PixelFormat,
        targetColor: ColorDescription? = nil
    ) throws(CaptureError) -> PixelBuffer {
        try apply(FrameTransform(pixelFormat: pixelFormat, color: targetColor), to: buffer, color: color).buffer
    }

    /// A picture in another size.
    public func scale(
        _ buffer: PixelBuffer, width: Int, height: Int, filter: FrameTransform.Filter = .box
    ) throws(CaptureError) -> PixelBuffer {
        try apply(FrameTransform(size: PixelSize(width: width, height: height), filter: filter), to: buffer).buffer
    }

    /// A part of a picture; see ``FrameTransform/crop``.
    public func crop(_ buffer: PixelBuffer, to rect: PixelRect) throws(CaptureError) -> PixelBuffer {
        try apply(FrameTransform(crop: rect), to: buffer).buffer
    }

    /// A picture turned clockwise, and then with left and right exchanged if `mirrors`.
    public func turn(
        _ buffer: PixelBuffer, clockwise orientation: VideoOrientation, mirrors: Bool = false
    ) throws(CaptureError) -> PixelBuffer {
        try apply(
            FrameTransform(appliesOrientation: true, mirrors: mirrors), to: buffer, orientation: orientation
        ).buffer
    }
}

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
        _ memory: PixelBuffer.PlaneMemory, _ pixelFormat: PixelFormat, color: ColorDescription, into part: PixelRect,
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
    /// Whether it can be written separately: it lies inside, and cuts no chroma sample.
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
