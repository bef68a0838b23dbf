/// The minimum of a custom capturer: a type that returns the next frame.
///
/// A ``SourceCapturer`` drives it and adds thread, pacing, states, errors, restart and statistics. All
/// functions are called on one thread, the capturer's own, one at a time, in the order
/// open → (start → nextFrame* → stop)* → close; so a source needs no lock. Only ``nextFrame(_:)`` and the
/// settings must be written.
public protocol FrameSource {
    /// The settings that the source delivers: before ``open()`` the requested ones, after it the final ones.
    var settings: CaptureSettings { get }

    /// When frames are due. The default is the rate in ``settings``, or ``FramePacing/unpaced`` without one.
    var pacing: FramePacing { get }

    /// What kind of pictures these are; the default is ``VideoContentHint/none``.
    var contentHint: VideoContentHint { get }

    /// Acquires the device or file. What it throws is thrown by `initCapture`; ``close()`` is not called then.
    mutating func open() throws

    /// As ``open()``, for a source that may have to wait indefinitely: a release meanwhile makes
    /// ``FrameContext/isStopping`` true, and the source then throws. The default calls ``open()``.
    mutating func open(_ context: FrameContext) throws

    /// Makes the device stream. What it throws is thrown by `startCapture`.
    mutating func start(_ context: FrameContext) throws

    /// The next frame; nil when there are no more. What it throws stops the capture with that error.
    ///
    /// May block indefinitely, if it ends its wait when ``FrameContext/isStopping`` becomes true: sleep with
    /// ``FrameContext/wait(until:endsForWants:)``, wait for a device, a socket or a pipe with
    /// ``FrameContext/waitForInput(_:atMost:)``, or poll ``FrameContext/stopDescriptor`` in addition to several of
    /// them. What it returns after that is not delivered.
    ///
    /// A source that waits for long ends its wait when ``FrameContext/mustReturn`` is true, as `waitForInput` does, and
    /// returns nil: that is not the end then, and the source is called again once it has adapted.
    mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame?

    /// Returns the last frame, which a stop overtook before it was delivered, to a source that goes on where it was
    /// stopped, so that it can deliver it again. Its losses are counted already. The default discards it.
    mutating func pushBack(_ frame: SourceFrame)

    /// Lets the device rest. Also called after an error and after the end of the stream.
    mutating func stop()

    /// Releases the device or file.
    mutating func close()

    /// Takes what consumers ask for, before the next frame. The rate of a paced source is handled by the
    /// capturer. The default does nothing.
    mutating func adapt(to wants: CaptureWants)

    /// A consumer needs a complete fresh frame from which it can begin: a source that delivers changes only makes its
    /// next frame whole, and delivers one soon. The default does nothing.
    mutating func refresh()
}

extension FrameSource {
    public var pacing: FramePacing { settings.format.estimatedFramesPerSecond.map { .rate($0) } ?? .unpaced }
    public var contentHint: VideoContentHint { .none }
    public mutating func open() {}
    public mutating func open(_ context: FrameContext) throws { try open() }
    public mutating func start(_ context: FrameContext) {}
    public mutating func pushBack(_ frame: SourceFrame) {}
    public mutating func stop() {}
    public mutating func close() {}
    public mutating func adapt(to wants: CaptureWants) {}
    public mutating func refresh() {}
}

/// When the frames of a source are due.
public enum FramePacing: Sendable, Hashable {
    /// At fixed times, `FrameRate/time(ofFrame:)` after the start. A frame's timestamp is the time when it
    /// was due. Times that have passed are left out and counted, never made up for in a burst.
    case rate(FrameRate)
    /// As fast as the source gives them and the consumer takes them; the timestamp is the time of
    /// ``FrameSource/nextFrame(_:)``'s call.
    case unpaced
    /// At the source's own times (``SourceFrame/timestamp``), counted from its first frame: a file.
    case sourceTimestamps
    /// As ``sourceTimestamps``, but without waiting: the timestamps keep the source's spacing and may run
    /// ahead of the clock. For converting a file as fast as possible.
    case sourceTimestampsWithoutWaiting
    /// The source itself waits for its device. Its timestamps, if it gives any, are of the monotonic
    /// clock and are kept: a camera, a screen.
    case device
}

/// A frame of a source; the capturer adds the other members of a ``VideoFrame``.
public struct SourceFrame: AttributedFrame {
    /// The pixels.
    public var buffer: PixelBuffer
    /// The same picture as the source has it, compressed; nil without one, or when ``buffer`` is compressed itself.
    public var compressed: PixelBuffer?
    /// The time on the source's own scale, or on the monotonic clock, as its ``FramePacing`` says; nil to
    /// take the time of the call.
    public var timestamp: MediaTime?
    /// How many frames the source or driver has lost just before this one.
    public var lostBefore: UInt64 = 0
    /// How many damaged frames the source has left out just before this one.
    public var corruptBefore: UInt64 = 0
    /// The only parts that differ from the frame before; nil when unknown.
    public var damage: [PixelRect]?
    /// Whether the frame shows the picture of the frame before it again.
    public var isRepeat = false
    /// Its attributes: orientation, color, delay, metadata. The capturer measures the rate.
    public var attributes: FrameAttributes
}

extension SourceFrame {
    // In an extension, so that there is a derived initializer: see the one of `VideoFrame`.
    /// A frame with a buffer's pixels, upright, in the color that is usual in its pixel format.
    public init(_ buffer: PixelBuffer, timestamp: MediaTime? = nil) {
        self.init(
            buffer: buffer, timestamp: timestamp,
            attributes: FrameAttributes(color: .assumed(for: buffer.pixelFormat)))
    }
}
