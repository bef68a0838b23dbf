import AudioCapturing

/// One check of sound under way: the captures it has made, and how far it has come.
final class AudioTrial: Sendable {
    let suite: AudioConformanceSuite
    private let made = Locked<[any AudioCapture]>([])
    private let step = Locked("making the capture")

    init(_ suite: AudioConformanceSuite) {
        self.suite = suite
    }

    /// The current step, for the report of a check that hangs.
    var currentStep: String { step.withLock { $0 } }

    func note(_ name: String) { step.withLock { $0 = name } }

    /// Runs the check, and releases what it has made whatever the outcome.
    func perform(_ rule: AudioConformanceSuite.Rule) -> ConformanceSuite.Check.Outcome {
        let outcome: ConformanceSuite.Check.Outcome
        do {
            try apply(rule)
            outcome = .passed
        } catch Finding.broken(let reason) {
            outcome = .failed(reason)
        } catch Finding.notApplicable(let reason) {
            outcome = .notApplicable(reason)
        } catch {
            outcome = .failed("While \(currentStep): \(error)")
        }
        note("giving back after the check")
        for capture in made.withLock({ $0 }) { capture.releaseCapture() }
        return outcome
    }

    /// A new capture, initialized, which is released after the check.
    func make(_ consumer: any AudioCaptureConsumer) throws -> any AudioCapture {
        note("making the capture")
        let capture = try suite.makeCapture()
        made.withLock { $0.append(capture) }
        capture.audioCaptureConsumer = consumer
        note("initCapture")
        try capture.initCapture()
        return capture
    }

    func start(_ capture: any AudioCapture) throws {
        note("startCapture")
        try capture.startCapture()
    }

    func stop(_ capture: any AudioCapture) throws {
        note("stopCapture")
        try capture.stopCapture()
    }

    /// Blocks until `count` more chunks have come than `before`; false when the source came to its end first, having given
    /// at least one. Each chunk may take the suite's deadline.
    @discardableResult
    func awaitChunks(
        _ count: Int, after before: Int = 0, of capture: any AudioCapture, seenBy number: () -> Int
    ) throws -> Bool {
        note("waiting for \(count) chunks")
        var seen = number()
        var limit = now.advanced(by: suite.chunkDeadline)
        while true {
            // The state is read first: chunks that come before the end are seen after it.
            let state = capture.state
            if number() >= before + count { return true }
            if case .stopped(let reason) = state {
                try require(reason == .endOfStream, "It stopped on its own account: \(reason).")
                try require(number() > before, "The stream ended without a chunk.")
                return false
            }
            if number() > seen {
                seen = number()
                limit = now.advanced(by: suite.chunkDeadline)
            }
            try require(now < limit, "No chunk came for \(suite.chunkDeadline), after \(seen - before) of \(count).")
            pause(.milliseconds(1))
        }
    }

    /// The chunks of several starts, `count` of each.
    func record(starts: Int, chunks: Int) throws -> (capture: any AudioCapture, starts: [[AudioChunk]]) {
        let recorder = RecordingAudioConsumer()
        let capture = try make(recorder)
        var result: [[AudioChunk]] = []
        for _ in 0..<starts {
            let before = recorder.count
            try start(capture)
            try awaitChunks(chunks, after: before, of: capture) { recorder.count }
            try stop(capture)
            result.append(Array(recorder.chunks.dropFirst(before)))
        }
        return (capture, result)
    }
}
