import FrameProcessing
import VideoCapturing

/// Turns frames upright and brings them to one pixel format, once for all the consumers that want it so.
///
/// Each consumer has its own thread and is at its own place in the stream, so the last few results are kept: the
/// first who comes for a frame has it converted, the others wait for that. Safe to use from any thread.
final class SharedConverter: Sendable {
    private struct Slot {
        let source: PixelBuffer
        let result: VideoFrame
    }

    private let transform: FrameTransform
    private let processor = FrameProcessor()
    private let slots: Locked<[Slot?]>
    private let isShared: Bool

    /// - Parameters:
    ///   - pixelFormat: the format of the results; nil to keep that of the frames.
    ///   - userCount: how many consumers ask for each frame.
    ///   - reach: how many frames apart the consumers may be.
    init(pixelFormat: PixelFormat?, userCount: Int, reach: Int) {
        transform = FrameTransform(makesUpright: true, pixelFormat: pixelFormat)
        isShared = userCount > 1
        slots = Locked([Slot?](repeating: nil, count: max(1, reach)))
    }

    /// The frame as it is wanted; the very same where there is nothing to do.
    func convert(_ frame: VideoFrame) throws(CaptureError) -> VideoFrame {
        let isRight = transform.pixelFormat.map { $0 == frame.pixelFormat } ?? true
        if isRight, frame.orientation == .up { return frame }
        guard isShared else { return try processor.apply(transform, to: frame) }
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

/// Stands between a queue and a consumer that wants its frames in one format, and in the size of the first.
final class ConvertingConsumer: FeedbackConsumer {
    private let converter: SharedConverter
    private let next: any VideoCaptureConsumer
    private let hasFailed = Locked(false)
    private let size = Locked<PixelSize?>(nil)
    private let fitter = FrameFitter()
    private let passesFeedback: Bool
    private let onFailure: @Sendable (any Error) -> Void

    /// - Parameters:
    ///   - passesFeedback: whether the capture is connected to what the consumer wants.
    ///   - onFailure: called once at the most; no frame is passed on after it.
    init(
        _ converter: SharedConverter, to next: any VideoCaptureConsumer, passesFeedback: Bool = true,
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
