import CLibV4L2
import Synchronization
import VideoCapturing

/// A request for a frame in another mode, from any thread to the capture thread. One at a time.
final class SizedShot: Sendable {
    private struct State {
        var request: Request?
        var result: Result<VideoFrame, CaptureError>?
        var lastNumber: UInt64 = 0
    }

    struct Request: Sendable {
        /// Distinguishes it from an earlier one that was given up.
        var number: UInt64 = 0
        var size: PixelSize
        var skippedFrames: Int
        var deadline: MediaTime
    }

    private let state = Locked(State())
    /// Whether there is a request. Read before each frame, so without the lock.
    private let isRequested = Atomic(false)

    var isPending: Bool { isRequested.load(ordering: .relaxed) }

    /// Waits for the frame of a request.
    ///
    /// - Throws: `invalidState` while there is another request; `stalled` after its deadline; what the camera throws.
    func take(_ request: Request, subject: String?) throws(CaptureError) -> VideoFrame {
        let isFirst = state.withLock { state in
            guard state.request == nil else { return false }
            state.lastNumber += 1
            state.request = request
            state.request?.number = state.lastNumber
            return true
        }
        guard isFirst else {
            throw CaptureError(
                .invalidState, operation: "take a frame of another size", subject: subject,
                message: "The camera takes one already; wait for its end.")
        }
        isRequested.store(true, ordering: .relaxed)
        // The camera itself observes the deadline; the rest is for its way back.
        let result = state.wait(until: request.deadline.advanced(by: .seconds(2))) { $0.result }
        isRequested.store(false, ordering: .relaxed)
        state.withLock { state in
            state.request = nil
            state.result = nil
        }
        guard let result else { throw SizedShot.late(subject) }
        return try result.get()
    }

    /// The request, which the capture thread answers with ``finish(_:_:)``.
    func begin() -> Request? {
        guard isPending, let request = state.withLock({ $0.request }) else { return nil }
        isRequested.store(false, ordering: .relaxed)
        return request
    }

    /// Answers the request, where it still waits.
    func finish(_ request: Request, _ result: Result<VideoFrame, CaptureError>) {
        state.withLock { if $0.request?.number == request.number { $0.result = result } }
        state.wakeAll()
    }

    static func late(_ subject: String?) -> CaptureError {
        CaptureError(
            .stalled, operation: "take a frame of another size", subject: subject,
            message: "The camera gave no frame of it in time; check that it runs, or allow more time.")
    }
}

extension CameraSource {
    /// Takes the frame of a request in another mode. The stream resumes through ``recover(_:)``.
    func takeSizedShot(_ context: any CameraContext) {
        guard let request = status.shot.begin() else { return }
        context.reportInterruption(.other("A still of \(request.size) is being taken."))
        let usual = wants
        wants = CaptureWants(acceptsCompressed: true)
        let result = Result { () throws(CaptureError) in try capture(request, context) }
        wants = usual
        // These were not for the consumers.
        losses.lost = 0
        losses.corrupt = 0
        closeSession()
        state = .interrupted(.resuming)
        status.shot.finish(request, result)
    }

    private func capture(_ request: SizedShot.Request, _ context: any CameraContext) throws(CaptureError) -> VideoFrame
    {
        closeSession()
        guard let device else { throw SizedShot.late(configuration.device) }
        var special = configuration
        special.preset = request.size
        special.policy = .sizeFirst
        let session = try CameraSession(opening: device, special, calls: calls)
        self.session = session
        let stream = try session.makeStream()
        // Negotiation may have come to another one than the first choice.
        let decision = session.decision
        state = .running(
            RunningStream(
                stream: stream, output: try makeOutput(stream, session), decision: decision, startedAt: context.now))
        guard decision.delivered.size == request.size else {
            throw CaptureError(
                .formatUnsupported, operation: "take a frame of another size", subject: device.name,
                message: "The camera has no mode of \(request.size); the nearest is \(decision.delivered.size).")
        }
        var rest = request.skippedFrames
        while !context.isStopping, context.now < request.deadline, case .running(let running) = state {
            guard let frame = try nextShot(running, context) else { continue }
            guard rest == 0 else {
                rest -= 1
                continue
            }
            var shot = VideoFrame(
                buffer: frame.buffer, compressed: frame.compressed, timestamp: frame.timestamp ?? context.now)
            shot.attributes = frame.attributes
            return shot
        }
        throw SizedShot.late(device.name)
    }

    private func nextShot(_ running: RunningStream, _ context: any CameraContext) throws(CaptureError) -> SourceFrame? {
        do throws(CameraStreamError) {
            guard case .frame(let frame) = try awaitSample(running, context) else { return nil }
            return frame
        } catch {
            throw error.captureError ?? SizedShot.late(device?.name)
        }
    }
}
