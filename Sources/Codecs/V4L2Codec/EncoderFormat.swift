import CLibV4L2
import V4L2Support
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The formats that a codec's two queues were set to, and the layout of frames in the buffers of the first.
struct EncoderFormat {
    /// What cannot change while the queues stream.
    struct Shape: Equatable {
        var pixelFormat: PixelFormat
        var width: Int
        var height: Int
        var color: ColorDescription
        /// The stride of frames that are imported; nil for frames that are copied.
        var importedBytesPerRow: Int?
    }

    let shape: Shape
    /// The bytes from row to row of luma.
    let bytesPerRow: Int
    /// The rows of luma in a buffer, which may be more than the picture's.
    let rows: Int
    /// The bytes that a buffer of frames must have.
    let byteCount: Int

    /// Sets both formats in the order of the kernel's stateful encoder interface: the coded one, the raw one, the rate, the
    /// visible part.
    ///
    /// - Throws: `formatUnsupported` for a pixel format or size that the driver does not take, otherwise what
    ///   ``CodecError/encoderDevice(_:_:)`` says of a refusal.
    init(
        setting shape: Shape, codedFormat: FourCC, frameRate: FrameRate, of node: DeviceNode
    ) throws(CodecError) {
        do {
            self = try EncoderFormat.set(shape, codedFormat, frameRate, node)
        } catch let error as IoctlFailure {
            throw .encoderDevice(error, node.path)
        } catch let error as CodecError {
            throw error
        } catch {
            throw CodecError(.library, operation: "set the format", subject: node.path, message: "\(error)")
        }
    }

    /// A layout; see the properties.
    init(shape: Shape, bytesPerRow: Int, rows: Int, byteCount: Int) {
        self.shape = shape
        self.bytesPerRow = bytesPerRow
        self.rows = rows
        self.byteCount = byteCount
    }

    /// The four-character code of a pixel format in one piece of memory; nil for those that no encoder takes.
    static func fourCC(of format: PixelFormat) -> FourCC? {
        switch format {
        case .nv12: "NV12"
        case .i420: "YU12"
        default: nil
        }
    }

    /// Whether frames in other drivers' memory can be read where they are.
    func canImport(_ buffer: PixelBuffer.DMABuffer, of pixels: PixelBuffer) -> Bool {
        guard buffer.bytesPerRow == bytesPerRow, buffer.byteCount >= byteCount else { return false }
        // Chroma begins where the driver expects it.
        return rows == pixels.height && shape.height == pixels.height
    }

    /// Copies a frame into a buffer.
    ///
    /// - Throws: `library` when the driver's buffer is too small for the picture that it has agreed to.
    func copy(_ pixels: PixelBuffer, to buffer: UnsafeMutableRawBufferPointer) throws(CodecError) {
        let planes = pixels.planes
        let hasThree = shape.pixelFormat == .i420
        var offset = 0
        for plane in 0..<planes.count {
            let stride = plane > 0 && hasThree ? bytesPerRow / 2 : bytesPerRow
            let rowsInBuffer = plane > 0 ? (rows + 1) / 2 : rows
            // Without an odd last column or row.
            let count = min(planes[plane].rows, plane > 0 ? shape.height / 2 : shape.height)
            let width = min(planes[plane].rowBytes, plane > 0 && hasThree ? shape.width / 2 : shape.width)
            guard width <= stride, count <= rowsInBuffer, offset + stride * (count - 1) + width <= buffer.count else {
                throw CodecError(
                    .library, operation: "encode a frame", subject: "V4L2",
                    message: "The driver's buffers are smaller than its frames; use another encoder.")
            }
            let target = buffer.baseAddress! + offset
            pixels.withUnsafePlanes { bases in
                if stride == planes[plane].bytesPerRow {
                    target.copyMemory(from: bases[plane], byteCount: stride * (count - 1) + width)
                } else {
                    for row in 0..<count {
                        (target + row * stride).copyMemory(
                            from: bases[plane] + row * planes[plane].bytesPerRow, byteCount: width)
                    }
                }
            }
            offset += stride * rowsInBuffer
        }
    }

