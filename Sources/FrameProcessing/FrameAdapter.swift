import VideoCapturing

/// Fits the frames for one consumer: the rate, the size and the alignment that its `CaptureWants` ask for,
/// where the capture itself does not, or other consumers want more. As WebRTC's `VideoAdapter`.
///
/// Stands between a queue and the consumer:
/// ```
/// FrameQueue ──▶ FrameAdapter ──▶ consumer
/// ```
/// Frames are left out by their timestamps, to an exact rate; those passed on keep all that is known of them.
/// `consumeFrame` works on the thread that calls it, one call at a time; all else may be used from any thread.
public final class FrameAdapter: FeedbackConsumer {
    /// Where the frames go; held strongly.
    public let consumer: any VideoCaptureConsumer

    private struct State {
        var wants: CaptureWants
        var gate = FrameRateGate()
        var statistics = FrameAdapter.Statistics()
        var lastError: CaptureError?
        var black: (buffer: PixelBuffer, color: ColorDescription)?
        /// The size that went out last; damage of another size means nothing.
        var lastSize: PixelSize?
    }

    private let state: Locked<State>
    private let filter: FrameTransform.Filter
    private let processor = FrameProcessor()

    /// - Parameters:
    ///   - consumer: where the frames go.
    ///   - wants: what it can use; may be changed at any time by ``adapt(to:)``.
    ///   - filter: how pixels are mixed when a frame is made smaller.
    public init(
        to consumer: any VideoCaptureConsumer, wants: CaptureWants = CaptureWants(),
        filter: FrameTransform.Filter = .box
    ) {
        self.consumer = consumer
        self.filter = filter
        state = Locked(State(wants: wants))
    }

    /// What the consumer can use now.
    public var wants: CaptureWants { state.withLock { $0.wants } }

    /// Sets what the consumer can use, from the next frame on.
    public func adapt(to wants: CaptureWants) { state.withLock { $0.wants = wants } }

    /// Adapts to the consumer's wants, if it has any, and passes them on to the capture.
    public func connectFeedback(_ feedback: CaptureFeedback?) {
        guard let consumer = consumer as? any FeedbackConsumer else { return }
        guard let feedback else { return consumer.connectFeedback(nil) }
        consumer.connectFeedback(
            CaptureFeedback(
                onWants: { [weak self] wants in
                    self?.adapt(to: wants)
                    feedback.updateWants(wants)
                }, onRefresh: { feedback.requestRefreshFrame() }))
    }

    /// The statistics so far.
    public var statistics: FrameAdapter.Statistics { state.withLock { $0.statistics } }

    /// The error of the last frame that failed; nil when none has. A frame fails when a JPEG to be scaled
    /// is damaged, or when memory is exhausted.
    public var lastError: CaptureError? { state.withLock { $0.lastError } }

    public func consumeFrame(_ frame: VideoFrame) {
        guard let wants = admit(frame) else { return }
        do throws(CaptureError) {
            var fitted = try fit(frame, wants)
            settle(&fitted, wants, isScaled: fitted.buffer !== frame.buffer)
            consumer.consumeFrame(fitted)
        } catch {
            state.withLock { state in
                state.gate.accumulator.add(frame)
                state.statistics.framesFailed += 1
                state.lastError = error
            }
        }
    }

    /// The wanted transform of the frame; nil when the frame comes too soon.
    private func admit(_ frame: VideoFrame) -> CaptureWants? {
        state.withLock { state in
            state.statistics.framesIn += 1
            let wants = state.wants
            state.gate.limit = wants.maximumFrameRate
            if state.gate.admits(frame) { return wants }
            state.statistics.framesDroppedForRate += 1
            return nil
        }
    }

    private func fit(_ frame: VideoFrame, _ wants: CaptureWants) throws(CaptureError) -> VideoFrame {
        var result = frame
        if let limit = wants.maximumFrameRate, let rate = frame.estimatedFrameRate, rate > limit {
            result.estimatedFrameRate = limit
        }
        let size = wants.adaptedSize(width: frame.width, height: frame.height)
        if wants.acceptsBlack {
            result.buffer = try black(frame, size)
            result.compressed = nil
            return result
        }
        if size == (frame.width, frame.height) { return result }
        return try processor.scale(result, width: size.width, height: size.height, filter: filter)
    }

    private func settle(_ frame: inout VideoFrame, _ wants: CaptureWants, isScaled: Bool) {
        state.withLock { state in
            let size = PixelSize(width: frame.width, height: frame.height)
            if let last = state.lastSize, last != size { state.gate.accumulator.invalidate() }
            state.lastSize = size
            if wants.acceptsBlack {
                state.statistics.framesBlackened += 1
                frame.damage = nil
                frame.isRepeat = false
                state.gate.accumulator.invalidate()
            } else {
                if isScaled { state.statistics.framesScaled += 1 }
                state.gate.accumulator.flush(into: &frame)
            }
            state.statistics.framesOut += 1
        }
    }

    /// The same black picture for every frame of a size.
    private func black(_ frame: VideoFrame, _ size: (width: Int, height: Int)) throws(CaptureError) -> PixelBuffer {
        let format = frame.pixelFormat.isCompressed ? PixelFormat.nv12 : frame.pixelFormat
        let kept = state.withLock { $0.black }
        if let kept, kept.color == frame.color, kept.buffer.pixelFormat == format, kept.buffer.width == size.width,
            kept.buffer.height == size.height
        {
            return kept.buffer
        }
        let made = try PixelBuffer.black(format, width: size.width, height: size.height, color: frame.color)
        state.withLock { $0.black = (made, frame.color) }
        return made
    }
}

extension FrameAdapter {
    /// What a ``FrameAdapter`` has done so far.
    public struct Statistics: Sendable, Hashable {
        /// Frames taken in.
        public var framesIn: UInt64 = 0
        /// Frames passed on: as they were, scaled or black.
        public var framesOut: UInt64 = 0
        /// Frames left out to keep to the rate.
        public var framesDroppedForRate: UInt64 = 0
        /// Frames passed on in another size.
        public var framesScaled: UInt64 = 0
        /// Frames in whose place a black one was passed on.
        public var framesBlackened: UInt64 = 0
        /// Frames left out because they could not be scaled; see ``FrameAdapter/lastError``.
        public var framesFailed: UInt64 = 0

        public init() {}
    }
}
