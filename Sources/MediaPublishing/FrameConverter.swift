import FrameProcessing
import Synchronization
import VideoCapturing

/// Applies the orientation of frames, converts them to one pixel format and color and shapes them, once for all consumers
/// that need it.
///
/// Each consumer has its own thread and its own position in the stream, so the last few results are kept: the first
/// consumer of a frame converts it, the others wait for the result. Safe to use from any thread.
final class FrameConverter: Sendable {
    private struct Slot {
        let source: PixelBuffer
        let result: VideoFrame
    }

    /// What consumers must have in common to share a converter.
    struct Key: Hashable {
        /// The format of the results; nil to keep that of the frames.
        var pixelFormat: PixelFormat?
        /// The color of the results; nil to keep that of the frames.
        var color: ColorDescription?
        /// Whether the results have square pixels.
        var squaresPixels: Bool
        /// What becomes of the pictures; their rate is each consumer's own.
        var settings: MediaPublisher.FrameSettings

        init(
            _ pixelFormat: PixelFormat?, color: ColorDescription? = nil, squaresPixels: Bool = false,
            _ settings: MediaPublisher.FrameSettings
        ) {
            self.pixelFormat = pixelFormat
            self.color = color
            self.squaresPixels = squaresPixels
            self.settings = settings
            self.settings.frameRate = nil
        }
    }

    private let transform: FrameTransform
    private let shaper: FrameShaper?
    private let processor = FrameProcessor()
    private let slots: Locked<[Slot?]>
    private let userCount = Atomic(1)

    /// A converter for one consumer.
    ///
    /// - Parameters:
    ///   - key: what becomes of the frames.
    ///   - reach: the number of frames that the consumers may be apart.
    init(_ key: Key, reach: Int) {
        transform = FrameTransform(
            squaresPixels: key.squaresPixels, appliesOrientation: true, pixelFormat: key.pixelFormat, color: key.color)
        shaper = key.settings.changesPictures ? FrameShaper(key.settings, transform) : nil
        slots = Locked([Slot?](repeating: nil, count: max(1, reach)))
    }

    /// Shares it with one more consumer.
    func addUser() { userCount.add(1, ordering: .relaxed) }

    /// The converted frame; the same frame where no conversion is needed.
    func convert(_ frame: VideoFrame) throws(CaptureError) -> VideoFrame {
        if shaper == nil, isRight(frame) { return frame }
        guard userCount.load(ordering: .relaxed) > 1 else { return try make(frame) }
        return try slots.withLock { (slots) throws(CaptureError) in
            let index = Int(frame.sequenceNumber % UInt64(slots.count))
            if let slot = slots[index], slot.source === frame.buffer, slot.result.timestamp == frame.timestamp {
                return slot.result
            }
            let result = try make(frame)
            slots[index] = Slot(source: frame.buffer, result: result)
            return result
        }
    }

    private func isRight(_ frame: VideoFrame) -> Bool {
        frame.orientation == .up && transform.pixelFormat.map { $0 == frame.pixelFormat } ?? true
            && transform.color.map { $0 == frame.color } ?? true
            && (frame.pixelAspect.isSquare || !transform.squaresPixels)
    }

    private func make(_ frame: VideoFrame) throws(CaptureError) -> VideoFrame {
        if let shaper { return try shaper.shape(frame) }
        return try processor.apply(transform, to: frame)
    }
}

/// Converts the frames of a queue for a consumer that needs one format, and the size and the shape of pixels of the first
/// frame or the size that it wants; of a lower rate leaves frames out.
final class ConvertingConsumer: FeedbackConsumer {
    private let converter: FrameConverter
    private let next: any VideoCaptureConsumer
    private let hasFailed = Locked(false)
    private let shape = Locked<(size: PixelSize, pixelAspect: PixelAspect)?>(nil)
    private let gate: Locked<FrameRateGate>
    private let fitter = FrameFitter()
    private let processor = FrameProcessor()
    /// What a consumer wants that follows changes of the size; nil for another one.
    private let wants: Locked<CaptureWants?>
    private let passesFeedback: Bool
    private let onFailure: @Sendable (any Error) -> Void

    /// - Parameters:
    ///   - frameRate: the rate; nil for all frames.
    ///   - keepsSize: whether the consumer needs the size of the first frame; otherwise it gets the size of each, or a smaller one
    ///     that it wants, whatever the capture delivers for the others.
    ///   - passesFeedback: whether the consumer's feedback reaches the capture.
    ///   - onFailure: called at most once; no frame is passed on afterwards.
    init(
        _ converter: FrameConverter, to next: any VideoCaptureConsumer, frameRate: FrameRate? = nil,
        keepsSize: Bool = true, passesFeedback: Bool = true,
        onFailure: @escaping @Sendable (any Error) -> Void
    ) {
        self.passesFeedback = passesFeedback
        wants = Locked(keepsSize ? nil : CaptureWants())
        gate = Locked(FrameRateGate(limit: frameRate))
        self.converter = converter
        self.next = next
        self.onFailure = onFailure
    }

    func connectFeedback(_ feedback: CaptureFeedback?) {
        guard passesFeedback, let next = next as? any FeedbackConsumer else { return }
        guard let feedback else { return next.connectFeedback(nil) }
        next.connectFeedback(
            CaptureFeedback(
                onWants: { [weak self] wants in
                    self?.wants.withLock { if $0 != nil { $0 = wants } }
                    feedback.updateWants(wants)
                }, onRefresh: { feedback.requestRefreshFrame() }))
    }

    func consumeFrame(_ given: VideoFrame) {
        guard !hasFailed.withLock({ $0 }), let frame = admit(given) else { return }
        do {
            next.consumeFrame(try fit(try converter.convert(frame)))
        } catch {
            hasFailed.withLock { $0 = true }
            onFailure(error)
        }
    }

    private func fit(_ frame: VideoFrame) throws(CaptureError) -> VideoFrame {
        if let wants = wants.withLock({ $0 }) {
            var result = frame
            if let limit = wants.maximumFrameRate, let rate = frame.estimatedFrameRate, rate > limit {
                result.estimatedFrameRate = limit
            }
            let size = wants.adaptedSize(width: frame.width, height: frame.height)
            guard size != (frame.width, frame.height) else { return result }
            return try processor.scale(result, width: size.width, height: size.height, filter: .box)
        }
        let (size, pixelAspect) = shape.withLock { shape in
            let kept = shape ?? (PixelSize(width: frame.width, height: frame.height), frame.pixelAspect)
            shape = kept
            return kept
        }
        return try fitter.fit(frame, width: size.width, height: size.height, pixelAspect: pixelAspect)
    }

    /// The frame, unless it comes too soon.
    private func admit(_ frame: VideoFrame) -> VideoFrame? {
        gate.withLock { gate in
            guard let limit = gate.limit else { return frame }
            guard gate.admits(frame) else { return nil }
            var result = frame
            gate.accumulator.flush(into: &result)
            if let rate = frame.estimatedFrameRate, rate > limit { result.estimatedFrameRate = limit }
            return result
        }
    }
}
