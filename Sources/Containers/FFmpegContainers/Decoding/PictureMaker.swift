import CLibAV
import MediaContainers
import VideoCapturing

/// Makes pixel buffers of decoded frames: wraps I420 and NV12 without a copy, converts the rest.
final class PictureMaker {
    private let path: String
    private let isStillCodec: Bool
    private let frames: FramePool
    private let pool = PixelBufferPool()
    private let scaler = Scaler()

    init(path: String, isStillCodec: Bool, frames: FramePool) {
        self.path = path
        self.isStillCodec = isStillCodec
        self.frames = frames
    }

    /// The pixel buffer, and its color matrix and range. Takes ownership of `lent`.
    ///
    /// - Throws: `formatUnsupported` for a layout or matrix that cannot be converted, and `CaptureError` for no memory.
    func makePicture(_ lent: BorrowedFrame) throws -> (buffer: PixelBuffer, color: ColorDescription) {
        var isLent = false
        defer { if !isLent { frames.restore(lent) } }
        let frame = lent.frame
        guard let layout = PictureLayout(AVPixelFormat(frame.pointee.format)),
            let color = FrameColor(frame, layout: layout, isStillCodec: isStillCodec)
        else { throw unconvertible(frame) }
        if let planes = lendablePlanes(frame, layout) {
            let buffer = try PixelBuffer(
                wrapping: planes, as: layout == .nv12 ? .nv12 : .i420, width: Int(frame.pointee.width),
                height: Int(frame.pointee.height)
            ) { [frames] in frames.restore(lent) }
            isLent = true
            return (buffer, color.description)
        }
        let buffer = try pool.makeBuffer(
            layout == .rgb ? .argb : .i420, width: Int(frame.pointee.width), height: Int(frame.pointee.height)
        ) { pixels in
            guard scaler.convert(frame, color, into: pixels) else { throw unconvertible(frame) }
        }
        return (buffer, color.description)
    }

    /// The planes, when they can be wrapped: rows from top to bottom, all within their memory.
    private func lendablePlanes(
        _ frame: UnsafeMutablePointer<AVFrame>, _ layout: PictureLayout
    ) -> PlaneList<PixelBuffer.PlaneMemory>? {
        let format: PixelFormat
        switch layout {
        case .i420: format = .i420
        case .nv12: format = .nv12
        case .fullRangeYUV where frame.pointee.format == AV_PIX_FMT_YUVJ420P.rawValue: format = .i420
        default: return nil
        }
        var planes = PlaneList<PixelBuffer.PlaneMemory>()
        for index in 0..<format.planeCount {
            let (data, stride) =
                switch index {
                case 0: (frame.pointee.data.0, frame.pointee.linesize.0)
                case 1: (frame.pointee.data.1, frame.pointee.linesize.1)
                default: (frame.pointee.data.2, frame.pointee.linesize.2)
                }
            let bytesPerRow = Int(stride)
            let rowBytes = format.rowBytes(ofPlane: index, width: Int(frame.pointee.width))
            let rows = format.rows(ofPlane: index, height: Int(frame.pointee.height))
            guard let data, bytesPerRow >= rowBytes,
                let memory = av_frame_get_plane_buffer(frame, Int32(index))?.pointee, let start = memory.data
            else { return nil }
            let available = memory.size - UnsafeRawPointer(start).distance(to: UnsafeRawPointer(data))
            guard
                available
                    >= PixelBuffer.Plane.minimumByteCount(rowBytes: rowBytes, bytesPerRow: bytesPerRow, rows: rows)
            else {
                return nil
            }
            planes.append(
                PixelBuffer.PlaneMemory(
                    base: data, byteCount: min(available, bytesPerRow * rows), bytesPerRow: bytesPerRow))
        }
        return planes
    }

    private func unconvertible(_ frame: UnsafePointer<AVFrame>) -> MediaFileError {
        let layout = av_get_pix_fmt_name(AVPixelFormat(frame.pointee.format)).map { String(cString: $0) } ?? "unknown"
        let space = av_color_space_name(frame.pointee.colorspace).map { String(cString: $0) } ?? "unknown"
        return MediaFileError(
            .formatUnsupported, operation: "decode the file", subject: path,
            message: "The pictures are \(layout) with the color matrix \(space), which cannot be converted; use "
                + "`ffmpeg -i in -pix_fmt yuv420p -colorspace bt709 out.mp4`.")
    }
}

/// Converts frames of any layout to I420 or ARGB, without changing their size or range.
private final class Scaler {
    private struct Key: Equatable {
        var width: Int32
        var height: Int32
        var from: Int32
        var to: AVPixelFormat
        var color: FrameColor
    }

    private var scaler: UnsafeMutableRawPointer?
    private var key: Key?

    deinit { clibav_scaler_free(scaler) }

    /// False when the library does not support the conversion.
    func convert(
        _ frame: UnsafePointer<AVFrame>, _ color: FrameColor, into pixels: borrowing PixelWriter
    ) -> Bool {
        let target = pixels.pixelFormat == .argb ? AV_PIX_FMT_ARGB : AV_PIX_FMT_YUV420P
        let wanted = Key(
            width: frame.pointee.width, height: frame.pointee.height, from: frame.pointee.format, to: target,
            color: color)
        if wanted != key {
            clibav_scaler_free(scaler)
            scaler = clibav_scaler_make(
                wanted.width, wanted.height, AVPixelFormat(wanted.from), target, color.space,
                color.description.range == .full ? 1 : 0)
            key = wanted
        }
        guard let scaler else { return false }
        let planes = pixels.planes
        return pixels.withUnsafePlanes { bases in
            let isPlanar = bases.count == 3
            return clibav_scaler_run(
                scaler, frame, bases[0], Int32(planes[0].bytesPerRow), isPlanar ? bases[1] : nil,
                isPlanar ? Int32(planes[1].bytesPerRow) : 0, isPlanar ? bases[2] : nil,
                isPlanar ? Int32(planes[2].bytesPerRow) : 0) == frame.pointee.height
        }
    }
}
