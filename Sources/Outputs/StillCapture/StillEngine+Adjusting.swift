import Synchronization
import VideoCapturing

/// Stills for which the capture is set differently: of another size, and brackets.
extension StillEngine {
    // MARK: Another size

    /// Whether a still needs another mode than that of the stream.
    func needsOtherMode(_ settings: Still.Settings) -> Bool {
        guard let size = settings.size else { return false }
        if let newest = state.withLock({ $0.ring.newest }) {
            return PixelSize(width: newest.width, height: newest.height) != size
        }
        let format = currentCapture()?.captureSettings().format
        return format.map { PixelSize(width: $0.imageWidth, height: $0.imageHeight) != size } ?? true
    }

    /// Takes one still of another size than the stream's. A separate thread waits for the device's answers.
    func takeSized(_ settings: Still.Settings, of size: PixelSize) async throws -> Still {
        let adjustable = try adjustable("take a still of another size", currentCapture()?.adjustable)
        let identifier = state.withLock { $0.makeIdentifier() }
        try startThreads()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let answer = StillAnswer.still { continuation.resume(with: $0) }
                do throws(CaptureError) {
                    try CaptureThread(name: "still") {
                        self.addSized(identifier, settings, size, adjustable, answer)
                    }
                } catch {
                    answer.fail(StillCaptureError(adjusting: error))
                }
            }
        } onCancel: {
            cancelSingle(identifier)
        }
    }

    /// As ``takeSized(_:of:)``, for a thread that may block.
    func waitForSized(
        _ settings: Still.Settings, of size: PixelSize, _ adjustable: (any AdjustableCapture)?
    ) throws -> Still {
        guard needsOtherMode(settings) else {
            return try wait { addSingle(state.withLock { $0.makeIdentifier() }, settings, $0) }
        }
        let adjustable = try self.adjustable("take a still of another size", adjustable)
        return try wait { addSized(state.withLock { $0.makeIdentifier() }, settings, size, adjustable, $0) }
    }

    private func addSized(
        _ identifier: UInt64, _ settings: Still.Settings, _ size: PixelSize, _ adjustable: any AdjustableCapture,
        _ answer: StillAnswer
    ) {
        let moment = clock.now
        let (isTaken, effects) = state.withLock { $0.reserveSingle(identifier, answer) }
        perform(effects)
        guard isTaken else { return }
        do throws(CaptureError) {
            let frame = try adjustable.captureFrame(
                of: size, skippedFrames: max(settings.skippedFrames, Still.Settings.settlingFrames),
                timeout: settings.timeout ?? .seconds(60))
            let request = StillRequest(
                id: identifier, owner: .single, moment: moment, settings: settings, awaitsWants: false)
            perform(StillEffects(jobs: [StillJob(request: request, frame: frame)]))
        } catch {
            let failure = StillCaptureError(adjusting: error)
            perform(
                state.withLock { state in
                    var effects = StillEffects()
                    state.endSingle(identifier, .failure(failure), &effects)
                    state.updateReadiness()
                    return effects
                })
        }
    }

    // MARK: Brackets

    /// Starts a bracket on a separate thread, which waits for the device's answers.
    func startBracket(
        _ shots: [CaptureAdjustment], _ settings: Still.Settings,
        _ continuation: AsyncThrowingStream<Still, any Error>.Continuation
    ) throws(StillCaptureError) {
        guard (1...configuration.outstandingLimit).contains(shots.count), settings.size == nil else {
            throw StillCaptureError(
                .invalidConfiguration, operation: "take a bracket",
                message: "Choose 1 to \(configuration.outstandingLimit) stills, and no size of their own.")
        }
        let adjustable = try adjustable("take a bracket", currentCapture()?.adjustable)
        try startThreads()
        guard bracketing.exchange(true, ordering: .acquiring) == false else {
            throw StillCaptureError(
                .tooManyRequests, operation: "take a bracket",
                message: "Another bracket is being taken; wait for its end.")
        }
        let isCancelled = ManualResetEvent()
        continuation.onTermination = { _ in isCancelled.raise() }
        do throws(CaptureError) {
            try CaptureThread(name: "still bracket") {
                let result = Result {
                    try self.takeBracket(
                        shots, settings, adjustable, isCancelled: { isCancelled.isRaised },
                        onStill: { continuation.yield($0) })
                }
                self.bracketing.store(false, ordering: .releasing)
                switch result {
                case .success: continuation.finish()
                case .failure(let error): continuation.finish(throwing: error)
                }
            }
        } catch {
            bracketing.store(false, ordering: .releasing)
            throw StillCaptureError(adjusting: error)
        }
    }

    /// Takes the stills of a bracket, one after the other, and restores the controls; blocks.
    ///
    /// - Parameters:
    ///   - shots: the controls for each still.
    ///   - settings: how each is taken.
    ///   - adjustable: the capture's device; nil for one that cannot be adjusted.
    ///   - isCancelled: whether to end before the next still.
    ///   - onStill: called with each still.
    /// - Throws: ``StillCaptureError``; `control` where the device does not take a setting.
    func takeBracket(
        _ shots: [CaptureAdjustment], _ settings: Still.Settings, _ adjustable: (any AdjustableCapture)?,
        isCancelled: () -> Bool, onStill: (Still) throws -> Void
    ) throws {
        let adjustable = try self.adjustable("take a bracket", adjustable)
        var settings = settings
        settings.allowsEarlierFrames = false
        settings.skippedFrames = max(settings.skippedFrames, Still.Settings.settlingFrames)
        var restores = true
        // Also after a failure, whose error then counts.
        defer { if restores { try? adjustable.endAdjustment() } }
        for (index, shot) in shots.enumerated() where !isCancelled() {
            do throws(CaptureError) {
                try adjustable.adjust(shot)
            } catch {
                throw StillCaptureError(adjusting: error)
            }
            var still = try wait { addSingle(state.withLock { $0.makeIdentifier() }, settings, $0) }
            still.number = index + 1
            try onStill(still)
        }
        restores = false
        do throws(CaptureError) {
            try adjustable.endAdjustment()
        } catch {
            throw StillCaptureError(adjusting: error)
        }
    }

    private func wait(for request: (StillAnswer) -> Void) throws -> Still {
        let result = Locked<Result<Still, any Error>?>(nil)
        request(
            .still { outcome in
                result.withLock { $0 = outcome }
                result.wakeAll()
            })
        // Each request is answered: with a still, by its timeout, or at the end of its engine.
        guard let outcome = result.wait(for: { $0 }) else { throw StillCaptureError.notRunning(nil) }
        return try outcome.get()
    }

    private func adjustable(
        _ operation: String, _ adjustable: (any AdjustableCapture)?
    ) throws(StillCaptureError) -> any AdjustableCapture {
        if let adjustable { return adjustable }
        throw StillCaptureError(
            .control, operation: operation, subject: currentCapture()?.captureSettings().sourceName,
            message: "This source has nothing to be set for it; use a camera, or leave it out.")
    }
}

extension Still.Settings {
    /// How many frames a camera needs until a control shows in all of the picture: those that were exposed before, and one
    /// that began before.
    static let settlingFrames = 3
}

extension StillCaptureError {
    /// The device has refused what a still needs.
    init(adjusting error: CaptureError) {
        let code: Code =
            switch error.code {
            case .stalled: .timedOut
            case .invalidState, .deviceLost: .notRunning
            case .outOfMemory: .outOfMemory
            case .system: .system
            default: .control
            }
        self.init(
            code, operation: error.operation, subject: error.subject, errno: error.systemError, message: error.message)
    }
}
