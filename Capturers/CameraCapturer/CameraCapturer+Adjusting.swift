public import VideoCapturing

extension CameraCapturer: AdjustableCapture {
    /// The camera itself.
    public var adjustable: (any AdjustableCapture)? { self }

    /// Sets controls for some frames; see `AdjustableCapture`. Exposures are of the camera's exposure time, whose automatic
    /// is switched off for them.
    ///
    /// - Parameter adjustment: the controls, by their names as in ``CameraControl/name``, and their values.
    /// - Throws: `invalidState` before `initCapture`, and the errors of ``CameraDevice/setControl(_:to:)``.
    public func adjust(_ adjustment: CaptureAdjustment) throws(CaptureError) {
        let controls = try knownDevice("adjust the camera").openControls(calls)
        try adjuster.withLock { (adjuster) throws(CaptureError) in
            try adjuster.adjust(adjustment, controls) { status.recordControl(id: $0, value: $1) }
        }
    }

    /// Puts back the controls that were adjusted. Of a camera that was unplugged meanwhile, they are when it is back.
    ///
    /// - Throws: the first error.
    public func endAdjustment() throws(CaptureError) {
        try adjuster.withLock { (adjuster) throws(CaptureError) in
            guard !adjuster.isEmpty else { return }
            let controls = try? knownDevice("put back the controls").openControls(calls)
            try adjuster.restore(controls) { status.recordControl(id: $0, value: $1) }
        }
    }

    /// Takes a single frame of another size; see `AdjustableCapture`.
    ///
    /// - Parameters:
    ///   - size: the size in pixels; a mode of the camera, or one that can be cropped and scaled down from one.
    ///   - skippedFrames: how many frames in the new mode are passed over.
    ///   - timeout: how long to wait for it.
    /// - Returns: the frame, with the camera's own JPEG where it has one.
    /// - Throws: `invalidState` unless the camera captures; `formatUnsupported` without such a mode; `stalled` after the
    ///   timeout, also while the camera is unplugged; `deviceLost`, `deviceBusy`, `system`.
    public func captureFrame(
        of size: PixelSize, skippedFrames: Int = 3, timeout: Duration = .seconds(10)
    ) throws(CaptureError) -> VideoFrame {
        guard isCaptureStarted else {
            throw CaptureError(
                .invalidState, operation: "take a frame of another size", subject: configuration.device,
                message: "The camera does not capture; start it first.")
        }
        return try status.shot.take(
            SizedShot.Request(
                size: size, skippedFrames: max(0, skippedFrames), deadline: MonotonicClock().now.advanced(by: timeout)),
            subject: device?.name)
    }
}
