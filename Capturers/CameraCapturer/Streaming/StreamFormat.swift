import CLibV4L2
import VideoCapturing

/// The format that a driver has set (`VIDIOC_S_FMT`), and the layout of its frames in the buffers.
struct StreamFormat: Hashable, Sendable {
    /// One plane of memory of a buffer.
    struct MemoryPlane: Hashable, Sendable {
        /// The stride in bytes of the first plane of samples in it; zero for compressed formats.
        var bytesPerRow: Int
        /// The bytes of a complete frame.
        var byteCount: Int
    }

    var fourCC: FourCC
    var width: Int
    var height: Int
    /// `V4L2_FIELD_…`.
    var field: UInt32
    /// One, or for the multi-planar formats one for each plane of samples.
    var memoryPlanes: PlaneList<MemoryPlane>
    /// The color matrix and range; nil when the driver does not report them.
    var color: ColorDescription?
    /// Whether the queue is multi-planar: `V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE` instead of
    /// `V4L2_BUF_TYPE_VIDEO_CAPTURE`.
    var isMultiplanar: Bool

    /// Whether a frame has two fields of different times.
    var isInterlaced: Bool {
        isTopFieldFirst != nil
            || [V4L2_FIELD_INTERLACED, V4L2_FIELD_INTERLACED_TB, V4L2_FIELD_INTERLACED_BT].contains(v4l2_field(field))
    }

    /// Whether the upper half of a frame is its top field, where the two fields follow each other; nil where their lines
    /// alternate, and for other frames.
    var isTopFieldFirst: Bool? {
        switch v4l2_field(field) {
        case V4L2_FIELD_SEQ_TB: true
        case V4L2_FIELD_SEQ_BT: false
        default: nil
        }
    }

    /// Whether each frame is one field, with half of the lines.
    var isSingleField: Bool {
        [V4L2_FIELD_TOP, V4L2_FIELD_BOTTOM, V4L2_FIELD_ALTERNATE].contains(v4l2_field(field))
    }

    /// The type of the node's queue for requests.
    static func bufferType(isMultiplanar: Bool) -> UInt32 {
        (isMultiplanar ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE).rawValue
    }
}

extension StreamFormat {
    /// Reads the driver's answer.
    init(_ format: v4l2_format, isMultiplanar: Bool) {
        var format = format
        let picture = clibv4l2_get_picture(&format)
        fourCC = FourCC(rawValue: picture.pixelformat)
        width = Int(picture.width)
        height = Int(picture.height)
        field = picture.field
        self.isMultiplanar = isMultiplanar
        color = ColorDescription(picture)
        memoryPlanes = []
        let strides = [picture.bytesperline.0, picture.bytesperline.1, picture.bytesperline.2]
        let sizes = [picture.sizeimage.0, picture.sizeimage.1, picture.sizeimage.2]
        for plane in 0..<Int(min(picture.plane_count, 3)) {
            memoryPlanes.append(MemoryPlane(bytesPerRow: Int(strides[plane]), byteCount: Int(sizes[plane])))
        }
    }
}

extension ColorDescription {
    /// The driver's color matrix and range, by the default mappings of the V4L2 specification ("Colorspaces"); nil when
    /// it reports none.
    fileprivate init?(_ picture: clibv4l2_picture) {
        let colorspace = v4l2_colorspace(picture.colorspace)
        guard colorspace != V4L2_COLORSPACE_DEFAULT else { return nil }
        let isHighDefinition = [V4L2_COLORSPACE_REC709, V4L2_COLORSPACE_DCI_P3].contains(colorspace)
        let matrix: Matrix =
            switch v4l2_ycbcr_encoding(picture.ycbcr_enc) {
            case V4L2_YCBCR_ENC_709, V4L2_YCBCR_ENC_XV709: .bt709
            case V4L2_YCBCR_ENC_DEFAULT: isHighDefinition ? .bt709 : .bt601
            default: .bt601
            }
        let fourCC = FourCC(rawValue: picture.pixelformat)
        // Gray is the sensor's full range, though the specification does not define it.
        let isFullRange = CaptureFormat.of(fourCC)?.isRGB ?? (fourCC == .grey || fourCC == .y16)
        let range: Range =
            switch v4l2_quantization(picture.quantization) {
            case V4L2_QUANTIZATION_FULL_RANGE: .full
            case V4L2_QUANTIZATION_LIM_RANGE: .limited
            default: isFullRange || colorspace == V4L2_COLORSPACE_JPEG ? .full : .limited
            }
        self.init(matrix: matrix, range: range)
    }
}
