import CLibV4L2
import V4L2Support

extension CameraDevice {
    /// The kind of a node or a path that is not a camera.
    public enum NodeKind: String, Sendable, Hashable, CaseIterable {
        /// A codec, scaler or converter: frames go in and others come out.
        case codec
        /// Delivers metadata of frames, as the second node of a webcam.
        case metadata
        /// Outputs frames.
        case output
        /// A tuner without video.
        case radio
        /// Teletext and captions.
        case verticalBlanking
        /// Part of a pipeline that must be set up first, by libcamera or with `media-ctl`.
        case pipeline
        /// A sub-device, which is set up but not captured from.
        case subdevice
        /// Captures frames, but only with `read`.
        case withoutStreaming
        /// Captures frames, but has no format at the moment.
        case withoutFormats
        /// A video node of another kind.
        case otherNode
        /// A device that is not a video device.
        case otherDevice
        /// A file.
        case file
        /// A folder.
        case folder

        /// The kind by a node's capabilities; nil for a camera.
        init?(_ capabilities: DeviceCapabilities) {
            func has(_ flags: Int32...) -> Bool {
                flags.contains { capabilities.flags & UInt32(bitPattern: $0) != 0 }
            }
            if capabilities.isCamera { return nil }
            if has(V4L2_CAP_VIDEO_M2M, V4L2_CAP_VIDEO_M2M_MPLANE) {
                self = .codec
            } else if has(V4L2_CAP_VIDEO_CAPTURE, V4L2_CAP_VIDEO_CAPTURE_MPLANE) {
                self = has(V4L2_CAP_IO_MC) ? .pipeline : .withoutStreaming
            } else if has(V4L2_CAP_META_CAPTURE, V4L2_CAP_META_OUTPUT) {
                self = .metadata
            } else if has(V4L2_CAP_VIDEO_OUTPUT, V4L2_CAP_VIDEO_OUTPUT_MPLANE, V4L2_CAP_VIDEO_OVERLAY) {
                self = .output
            } else if has(V4L2_CAP_VBI_CAPTURE, V4L2_CAP_SLICED_VBI_CAPTURE, V4L2_CAP_VBI_OUTPUT) {
                self = .verticalBlanking
            } else if has(V4L2_CAP_RADIO, V4L2_CAP_SDR_CAPTURE, V4L2_CAP_SDR_OUTPUT) {
                self = .radio
            } else {
                self = .otherNode
            }
        }

        /// The kind by a node's name in `/dev`; nil for `videoN`, which may be of any kind.
        init?(nodeName: String) {
            let digits = nodeName.reversed().prefix { $0.isNumber }.count
            switch nodeName.dropLast(digits) {
            case "video": return nil
            case "radio", "swradio": self = .radio
            case "vbi": self = .verticalBlanking
            case "v4l-subdev": self = .subdevice
            case "media": self = .pipeline
            default: self = .otherNode
            }
        }
    }
}

extension CameraDevice.NodeKind: CustomStringConvertible {
    /// With its article: `a codec`.
    public var description: String {
        switch self {
        case .codec: "a codec"
        case .metadata: "a metadata node"
        case .output: "a video output"
        case .radio: "a radio"
        case .verticalBlanking: "a teletext node"
        case .pipeline: "a part of a media pipeline"
        case .subdevice: "a sub-device"
        case .withoutStreaming: "a capture node without streaming"
        case .withoutFormats: "a capture node without any format"
        case .otherNode: "a video node of another kind"
        case .otherDevice: "a device of another kind"
        case .file: "a file"
        case .folder: "a folder"
        }
    }

    /// The next step for the user; nil where only another device helps.
    var remedy: String? {
        switch self {
        case .output: "if it is a loopback, start the program that feeds it first"
        case .withoutFormats: "if it is a loopback, start the program that feeds it; if a grabber, connect a source"
        case .pipeline: "set the pipeline up with media-ctl, or let libcamera's V4L2 layer serve it"
        case .file: "use the file capturer for a file"
        default: nil
        }
    }
}
