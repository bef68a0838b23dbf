import CLibV4L2
import V4L2Support
import VideoCapturing

/// A camera that is open and set to a mode: from the opening of the node to its closing. A new one after an unplug.
///
/// Belongs to the capture thread.
final class CameraSession {
    let device: CameraDevice
    let node: DeviceNode
    private(set) var format: StreamFormat
    /// The shape of the pixels in the format.
    private(set) var pixelAspect = PixelAspect.square
    private var negotiation: ModeNegotiation
    private let bufferCount: Int

    /// The negotiated mode, and why it was chosen.
    var decision: CameraMode.Decision { negotiation.decision }

    /// Opens the camera and sets its mode; does not stream yet.
    ///
    /// - Throws: `deviceBusy`, `permissionDenied`, `deviceLost`, `formatUnsupported` or `system`.
    init(opening device: CameraDevice, _ configuration: CameraCapturer.Configuration, calls: any DeviceCalls)
        throws(CaptureError)
    {
        self.device = device
        bufferCount = configuration.bufferCount
        do {
            node = try DeviceNode(opening: device.path, calls: calls)
        } catch {
            throw CameraFault(error, path: device.path).captureError
        }
        guard node.capabilities.isCamera else { throw CameraSelector.notACamera(device.path, node.capabilities) }
        _ = VideoInput.adoptTimings(node)
        var source = NodeModeSource(node: node)
        let request = configuration.modeRequest(native: NodeFormat.current(node))
        let ranking = try ModeSearch.candidates(
            from: &source, request: request, isConvertible: { V4LConverter.knows($0) }, subject: device.name)
        negotiation = ModeNegotiation(ranking, subject: device.name)
        format = StreamFormat(v4l2_format(), isMultiplanar: node.capabilities.isMultiplanar)
        try apply()
    }

    /// Starts streaming in the best of the modes that the driver and the bus accept.
    ///
    /// - Throws: the driver's refusal, unless another mode is left to try.
    func makeStream() throws(CaptureError) -> CaptureStream {
        // Another program may have set another format since the last stream.
        if NodeFormat.current(node) != format { try apply() }
        while true {
            do throws(IoctlFailure) {
                let stream = try CaptureStream(node, format: format, bufferCount: bufferCount)
                try stream.start()
                return stream
            } catch {
                let fault = CameraFault(error, path: node.path)
                guard fault.kind == .noBandwidth else { throw fault.captureError }
                negotiation.report(.noBandwidth)
                try apply()
            }
        }
    }

    /// Sets the best mode that is left. `VIDIOC_S_FMT` resets the interval on some drivers, so the interval is set
    /// after it.
    private func apply() throws(CaptureError) {
        while let mode = negotiation.current() {
            do throws(IoctlFailure) {
                format = try NodeFormat.set(mode, on: node)
                let interval = try NodeFormat.setInterval(mode.rate, on: node)
                let settled = AppliedMode(
                    fourCC: format.fourCC, size: PixelSize(width: format.width, height: format.height),
                    interval: interval)
                if negotiation.report(.applied(settled)) {
                    pixelAspect = PictureRegion.pixelAspect(format, node)
                    return
                }
            } catch {
                let fault = CameraFault(error, path: node.path)
                guard fault.kind == .failing || fault.kind == .noBandwidth else { throw fault.captureError }
                negotiation.report(fault.kind == .noBandwidth ? .noBandwidth : .refused(errno: error.number))
            }
        }
        throw negotiation.failure
    }

    /// Closes the node. Memory that frames hold stays valid.
    func close() { node.close() }
}

/// Reads and sets the format and the interval of a node.
private enum NodeFormat {
    /// The present format; nil when the driver does not report it.
    static func current(_ node: DeviceNode) -> StreamFormat? {
        var format = v4l2_format()
        format.type = type(node)
        guard (try? node.request(.getFormat, &format)) != nil else { return nil }
        return StreamFormat(format, isMultiplanar: node.capabilities.isMultiplanar)
    }

    /// Requests a mode's format, filled by the whole picture. Returns the format that the driver has set.
    static func set(_ mode: CameraMode, on node: DeviceNode) throws(IoctlFailure) -> StreamFormat {
        var format = v4l2_format()
        format.type = type(node)
        PictureRegion.resetCrop(node)
        clibv4l2_set_picture(
            &format, UInt32(clamping: mode.width), UInt32(clamping: mode.height), mode.fourCC.rawValue,
            V4L2_FIELD_NONE.rawValue)
        try node.request(.setFormat, &format)
        let set = clibv4l2_get_picture(&format)
        if PictureRegion.fillFrame(width: set.width, height: set.height, node) {
            try node.request(.getFormat, &format)
        }
        return StreamFormat(format, isMultiplanar: node.capabilities.isMultiplanar)
    }

    /// Requests a rate. Returns the interval that the driver has set; nil when it does not support setting one.
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
