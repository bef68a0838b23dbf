import VideoCapturing

/// How a source goes on after a fault.
extension LibcameraSource {
    /// Ends a stream that has failed, and reports it; ``recover(_:)`` follows.
    ///
    /// - Throws: the error that ends the capture, when it does not wait for the camera.
    func interrupt(after error: CaptureError, _ context: FrameContext) throws(CaptureError) {
        try failUnlessReconnecting(error)
        if error.code == .deviceLost {
            // Closed before it is reported: from then on the camera may return, which libcamera must not see while it still has
            // the old one.
            endStream()
            session = nil
            return begin(.disconnected, context)
        }
        // Reported first, so that the capture does not seem to run while libcamera ends the stream.
        let isFirstStall = error.code == .stalled && failures == 0
        begin(.failing, context)
        endStream()
        // A stream that stalls for the first time is only restarted; all else opens the camera again.
        if !isFirstStall { session = nil }
    }

    /// Waits for the next attempt and makes it; returns early when the capture is being stopped or has new wants.
    func recover(_ context: FrameContext) throws(CaptureError) {
        guard context.wait(until: nextAttempt, endsForWants: true), let known = device else { return }
        do throws(CaptureError) {
            if session == nil {
                // The camera may be a new one for libcamera; its identifier stays.
                guard let found = try LibcameraDevice.cameras().first(where: { $0.id == known.id }) else {
                    LibcameraDevice.searchAgain()
                    return begin(.disconnected, context)
                }
                try openSession(found)
            }
            status.count { $0.restarts += 1 }
            try startStream(context)
        } catch {
            session = nil
            try failUnlessReconnecting(error)
            switch error.code {
            case .deviceLost: begin(.disconnected, context)
            case .deviceBusy: begin(.busy, context)
            default: begin(.failing, context)
            }
        }
    }

    /// Begins an interruption, or another attempt of the same one.
    private func begin(_ next: Interruption, _ context: FrameContext) {
        let isNew = interruption != next
        interruption = next
        failures = next == .failing ? min(failures + 1, 8) : 0
        let delay: Duration =
            switch next {
            case .disconnected: .seconds(1)
            case .busy: .seconds(1)
            case .failing: failures == 1 ? .zero : .milliseconds(250 << (failures - 2))
            }
        nextAttempt = context.now.advanced(by: delay)
        switch next {
        case .disconnected:
            context.reportInterruption(.deviceDisconnected)
            if isNew { status.report("The camera was unplugged; waiting for it.") }
        case .busy:
            context.reportInterruption(.deviceBusy)
            if isNew { status.report("The camera is in use by another program; waiting for it.") }
        case .failing:
            context.reportInterruption(.stalled)
            status.report(
                failures < 3
                    ? "The camera stopped responding; restarting."
                    : "The camera does not respond; trying again in \(delay.seconds.rounded()) s.")
        }
    }

    /// Records the first frame after a start.
    func didReturn() {
        hasDelivered = true
        failures = 0
        guard interruption != nil else { return }
        interruption = nil
        status.report("The camera is back.")
    }

    private func failUnlessReconnecting(_ error: CaptureError) throws(CaptureError) {
        guard !configuration.reconnects || error.code == .invalidConfiguration else { return }
        throw error
    }
}
