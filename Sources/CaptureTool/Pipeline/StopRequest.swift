import MediaContainers
import VideoCapturing

/// Carries the wish to stop to whatever part of a run may be waiting: a source that is being opened, or an output whose
/// reader takes nothing. What runs finds out by itself.
///
/// Safe to use from any thread.
final class StopRequest: Sendable {
    /// How long an output whose reader takes nothing is still waited for.
    static let outputTimeout = Duration.seconds(3)

    private struct State {
        var isMade = false
        /// Being opened or started.
        var opening: (any VideoCapture)?
        var files: [OutputFile] = []

        func limitWaits() {
            for file in files { file.stallTimeout = StopRequest.outputTimeout }
        }
    }

    private let state = Locked(State())

    /// Whether the run is to stop.
    var isMade: Bool { state.withLock { $0.isMade } }

    /// Asks for the stop. Does not wait for it.
    func make() {
        let opening = state.withLock { state in
            state.isMade = true
            state.limitWaits()
            return state.opening
        }
        if let opening { StopRequest.cancel(opening) }
    }

    /// Has a stop end the opening and the start of a capture; nil when it has started.
    func setOpening(_ capture: (any VideoCapture)?) {
        let isMade = state.withLock { state in
            state.opening = capture
            return state.isMade
        }
        if isMade, let capture { StopRequest.cancel(capture) }
    }

    /// Has a stop limit the waits for the readers of these outputs.
    func setFiles(_ files: [OutputFile]) {
        state.withLock { state in
            state.files = files
            if state.isMade { state.limitWaits() }
        }
    }

    /// On a thread of its own: the source may take its time, and the thread of signals must not.
    private static func cancel(_ capture: any VideoCapture) {
        // Without a thread the source is waited for.
        _ = try? CaptureThread(name: "stop") { capture.releaseCapture() }
    }
}
