import CLibV4L2
import V4L2Support
import VideoCapturing

/// The modes of a camera, enumerated from its node.
struct NodeModeSource: ModeSource {
    let node: DeviceNode

    private var type: UInt32 { StreamFormat.bufferType(isMultiplanar: node.capabilities.isMultiplanar) }

    func formats() throws(CaptureError) -> [FormatEntry] {
        try entries { (index) throws(IoctlFailure) -> FormatEntry? in
            var description = v4l2_fmtdesc()
            description.index = index
            description.type = type
            try node.request(.enumerateFormats, &description)
            return FormatEntry(
                fourCC: FourCC(rawValue: description.pixelformat), name: text(description.description),
                isEmulated: description.flags & UInt32(V4L2_FMT_FLAG_EMULATED) != 0,
                isCompressed: description.flags & UInt32(V4L2_FMT_FLAG_COMPRESSED) != 0)
        }
    }

    func frameSizes(of fourCC: FourCC) throws(CaptureError) -> FrameSizes {
        var range: FrameSizes?
        let sizes = try entries { (index) throws(IoctlFailure) -> PixelSize? in
            var entry = v4l2_frmsizeenum()
            entry.index = index
            entry.pixel_format = fourCC.rawValue
            try node.request(.enumerateFrameSizes, &entry)
            guard entry.type == V4L2_FRMSIZE_TYPE_DISCRETE.rawValue else {
                range = .range(FrameSizeRange(entry.stepwise))
                return nil
            }
            return PixelSize(width: Int(entry.discrete.width), height: Int(entry.discrete.height))
        }
        if let range { return range }
        return sizes.isEmpty ? .unknown : .discrete(sizes)
    }

    func frameIntervals(of fourCC: FourCC, size: PixelSize) throws(CaptureError) -> FrameIntervals {
        var range: FrameIntervals?
        let intervals = try entries { (index) throws(IoctlFailure) -> FrameInterval? in
            var entry = v4l2_frmivalenum()
            entry.index = index
            entry.pixel_format = fourCC.rawValue
            entry.width = UInt32(clamping: size.width)
            entry.height = UInt32(clamping: size.height)
            try node.request(.enumerateFrameIntervals, &entry)
            guard entry.type == V4L2_FRMIVAL_TYPE_DISCRETE.rawValue else {
                range = .range(
                    shortest: FrameInterval(entry.stepwise.min), longest: FrameInterval(entry.stepwise.max),
                    step: FrameInterval(entry.stepwise.step))
                return nil
            }
            return FrameInterval(entry.discrete)
        }
        if let range { return range }
        return intervals.isEmpty ? .unknown : .discrete(intervals)
    }

    func tryFormat(_ fourCC: FourCC, size: PixelSize) throws(CaptureError) -> (FourCC, PixelSize)? {
        var format = v4l2_format()
        format.type = type
        clibv4l2_set_picture(
            &format, UInt32(clamping: size.width), UInt32(clamping: size.height), fourCC.rawValue,
            V4L2_FIELD_NONE.rawValue)
        do {
            try node.request(.tryFormat, &format)
        } catch {
            if error.isDeviceGone { throw failure(error) }
            return nil
        }
        let picture = clibv4l2_get_picture(&format)
        return (
            FourCC(rawValue: picture.pixelformat), PixelSize(width: Int(picture.width), height: Int(picture.height))
        )
    }

    /// The present interval, of whatever format.
    func currentInterval() -> FrameInterval? {
        var parameters = v4l2_streamparm()
        parameters.type = type
        guard (try? node.request(.getParameters, &parameters)) != nil else { return nil }
        return FrameInterval(parameters.parm.capture.timeperframe)
    }

    /// All entries up to the end of the list or up to nil, within the limit of ``ModeSearch``.
    ///
    /// - Throws: for any other refusal, unless a second call succeeds: half a list would pass for the whole.
    private func entries<Entry>(
        _ entry: (UInt32) throws(IoctlFailure) -> Entry?
    ) throws(CaptureError) -> [Entry] {
        var entries: [Entry] = []
        for index in 0..<UInt32(ModeSearch.enumerationLimit) {
            do throws(IoctlFailure) {
                guard let next = try twice(index, entry) else { break }
                entries.append(next)
            } catch {
                if error.isUnsupported { break }
                throw failure(error)
            }
        }
        return entries
    }

    private func twice<Entry>(
        _ index: UInt32, _ entry: (UInt32) throws(IoctlFailure) -> Entry?
    ) throws(IoctlFailure) -> Entry? {
        do throws(IoctlFailure) {
            return try entry(index)
        } catch {
            if error.isUnsupported || error.isDeviceGone { throw error }
            return try entry(index)
        }
    }

    private func failure(_ failure: IoctlFailure) -> CaptureError {
        let fault = CameraFault(failure, path: node.path)
        // An enumeration needs no bandwidth, so `ENOSPC` is a failure like others.
        guard fault.kind == .failing || fault.kind == .noBandwidth else { return fault.captureError }
        return CaptureError(
            .system, operation: failure.request, subject: node.path, errno: failure.number,
            message: "The camera does not tell its modes; unplug it and plug it in again, then try again.")
    }
}

extension FrameSizeRange {
    fileprivate init(_ range: v4l2_frmsize_stepwise) {
        self.init(
            minWidth: Int(range.min_width), maxWidth: Int(range.max_width), stepWidth: Int(range.step_width),
            minHeight: Int(range.min_height), maxHeight: Int(range.max_height), stepHeight: Int(range.step_height))
    }
}

extension FrameInterval {
    init(_ fraction: v4l2_fract) {
        self.init(numerator: fraction.numerator, denominator: fraction.denominator)
    }
}
