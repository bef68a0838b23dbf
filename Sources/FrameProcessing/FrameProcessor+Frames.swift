import VideoCapturing

extension FrameProcessor {
    /// Does what `transform` asks for to a frame, and keeps all else that is known of it.
    ///
    /// Damage is carried over to where its pixels went. A frame that was turned is `.up`; one that was
    /// mirrored is not marked as mirrored any more, since its pixels are as they are to be shown. The very
    /// same buffer comes back where there is nothing to do.
    ///
    /// - Throws: `invalidConfiguration` for a part outside of the picture or a size out of range,
    ///   `formatUnsupported` for a format that cannot be made and for JPEG of rare kinds, `corruptData` for damaged JPEG pictures,
    ///   `outOfMemory`.
    public func apply(_ transform: FrameTransform, to frame: VideoFrame) throws(CaptureError) -> VideoFrame {
        let plan = try TransformPlan(
            transform, pixelFormat: frame.pixelFormat, size: PixelSize(width: frame.width, height: frame.height),
            color: frame.color, orientation: frame.orientation)
        var result = frame
        result.buffer = try run(plan, filter: transform.filter, on: frame.buffer)
        result.color = plan.color
        // Another format is still the picture of the JPEG; other pixels are not.
        if !plan.keepsGeometry { result.compressed = nil }
        if transform.appliesOrientation { result.orientation = .up }
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
        _ frame: VideoFrame, width: Int, height: Int, filter: ScaleFilter = .box
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
