/// Calls a consumer for each frame on the capture's own thread, not on a separate one.
///
/// Use it if the consumer takes nearly all of the time, and the source takes little and can wait: encoding a raw file that
/// is read as fast as possible.
///
/// ```swift
/// try publisher.add(InlineDelivery(encoding), queue: .init(capacity: 1, policy: .block))
/// ```
///
/// With two threads only the source's short work overlaps, and each frame's pixels move from one processor's cache to
/// another's. On one thread, encoding a raw clip to VP8 takes up to 2 % more time and 1 to 4 % less CPU. With a live source,
/// frames are lost while the consumer works, and all other consumers wait for it; there, and if the source decodes, use a
/// separate thread.
///
/// A frame that may have to be repeated (`CaptureWants.minimumFrameRate`) is delivered on the consumer's thread, as without
/// inline delivery. As with every ``InlineConsumer``, the consumer must not call the publisher: it reports on another thread
/// that, for example, a file can no longer be written.
public final class InlineDelivery: InlineConsumer, FeedbackConsumer {
    private let consumer: any VideoCaptureConsumer

    /// - Parameter consumer: takes the frames; held for as long as this is.
    public init(_ consumer: any VideoCaptureConsumer) {
        self.consumer = consumer
    }

    public func consumeFrame(_ frame: VideoFrame) { consumer.consumeFrame(frame) }

    public func connectFeedback(_ feedback: CaptureFeedback?) {
        (consumer as? any FeedbackConsumer)?.connectFeedback(feedback)
    }

    public func consumeInline(_ frame: VideoFrame) -> Bool {
        consumer.consumeFrame(frame)
        return true
    }
}
