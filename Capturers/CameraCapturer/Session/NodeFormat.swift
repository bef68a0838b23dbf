import CLibV4L2
import VideoCapturing

/// Sets the format and the interval of a node.
enum NodeFormat {
    /// The format that is set now; nil when the driver does not say.
    static func current(_ node: DeviceNode) -> StreamFormat? {
        var format = v4l2_format()
        format.type = type(node)
        guard (try? node.request(.getFormat, &format)) != nil else { return nil }
        return StreamFormat(format, isMultiplanar: node.capabilities.isMultiplanar)
    }

    /// Asks for a mode's format; what the driver made of it.
    static func set(_ mode: CameraMode, on node: DeviceNode) throws(IoctlFailure) -> StreamFormat {
        var format = v4l2_format()
        format.type = type(node)
        clibv4l2_set_picture(
            &format, UInt32(clamping: mode.width), UInt32(clamping: mode.height), mode.fourCC.rawValue,
            V4L2_FIELD_NONE.rawValue)
        try node.request(.setFormat, &format)
        return StreamFormat(format, isMultiplanar: node.capabilities.isMultiplanar)
    }

    /// Asks for a rate; the interval that is set then, nil when the driver has none to set.
    static func setInterval(_ rate: FrameRate?, on node: DeviceNode) throws(IoctlFailure) -> FrameInterval? {
        var parameters = v4l2_streamparm()
        parameters.type = type(node)
        if let rate {
            parameters.parm.capture.timeperframe.numerator = UInt32(rate.seconds)
            parameters.parm.capture.timeperframe.denominator = UInt32(rate.frames)
            do throws(IoctlFailure) {
                try node.request(.setParameters, &parameters)
            } catch {
                guard error.isUnsupported else { throw error }
            }
        }
        parameters = v4l2_streamparm()
        parameters.type = type(node)
        do throws(IoctlFailure) {
            try node.request(.getParameters, &parameters)
        } catch {
            if error.isUnsupported { return nil }
            throw error
        }
        return FrameInterval(parameters.parm.capture.timeperframe)
    }

    private static func type(_ node: DeviceNode) -> UInt32 {
        StreamFormat.bufferType(isMultiplanar: node.capabilities.isMultiplanar)
    }
}
