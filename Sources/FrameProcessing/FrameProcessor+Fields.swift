import CLibYUV
import VideoCapturing

extension FrameProcessor {
    /// A picture of two fields as one of the first alone: in place of the lines of the other field, which was taken at
    /// another time, the mean of the lines above and below. So what moves has no combs, and finer detail from line to line
    /// is lost.
    ///
    /// - Parameter buffer: the picture; it is not changed. A compressed one comes back as it is.
    /// - Returns: a picture of the same format and size.
    /// - Throws: `outOfMemory`.
    public func deinterlace(_ buffer: PixelBuffer) throws(CaptureError) -> PixelBuffer {
        guard !buffer.pixelFormat.isCompressed else { return buffer }
        return try fields.makePicture(
            buffer.pixelFormat, PixelSize(width: buffer.width, height: buffer.height)
        ) { (target) throws(CaptureError) in
            try buffer.withPicture { (source) throws(CaptureError) in
                for index in source.planes.indices {
                    FrameProcessor.keepFirstField(
                        source.planes[index], target.plane(index),
                        rowBytes: source.pixelFormat.rowBytes(ofPlane: index, width: source.width),
                        rows: source.pixelFormat.rows(ofPlane: index, height: source.height))
                }
            }
        }
    }

    /// A picture whose two fields follow each other, the lines of the one and then those of the other, as one whose lines
    /// alternate.
    ///
    /// - Parameters:
    ///   - buffer: the picture; it is not changed. A compressed one comes back as it is.
    ///   - isTopFirst: whether the upper half has the first line of the frame.
    /// - Returns: a picture of the same format and size.
    /// - Throws: `outOfMemory`.
    public func weave(_ buffer: PixelBuffer, isTopFirst: Bool) throws(CaptureError) -> PixelBuffer {
        guard !buffer.pixelFormat.isCompressed else { return buffer }
        return try fields.makePicture(
            buffer.pixelFormat, PixelSize(width: buffer.width, height: buffer.height)
        ) { (target) throws(CaptureError) in
            try buffer.withPicture { (source) throws(CaptureError) in
                for index in source.planes.indices {
                    FrameProcessor.weave(
                        source.planes[index], target.plane(index), isTopFirst: isTopFirst,
                        rowBytes: source.pixelFormat.rowBytes(ofPlane: index, width: source.width),
                        rows: source.pixelFormat.rows(ofPlane: index, height: source.height))
                }
            }
        }
    }

    private static func weave(
        _ source: PicturePlane, _ target: MutablePicturePlane, isTopFirst: Bool, rowBytes: Int, rows: Int
    ) {
        // The frame begins and ends with a line of the top field where it has an odd number of lines.
        let (top, bottom) = ((rows + 1) / 2, rows / 2)
        let stride = target.stride * 2
        CopyPlane(
            source.row(isTopFirst ? 0 : bottom), source.stride, target.base, stride, Int32(rowBytes), Int32(top))
        guard bottom > 0 else { return }
        CopyPlane(
            source.row(isTopFirst ? top : 0), source.stride, target.row(1), stride, Int32(rowBytes), Int32(bottom))
    }

    private static func keepFirstField(
        _ source: PicturePlane, _ target: MutablePicturePlane, rowBytes: Int, rows: Int
    ) {
        let (width, stride, targetStride) = (Int32(rowBytes), source.stride * 2, target.stride * 2)
        CopyPlane(source.base, stride, target.base, targetStride, width, Int32((rows + 1) / 2))
        let between = (rows - 1) / 2
        if between > 0 {
            _ = InterpolatePlane(
                source.base, stride, source.row(2), stride, target.row(1), targetStride, width, Int32(between), 128)
        }
        if rows % 2 == 0 { CopyPlane(source.row(rows - 2), 0, target.row(rows - 1), 0, width, 1) }
    }
}
