import CLibAV
import VideoCapturing

/// Brings pictures of any layout into one that the project has, without changing their size or range.
final class Scaler {
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

    /// False when the library cannot convert this.
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
