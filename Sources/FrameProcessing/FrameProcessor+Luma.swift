import CLibYUV
import VideoCapturing

extension FrameProcessor {
    /// Reads the luma of a frame in a small size, upright: each sample is the mean of the pixels that it covers.
    ///
    /// For analysis rather than display: of formats without a plane of luma only some rows are read, and RGB becomes luma of
    /// BT.601 in limited range. Chroma is left out, which costs less than to scale the frame.
    ///
    /// - Parameters:
    ///   - frame: the frame, of any format.
    ///   - size: the size once the orientation of the frame is applied; at most that of the frame.
    ///   - luma: receives the samples, row after row without padding.
    /// - Throws: `invalidConfiguration` for a size out of range, `formatUnsupported` and `corruptData` for JPEG, `outOfMemory`.
    package func readLuma(
        of frame: VideoFrame, size: PixelSize, into luma: inout [UInt8]
    ) throws(CaptureError) {
        try VideoFormat(.i420, width: size.width, height: size.height).validate()
        if luma.count != size.pixelCount { luma = [UInt8](repeating: 0, count: size.pixelCount) }
        let lying = frame.orientation.swapsDimensions ? size.transposed : size
        let buffer = try readable(frame, rows: lying.height)
        try buffer.withPicture { (picture) throws(CaptureError) in
            try withScratch { (scratch) throws(CaptureError) in
                let small = try scratch.reservePlanes(1, rowBytes: lying.width, rows: lying.height)[0]
                ScalePlane(
                    picture.y.base, picture.y.stride, Int32(picture.width), Int32(picture.height), small.base,
                    small.stride, Int32(lying.width), Int32(lying.height), FrameTransform.Filter.box.mode)
                luma.withUnsafeMutableBufferPointer { luma in
                    guard let base = luma.baseAddress else { return }
                    _ = RotatePlane(
                        small.base, small.stride, base, Int32(size.width), Int32(lying.width), Int32(lying.height),
                        frame.orientation.rotationMode)
                }
            }
        }
    }

    /// A picture with a plane of luma: the frame's own, or one of at least four times `rows`, where the frame has them.
    private func readable(_ frame: VideoFrame, rows: Int) throws(CaptureError) -> PixelBuffer {
        switch frame.pixelFormat.layout {
        case .planar, .semiplanar, .semiplanar422: return frame.buffer
        case .compressed: return try convert(frame.buffer, to: .i420)
        case .packed, .rgb32, .rgb24: break
        }
        let step = max(1, frame.height / (rows * 4))
        let color = frame.pixelFormat.isRGB ? ColorDescription.bt601 : frame.color
        return try frame.buffer.withPicture { (picture) throws(CaptureError) in
            let source = Picture(
                pixelFormat: picture.pixelFormat, width: picture.width, height: picture.height / step,
                planes: [PicturePlane(base: picture.y.base, stride: picture.y.stride * Int32(step))])
            return try samples.makePicture(
                .i420, PixelSize(width: source.width, height: source.height)
            ) { (target) throws(CaptureError) in
                try withScratch { (scratch) throws(CaptureError) in
                    try source.convert(from: frame.color, into: target, color, scratch: &scratch)
                }
            }
        }
    }
}

extension VideoOrientation {
    fileprivate var rotationMode: RotationMode {
        switch self {
        case .up: kRotate0
        case .down: kRotate180
        case .left: kRotate90
        case .right: kRotate270
        }
    }
}
