import VideoCapturing

/// Keeps what one stream of state changes tells.
final class StateCollector: Sendable {
    private struct Contents {
        var changes: [CaptureStateChange] = []
        var hasEnded = false
    }

    private let contents: Locked<Contents>
    private let task: Task<Void, Never>

    init(_ stream: AsyncStream<CaptureStateChange>) {
        let contents = Locked(Contents())
        self.contents = contents
        task = Task.detached {
            for await change in stream {
                contents.withLock { $0.changes.append(change) }
                contents.wakeAll()
            }
            contents.withLock { $0.hasEnded = true }
            contents.wakeAll()
        }
    }

    deinit {
        task.cancel()
    }

    var changes: [CaptureStateChange] { contents.withLock { $0.changes } }

    /// Blocks until `condition` holds for the changes; false after `limit`.
    func wait(_ limit: Duration, until condition: ([CaptureStateChange]) -> Bool) -> Bool {
        contents.wait(until: now.advanced(by: limit)) { condition($0.changes) ? () : nil } != nil
    }

    /// Blocks until the stream has ended; false after `limit`.
    func waitForEnd(_ limit: Duration) -> Bool {
        contents.wait(until: now.advanced(by: limit)) { $0.hasEnded ? () : nil } != nil
    }
}

extension CaptureState {
    /// Whether the diagram of `CaptureState` has an arrow from here to there.
    func mayBecome(_ next: CaptureState) -> Bool {
        switch (self, next) {
        case (.idle, .initialized), (.initialized, .starting), (.initialized, .idle), (.starting, .running),
            (.starting, .stopping), (.starting, .stopped), (.running, .interrupted), (.running, .stopping),
            (.running, .stopped), (.interrupted, .running), (.interrupted, .stopping), (.interrupted, .stopped),
            (.stopping, .stopped), (.stopped, .starting), (.stopped, .idle):
            true
        // One cause may take the place of another.
        case (.interrupted(let old), .interrupted(let new)): old != new
        default: false
        }
    }
}

extension [CaptureStateChange] {
    /// What is wrong with a sequence of changes that begins in `first`; nil when nothing is.
    func fault(from first: CaptureState) -> String? {
        var state = first
        for change in self {
            if change.old != state { return "A change begins in \(change.old), but the state was \(state)." }
            if !change.old.mayBecome(change.new) { return "There is no way from \(change.old) to \(change.new)." }
            state = change.new
        }
        return nil
    }
}
