import VideoCapturing

extension CameraCapturer {
    /// An event of a running camera. Its description is one sentence for the user.
    ///
    /// Interruptions are also states of the capture; see `VideoCapture.stateChanges()`.
    public enum Event: Sendable, Hashable {
        /// A mode was negotiated, for the first time or again.
        case negotiated(CameraMode.Decision)
        /// The camera was unplugged; the capture waits for it.
        case disconnected
        /// The same camera is back, possibly under another path.
        case reconnected(path: String)
        /// The camera delivers no frames; a restart is tried. `attempt` counts from 1; the first restarts the stream only.
        case restarting(attempt: Int, of: Int)
        /// Restarts have failed; the next follows after this time, or at once when the camera is plugged in again.
        case waiting(Duration)
        /// Another program uses the camera; the capture waits for it.
        case busy(holder: String?)
        /// The user is no longer permitted to open the camera; the capture waits for a change of the node's permissions.
        case noPermission
        /// Damaged frames were dropped: `count` of the `of` frames of one second; `bus` is the camera's
        /// ``CameraDevice/bus``.
        case damagedFrames(count: UInt64, of: UInt64, bus: String)
        /// The camera delivers fewer frames than negotiated, since it exposes longer in low light.
        case slowInLowLight(measured: FrameRate, negotiated: FrameRate)
        /// The camera delivers fewer frames than negotiated.
        case slow(measured: FrameRate, negotiated: FrameRate)
        /// There is no usable signal at the input.
        case signal(CameraCapturer.Event.SignalProblem)
        /// There is a usable signal at the input again.
        case signalReturned
        /// The signal at the input has another size; frames keep theirs, and show all of the picture.
        case signalResized(PixelSize)
        /// Frames have two fields, and are deinterlaced; see ``Configuration/deinterlaces``.
        case interlaced
        /// The value of a control could not be restored.
        case controlNotRestored(name: String, reason: String)
    }
}

extension CameraCapturer.Event {
    /// Why an input of a grabber has no usable signal.
    public enum SignalProblem: Sendable, Hashable {
        /// Nothing is connected, or it is switched off (`ENOLINK`).
        case none
        /// There is a signal, but the device cannot lock to it (`ENOLCK`).
        case unstable
        /// The device does not support the timings of the signal (`ERANGE`).
        case unsupported
    }
}

extension CameraCapturer.Event: CustomStringConvertible {
    public var description: String {
        switch self {
        case .negotiated(let decision): decision.summary
        case .disconnected: "The camera was unplugged; waiting for it."
        case .reconnected(let path): "The camera is back as \(path)."
        case .restarting(let attempt, let count): "The camera stopped responding; restarting (\(attempt)/\(count))."
        case .waiting(let time): "The camera does not respond; trying again in \(time.components.seconds) s."
        case .busy(let holder): "The camera is in use by \(holder ?? "another program"); waiting for it."
        case .noPermission: "No permission to open the camera; waiting for it."
        case .damagedFrames(let count, let total, let bus) where bus.hasPrefix("usb"):
            "Poor USB link (\(bus)): \(count) of \(total) frames were damaged and left out; try a shorter cable or "
                + "another port."
        case .damagedFrames(let count, let total, let bus):
            "\(count) of \(total) frames were damaged and left out; check how the camera is connected"
                + (bus.isEmpty ? "." : " (\(bus)).")
        case .slowInLowLight(let measured, let negotiated):
            "The camera gives \(measured.rounded) of \(negotiated.rounded) fps, as cameras do that expose longer in "
                + "low light; exposure_dynamic_framerate=0 keeps the rate, with darker pictures."
        case .slow(let measured, let negotiated):
            "The camera gives \(measured.rounded) of the \(negotiated.rounded) fps that it has promised."
        case .signal(.none): "No signal at the camera's input; waiting for one."
        case .signal(.unstable): "The signal at the camera's input is unstable; waiting for it."
        case .signal(.unsupported): "The device cannot take the signal's timings; choose another mode at the sender."
        case .signalReturned: "There is a signal at the camera's input again."
        case .signalResized(let size): "The signal at the camera's input is \(size) now."
        case .interlaced: "The camera's input is interlaced; \(OptionDescription.deinterlacingNotice)"
        case .controlNotRestored(let name, let reason): "The control \(name) could not be restored: \(reason)"
        }
    }
}

extension FrameRate {
    /// With one decimal at most, for messages.
    fileprivate var rounded: String {
        let tenths = (Int(frames) * 10 + Int(seconds) / 2) / Int(seconds)
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
}
