import FrameProcessing
import Synchronization
import VideoCapturing

/// Applies the orientation of frames and converts them to one pixel format, once for all consumers that need it.
///
/// Each consumer has its own thread and its own position in the stream, so the last few results are kept: the first
/// consumer of a frame converts it, the others wait for the result. Safe to use from any thread.
final class FrameConverter: Sendable {
    private struct Slot {
        let source: PixelBuffer
        let result: VideoFrame
    }

    private let transform: FrameTransform
    private let processor = FrameProcessor()
    private let slots: Locked<[Slot?]>
    private let userCount = Atomic(1)

    /// A converter for one consumer.
    ///
    /// - Parameters:
    ///   - pixelFormat: the format of the results; nil to keep that of the frames.
    ///   - reach: the number of frames that the consumers may be apart.
    init(pixelFormat: PixelFormat?, reach: Int) {
        transform = FrameTransform(appliesOrientation: true, pixelFormat: pixelFormat)
        slots = Locked([Slot?](repeating: nil, count: max(1, reach)))
    }

    /// Shares it with one more consumer.
    func addUser() { userCount.add(1, ordering: .relaxed) }

    /// The converted frame; the same frame where no conversion is needed.
    func convert(_ frame: VideoFrame) throws(CaptureError) -> VideoFrame {
        let isRight = transform.pixelFormat.map { $0 == frame.pixelFormat } ?? true
        if isRight, frame.orientation == .up { return frame }
        guard userCount.load(ordering: .relaxed) > 1 else { return try processor.apply(transform, to: frame) }
        return try slots.withLock { (slots) throws(CaptureError) in
            let index = Int(frame.sequenceNumber % UInt64(slots.count))
            if let slot = slots[index], slot.source === frame.buffer, slot.result.timestamp == frame.timestamp {
                return slot.result
            }
            let result = try processor.apply(transform, to: frame)
            slots[index] = Slot(source: frame.buffer, result: result)
            return result
        }
    }
}

/// Converts the frames of a queue for a consumer that needs one format, and the size of the first frame.
final class ConvertingConsumer: FeedbackConsumer {
    private let converter: FrameConverter
    private let next: any VideoCaptureConsumer
    private let hasFailed = Locked(false)
    private let size = Locked<PixelSize?>(nil)
    private let fitter = FrameFitter()
    private let passesFeedback: Bool
    private let onFailure: @Sendable (any Error) -> Void

    /// - Parameters:
    ///   - passesFeedback: whether the consumer's feedback reaches the capture.
    ///   - onFailure: called at most once; no frame is passed on afterwards.
    init(
        _ converter: FrameConverter, to next: any VideoCaptureConsumer, passesFeedback: Bool = true,
        onFailure: @escaping @Sendable (any Error) -> Void
    ) {
        self.passesFeedback = passesFeedback
        self.converter = converter
        self.next = next
        self.onFailure = onFailure
    }

    func connectFeedback(_ feedback: CaptureFeedback?) {
        guard passesFeedback else { return }
        (next as? any FeedbackConsumer)?.connectFeedback(feedback)
    }

    func consumeFrame(_ frame: VideoFrame) {
        guard !hasFailed.withLock({ $0 }) else { return }
        do {
            let converted = try converter.convert(frame)
            let size = size.withLock { size in
                let kept = size ?? PixelSize(width: converted.width, height: converted.height)
                size = kept
                return kept
            }
            next.consumeFrame(try fitter.fit(converted, width: size.width, height: size.height))
        } catch {
            hasFailed.withLock { $0 = true }
            onFailure(error)
        }
    }
}
