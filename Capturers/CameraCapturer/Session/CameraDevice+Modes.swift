import VideoCapturing

extension CameraDevice {
    /// The camera's formats with their sizes and rates, in the driver's order. Opens the camera for a moment, also
    /// while a program captures from it, and changes nothing.
    ///
    /// Throws `deviceBusy`, `permissionDenied`, `deviceLost` or `system` when it does not open, and
    /// `invalidConfiguration` when it is no camera any more.
    public func modes() throws(CaptureError) -> [CameraModeGroup] { try modes(SystemDeviceCalls()) }

    /// The mode that a capture would try first for `request`, and why; the driver's lists are believed, and nothing is
    /// set. A capture may settle another one, when the driver or the bus refuses this, and a grabber has other modes
    /// once the timings of its signal are set.
    ///
    /// Throws as ``modes()``, and `formatUnsupported` when the camera has no mode for the request.
    public func decide(_ request: CameraModeRequest) throws(CaptureError) -> CameraModeDecision {
        try decide(request, SystemDeviceCalls())
    }

    func modes(_ calls: any DeviceCalls) throws(CaptureError) -> [CameraModeGroup] {
        var source = try modeSource(calls)
        return try CameraModeGroup.all(from: &source, isConvertible: { ExoticConverter.knows($0) })
    }

    func decide(_ request: CameraModeRequest, _ calls: any DeviceCalls) throws(CaptureError) -> CameraModeDecision {
        var source = try modeSource(calls)
        let ranking = try ModeSearch.candidates(
            from: &source, request: request, isConvertible: { ExoticConverter.knows($0) }, subject: name)
        return ModeNegotiation(ranking, subject: name).decision
    }

    private func modeSource(_ calls: any DeviceCalls) throws(CaptureError) -> NodeModeSource {
        let node: DeviceNode
        do {
            node = try DeviceNode(opening: path, calls: calls)
        } catch {
            throw openError(error)
        }
        guard node.capabilities.isCamera else { throw CameraSelector.notACamera(path, node.capabilities) }
        return NodeModeSource(node: node)
    }
}
