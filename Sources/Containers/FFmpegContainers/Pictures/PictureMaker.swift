import CLibAV
import MediaContainers
import VideoCapturing

/// Makes pictures of the project of a decoder's: lends what is I420 or NV12, converts the rest.
final class PictureMaker {
    private let path: String
    private let isStillCodec: Bool
    private let shelf: FrameShelf
    private let pool = PixelBufferPool()
    private let scaler = Scaler()

    init(path: String, isStillCodec: Bool, shelf: FrameShelf) {
        self.path = path
        self.isStillCodec = isStillCodec
        self.shelf = shelf
    }

    /// The picture, and what its codes mean. Takes `lent` over.
    ///
    /// - Throws: `formatUnsupported` for a layout or matrix that cannot be converted, and `CaptureError` for no memory.
    func makePicture(_ lent: LentFrame) throws -> (buffer: PixelBuffer, color: ColorDescription) {
        var isLent = false
        defer { if !isLent { shelf.giveBack(lent) } }
        let frame = lent.frame
        guard let layout = PictureLayout(AVPixelFormat(frame.pointee.format)),
            let color = FrameColor(frame, layout: layout, isStillCodec: isStillCodec)
        else { throw unconvertible(frame) }
        if let planes = lendablePlanes(frame, layout) {
            let buffer = try PixelBuffer(
                wrapping: planes, as: layout == .nv12 ? .nv12 : .i420, width: Int(frame.pointee.width),
                height: Int(frame.pointee.height)
            ) { [shelf] in shelf.giveBack(lent) }
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

    /// The planes, when they are as the project has them: rows from top to bottom, and all within their memory.
    private func lendablePlanes(
        _ frame: UnsafeMutablePointer<AVFrame>, _ layout: PictureLayout
    ) -> PlaneList<PlaneMemory>? {
        let format: PixelFormat
        switch layout {
        case .i420: format = .i420
        case .nv12: format = .nv12
        case .fullRangeYUV where frame.pointee.format == AV_PIX_FMT_YUVJ420P.rawValue: format = .i420
        default: return nil
        }
        var planes = PlaneList<PlaneMemory>()
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
            let available = memory.size - (UnsafeRawPointer(data) - UnsafeRawPointer(start))
            guard available >= Plane.leastByteCount(rowBytes: rowBytes, bytesPerRow: bytesPerRow, rows: rows) else {
                return nil
            }
            planes.append(
                PlaneMemory(base: data, byteCount: min(available, bytesPerRow * rows), bytesPerRow: bytesPerRow))
        }
        return planes
    }

    private func unconvertible(_ frame: UnsafePointer<AVFrame>) -> MediaFileError {
        let layout = av_get_pix_fmt_name(AVPixelFormat(frame.pointee.format)).map { String(cString: $0) } ?? "unknown"
        let space = av_color_space_name(frame.pointee.colorspace).map { String(cString: $0) } ?? "unknown"
        return MediaFileError(
            .formatUnsupported, operation: "decode the file", path: path,
            message: "The pictures are \(layout) with the colour matrix \(space), which cannot be converted; use "
                + "`ffmpeg -i in -pix_fmt yuv420p -colorspace bt709 out.mp4`.")
    }
}
