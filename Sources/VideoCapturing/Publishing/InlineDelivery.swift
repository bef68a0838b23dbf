/// Has a consumer called on the capture's own thread, for each frame, in place of a thread of the consumer's.
///
/// For work that takes nearly all of the time, behind a source that takes hardly any and can wait: encoding a raw file
/// that is read as fast as possible.
///
/// ```swift
/// try publisher.add(InlineDelivery(encoding), queue: .init(capacity: 1, policy: .block))
/// ```
///
/// Two threads overlap by no more than the little that the source takes, and the pixels of each frame move from one
/// processor's cache to another's: on one thread a raw clip becomes VP8 in up to 2 % more time, for 1 to 4 % less CPU. Behind
/// a live source frames are lost while the consumer works, and all other consumers wait for it; there, and where a
/// source decodes, use a separate thread.
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
