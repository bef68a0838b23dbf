import VideoCapturing

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
        _ buffer: PixelBuffer, width: Int, height: Int, filter: ScaleFilter = .box
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
