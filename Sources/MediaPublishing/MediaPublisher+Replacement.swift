public import AudioCapturing
public import VideoCapturing

extension MediaPublisher {
    /// Puts another capture in place of that of the frames, while the run goes on: the new one is started, its first frame
    /// takes over, then the old one is stopped and released. Frames go on with increasing timestamps, and the sound stays in
    /// step. The limits of the settings count the frames of both.
    ///
    /// - Parameters:
    ///   - new: the capture that takes over.
    ///   - timeout: how long its first frame may take.
    /// - Throws: what the new capture throws, `stalled` when it delivers no frame in time. The old capture then goes on.
    public func replaceCapture(
        with new: any VideoCapture, timeout: Duration = .seconds(10)
    ) throws(CaptureError) {
        guard passing == nil else {
            throw CaptureError(
                .invalidState, operation: "replace the capture",
                message: "The publisher was made for packets, and frames cannot take over; make one for frames.")
        }
        let old = video.capture
        let limited = LimitedCapture(new, line: line)
        if state.withLock({ $0.isStarted }) { line.expect(limited) } else { line.setCurrent(limited) }
        do {
            watch(limited)
            try video.replaceCapture(with: limited, timeout: timeout)
        } catch {
            if let old = old as? LimitedCapture { line.setCurrent(old) }
            throw error
        }
        // Its states before it was the capture of this publisher.
        captureStateChanged(of: limited, to: limited.state)
    }

    /// Puts another capture in place of that of the sound, while the run goes on: the new one is started, its first chunk
    /// takes over, then the old one is stopped and released. It stays in step with the pictures; its rate and its channels
    /// may be others.
    ///
    /// - Parameters:
    ///   - new: the capture that takes over.
    ///   - timeout: how long its first chunk may take.
    /// - Throws: what the new capture throws, `stalled` when it delivers nothing in time, `invalidState` for a publisher
    ///   without sound. The old capture then goes on.
    public func replaceCapture(
        with new: any AudioCapture, timeout: Duration = .seconds(10)
    ) throws(CaptureError) {
        guard let audio else {
            throw CaptureError(
                .invalidState, operation: "replace the capture of the sound",
                message: "The publisher was made without sound; make it with a capture of sound.")
        }
        watch(new)
        try audio.replaceCapture(with: new, timeout: timeout)
        // Its states before it was the capture of this publisher.
        captureStateChanged(of: new, to: new.state)
    }

    /// Makes events of the states of a capture of the frames.
    func watch(_ capture: any VideoCapture) {
        let states = capture.stateChanges()
        Task.detached { [weak self, weak capture] in
            for await change in states {
                guard let self, let capture else { return }
                captureStateChanged(of: capture, to: change.new)
            }
        }
    }

    private func captureStateChanged(of capture: any VideoCapture, to new: CaptureState) {
        // One that has been replaced no longer matters.
        guard video.capture === capture else { return }
        for record in state.withLock({ $0.records }) { record.output.sourceStateChanged(to: new) }
        if case .stopped(let reason) = new { eventList.end(.captureStopped(reason)) }
    }
}
