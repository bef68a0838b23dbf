import CLibV4L2
import VideoCapturing

/// A camera that is open and set to a mode: from the node's opening to its closing. After an unplug there is another.
///
/// Belongs to the capture thread.
final class CameraSession {
    let device: CameraDevice
    let node: DeviceNode
    private(set) var format: StreamFormat
    private var negotiation: ModeNegotiation
    private let bufferCount: Int

    /// The mode, and how it came about.
    var decision: CameraModeDecision { negotiation.decision }

    /// Opens the camera and sets its mode; does not stream yet.
    ///
    /// Throws `deviceBusy`, `permissionDenied`, `deviceLost`, `formatUnsupported` or `system`.
    init(opening device: CameraDevice, _ configuration: CameraConfiguration, calls: any DeviceCalls)
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
            from: &source, request: request, isConvertible: { ExoticConverter.knows($0) }, subject: device.name)
        negotiation = ModeNegotiation(ranking, subject: device.name)
        format = StreamFormat(v4l2_format(), isMultiplanar: node.capabilities.isMultiplanar)
        try apply()
    }

    /// Makes the camera stream, in the best of the modes that its driver and its bus accept.
    ///
    /// Throws the driver's refusal, unless another mode is left to try.
    func makeStream() throws(CaptureError) -> CaptureStream {
        // While it rested, another program may have set the camera otherwise.
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

    /// Sets the best mode that is left. `VIDIOC_S_FMT` sets the interval back on some drivers, so the interval
    /// comes after it.
    private func apply() throws(CaptureError) {
        while let mode = negotiation.current() {
            do throws(IoctlFailure) {
                format = try NodeFormat.set(mode, on: node)
                let interval = try NodeFormat.setInterval(mode.rate, on: node)
                let settled = AppliedMode(
                    fourCC: format.fourCC, size: PixelSize(width: format.width, height: format.height),
                    interval: interval)
                if negotiation.report(.applied(settled)) { return }
            } catch {
                let fault = CameraFault(error, path: node.path)
                guard fault.kind == .failing || fault.kind == .noBandwidth else { throw fault.captureError }
                negotiation.report(fault.kind == .noBandwidth ? .noBandwidth : .refused(errno: error.number))
            }
        }
        throw negotiation.failure
    }

    /// Closes the node. Memory that frames hold stays.
    func close() { node.close() }
}
