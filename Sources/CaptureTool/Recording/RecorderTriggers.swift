import MediaPublishing
import MotionDetection
import VideoCapturing

/// Connects what starts clips to the publisher's trigger.
struct RecorderTriggers {
    let plan: RecorderPlan
    let publisher: MediaPublisher
    let signals: SignalWatcher
    let terminal: Terminal
    /// Whether the terminal gives keys, rather than the input.
    let hasKeys: Bool

    /// Begins to watch, once the outputs have been added.
    ///
    /// - Throws: a usage error where a kind has nothing to watch.
    func begin() throws(ExitError) {
        publisher.recording.setAccepted(Set(plan.kinds.map(\.reason)))
        for kind in plan.kinds {
            switch kind {
            case .signal: watchSignal()
            case .key: try watchKey()
            // The server fires it.
            case .http: break
            case .motion: try watchMotion()
            case .sound: try watchSound()
            }
        }
    }

    private func watchSound() throws(ExitError) {
        guard let audio = publisher.audio else {
            throw ExitError(.usage, "--record-on sound: there is no sound; add --audio mic.")
        }
        do {
            try audio.add(SoundTrigger(publisher.recording, configuration: plan.sound), name: "sound trigger")
        } catch {
            throw ExitError(opening: error, isInputAtFault: false)
        }
    }

    private func watchMotion() throws(ExitError) {
        let detector = MotionDetector(plan.motion) { [recording = publisher.recording] event in
            switch event.kind {
            case .began: recording.begin(.motion, at: event.start, detail: MotionOptions.text(event))
            case .ended: recording.end(.motion, at: event.lastMotion)
            }
        }
        do {
            try publisher.video.add(detector, name: "motion trigger")
        } catch {
            throw ExitError(opening: error, isInputAtFault: false)
        }
    }

    private func watchSignal() {
        signals.watchUserSignal { [recording = publisher.recording] in recording.fire(.signal) }
    }

    private func watchKey() throws(ExitError) {
        guard hasKeys, terminal.keyboard.isReading else {
            throw ExitError(
                .usage,
                "--record-on key: there is no terminal whose keys could be read; use --record-on signal, or http with "
                    + "--serve 8080.")
        }
        terminal.keyboard.begin { [recording = publisher.recording] key in
            if key == UInt8(ascii: "r") { recording.fire(.key) }
        }
    }
}
