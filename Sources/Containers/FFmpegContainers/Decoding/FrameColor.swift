import CLibAV
import VideoCapturing

/// The color matrix and range of a decoded frame.
struct FrameColor: Equatable {
    /// For the frames that are returned.
    var description: ColorDescription
    /// The library's number for the same matrix.
    var space: Int32

    /// Nil for a matrix that cannot be represented: YCgCo and the like.
    ///
    /// BT.2020 and SMPTE 240M are approximated by BT.709, from which they differ least.
    init?(_ frame: UnsafePointer<AVFrame>, layout: PictureLayout, isStillCodec: Bool) {
        guard layout != .rgb else {
            self.init(description: .assumed(for: .argb), space: SWS_CS_DEFAULT)
            return
        }
        let assumed = ColorDescription.assumed(for: .i420)
        let matrix: ColorDescription.Matrix
        switch frame.pointee.colorspace {
        case AVCOL_SPC_BT709, AVCOL_SPC_SMPTE240M, AVCOL_SPC_BT2020_NCL, AVCOL_SPC_BT2020_CL: matrix = .bt709
        case AVCOL_SPC_BT470BG, AVCOL_SPC_SMPTE170M, AVCOL_SPC_FCC: matrix = .bt601
        case AVCOL_SPC_UNSPECIFIED, AVCOL_SPC_RESERVED, AVCOL_SPC_RGB: matrix = assumed.matrix
        default: return nil
        }
        // Gray images of still formats are of full range without stating it.
        let isFull =
            frame.pointee.color_range == AVCOL_RANGE_JPEG || layout == .fullRangeYUV
            || (layout == .gray && isStillCodec && frame.pointee.color_range == AVCOL_RANGE_UNSPECIFIED)
        self.init(
            description: ColorDescription(matrix: matrix, range: isFull ? .full : .limited),
            space: matrix == .bt709 ? SWS_CS_ITU709 : SWS_CS_ITU601)
    }

    private init(description: ColorDescription, space: Int32) {
        self.description = description
        self.space = space
    }
}

/// The layouts of decoded frames that are distinguished here.
enum PictureLayout {
    /// I420, used without conversion.
    case i420
    /// NV12, used without conversion.
    case nv12
    /// Red, green and blue, or a palette of them.
    case rgb
    /// Only luma.
    case gray
    /// Luma and chroma in a layout whose name states full range.
    case fullRangeYUV
    /// Luma and chroma in any other layout.
    case yuv

    init?(_ format: AVPixelFormat) {
        switch format {
        case AV_PIX_FMT_YUV420P: self = .i420
        case AV_PIX_FMT_NV12: self = .nv12
        case AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_YUVJ440P, AV_PIX_FMT_YUVJ411P:
            self = .fullRangeYUV
        case AV_PIX_FMT_MONOBLACK, AV_PIX_FMT_MONOWHITE: self = .rgb
        default:
            guard let shape = av_pix_fmt_desc_get(format)?.pointee else { return nil }
            let flags = Int32(truncatingIfNeeded: shape.flags)
            if flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL) != 0 {
                self = .rgb
            } else {
                self = shape.nb_components <= 2 ? .gray : .yuv
            }
        }
    }
}