    private static func set(
        _ shape: Shape, _ codedFormat: FourCC, _ frameRate: FrameRate, _ node: DeviceNode
    ) throws -> EncoderFormat {
        guard let rawFormat = fourCC(of: shape.pixelFormat) else {
            throw CodecError(
                .formatUnsupported, operation: "encode a frame", subject: node.path,
                message: "V4L2 encodes NV12 and I420; convert \(shape.pixelFormat) frames with FrameProcessing first.")
        }
        let isMultiplanar = node.capabilities.isMemoryToMemoryMultiplanar
        var coded = v4l2_format()
        coded.type = BufferQueue.bufferType(.packets, isMultiplanar: isMultiplanar)
        var picture = clibv4l2_picture()
        picture.width = UInt32(clamping: shape.width)
        picture.height = UInt32(clamping: shape.height)
        picture.pixelformat = codedFormat.rawValue
        picture.field = V4L2_FIELD_NONE.rawValue
        // No packet at a usable bitrate is larger than half a raw frame; small pictures need room for their headers.
        picture.sizeimage.0 = UInt32(clamping: max(256 * 1024, shape.width * shape.height * 3 / 4))
        clibv4l2_set_codec_picture(&coded, &picture)
        try node.request(.setFormat, &coded)
        guard clibv4l2_get_picture(&coded).pixelformat == codedFormat.rawValue else {
            throw unsupported(node, "It does not encode \(codedFormat); choose another device or encoder.")
        }

        var raw = v4l2_format()
        raw.type = BufferQueue.bufferType(.frames, isMultiplanar: isMultiplanar)
        picture.pixelformat = rawFormat.rawValue
        picture.sizeimage.0 = 0
        picture.bytesperline.0 = UInt32(clamping: shape.importedBytesPerRow ?? 0)
        picture.colorspace =
            (shape.color.matrix == .bt709 ? V4L2_COLORSPACE_REC709 : V4L2_COLORSPACE_SMPTE170M).rawValue
        picture.ycbcr_enc = (shape.color.matrix == .bt709 ? V4L2_YCBCR_ENC_709 : V4L2_YCBCR_ENC_601).rawValue
        picture.quantization =
            (shape.color.range == .full ? V4L2_QUANTIZATION_FULL_RANGE : V4L2_QUANTIZATION_LIM_RANGE).rawValue
        clibv4l2_set_codec_picture(&raw, &picture)
        try node.request(.setFormat, &raw)
        let answer = clibv4l2_get_picture(&raw)
        guard answer.pixelformat == rawFormat.rawValue else {
            throw unsupported(
                node, "It takes no \(shape.pixelFormat) frames; convert them to NV12 or I420 with FrameProcessing.")
        }
        setRate(frameRate, raw.type, node)
        let isExact = Int(answer.width) == shape.width && Int(answer.height) == shape.height
        let isLarger = Int(answer.width) >= shape.width && Int(answer.height) >= shape.height
        guard isExact || isLarger && crop(to: shape, raw.type, node) else {
            throw unsupported(
                node, "It does not encode pictures of \(shape.width)x\(shape.height); \(sizes(rawFormat, node)).")
        }
        return EncoderFormat(
            // A driver that states no stride has none beside the picture's.
            shape: shape, bytesPerRow: max(Int(answer.bytesperline.0), shape.width),
            rows: max(Int(answer.height), shape.height), byteCount: Int(answer.sizeimage.0))
    }

    private static func unsupported(_ node: DeviceNode, _ message: String) -> CodecError {
        CodecError(.formatUnsupported, operation: "set the format", subject: node.path, message: message)
    }

    /// Refusals are ignored: the driver plans for its own rate then.
    private static func setRate(_ rate: FrameRate, _ type: UInt32, _ node: DeviceNode) {
        var parameters = v4l2_streamparm()
        parameters.type = type
        parameters.parm.output.timeperframe = v4l2_fract(
            numerator: UInt32(rate.seconds), denominator: UInt32(rate.frames))
        _ = try? node.request(.setParameters, &parameters)
    }

    /// Restricts the picture to the frame's own size, where the driver has rounded it up to whole blocks; false when it does
    /// not.
    private static func crop(to shape: Shape, _ type: UInt32, _ node: DeviceNode) -> Bool {
        var selection = v4l2_selection()
        // Selections have the type of single-planar queues; only later kernels take the other.
        selection.type =
            type == V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE.rawValue ? V4L2_BUF_TYPE_VIDEO_OUTPUT.rawValue : type
        selection.target = UInt32(V4L2_SEL_TGT_CROP)
        selection.r.width = UInt32(clamping: shape.width)
        selection.r.height = UInt32(clamping: shape.height)
        guard (try? node.request(.setSelection, &selection)) != nil else { return false }
        return Int(selection.r.width) == shape.width && Int(selection.r.height) == shape.height
    }

    /// What the driver says of its sizes, for a message.
    private static func sizes(_ format: FourCC, _ node: DeviceNode) -> String {
        var entry = v4l2_frmsizeenum()
        entry.pixel_format = format.rawValue
        guard (try? node.request(.enumerateFrameSizes, &entry)) != nil,
            entry.type != V4L2_FRMSIZE_TYPE_DISCRETE.rawValue
        else { return "scale them first" }
        let range = entry.stepwise
        return "scale them to \(range.min_width)x\(range.min_height) to \(range.max_width)x\(range.max_height) first"
    }
}

extension CodecError {
    /// What a system call to an encoder's device that was refused means.
    ///
    /// - Parameters:
    ///   - failure: the refusal.
    ///   - path: the node.
    static func encoderDevice(_ failure: IoctlFailure, _ path: String) -> CodecError {
        func error(_ code: CodecError.Code, _ message: String) -> CodecError {
            CodecError(code, operation: failure.request, subject: path, errno: failure.number, message: message)
        }
        switch failure.number {
        case ENODEV, ENXIO, ENOENT:
            return error(
                .unavailable, "The encoder's device is gone; plug it in again or load its driver, then try again.")
        case EBUSY:
            return error(.unavailable, "Other programs use all of the encoder; end one of them, then try again.")
        case EACCES, EPERM:
            return error(
                .unavailable,
                "No permission to use the encoder; add the user to the group video (sudo usermod -aG video "
                    + "$USER), then log in again.")
        case ENOMEM:
            return error(
                .outOfMemory,
                "The driver has no memory left for its buffers; use a smaller size, or give it more (cma= on "
                    + "the kernel's command line).")
        default:
            return error(.library, "The encoder's driver refused; try again, or use another encoder (--encoder).")
        }
    }
}
