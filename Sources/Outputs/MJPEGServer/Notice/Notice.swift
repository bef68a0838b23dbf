import VideoCapturing

/// What viewers are told while there is no picture.
struct Notice: Sendable, Hashable {
    /// A word or two, in large letters.
    var title: String
    /// The reason in a sentence.
    var reason: String
    /// Whether it is to be expected to last, so that nobody need wait for a first frame.
    var isLasting = true

    /// What is shown before the source has done anything.
    static let waiting = Notice(title: "No picture yet", reason: "Waiting for the first picture.", isLasting: false)

    init(title: String, reason: String, isLasting: Bool = true) {
        self.title = title
        self.reason = reason
        self.isLasting = isLasting
    }

    /// The notice for a state of the source; nil where there are pictures, or where nothing has changed for viewers.
    init?(_ state: CaptureState) {
        switch state {
        case .running, .stopping: return nil
        case .idle, .initialized: self = .waiting
        case .starting:
            self.init(title: "Starting", reason: "The source is being opened.", isLasting: false)
        case .interrupted(let reason): self.init(reason)
        case .stopped(.user): self.init(title: "Stopped", reason: "The capture was stopped.")
        case .stopped(.endOfStream): self.init(title: "The end", reason: "The source has no more pictures.")
        case .stopped(.deviceLost(let error)): self.init(title: "Device lost", reason: error.description)
        case .stopped(.error(let error)): self.init(title: "Failure", reason: error.description)
        }
    }

    private init(_ reason: InterruptionReason) {
        switch reason {
        case .deviceDisconnected:
            self.init(title: "Disconnected", reason: "The device was unplugged. Waiting for it to come back.")
        case .deviceBusy:
            self.init(title: "Busy", reason: "Another program uses the device. Waiting for it.")
        case .stalled:
            self.init(title: "Stalled", reason: "The device gives no pictures. It is being restarted.")
        case .noSignal:
            self.init(title: "No signal", reason: "The device has no signal at its input.")
        case .paused:
            self.init(title: "Paused", reason: "The application has paused the capture.")
        case .other(let text):
            self.init(title: "Interrupted", reason: text)
        }
    }
}
