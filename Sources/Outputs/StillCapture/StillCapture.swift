public import VideoCapturing

/// Takes photographs from a running capture: single ones and bursts. The publisher's other consumers continue.
///
/// ```swift
/// let stills = StillCapture()
/// try stills.attach(to: publisher)
/// let still = try await stills.capture()                       // the frame nearest to this moment
/// for try await event in stills.burst(count: 20) {              // each frame of the capture, none twice
///     if case .still(let still) = event { try file.write(still) }
/// }
/// ```
/// The last frames are kept. So a request gets the frame that is nearest to it in time, even if it was captured before;
/// ``Still/offset`` states the distance. Encoding runs on separate threads. The capture and the other consumers are not
/// delayed. As long as no request has wants (``Still/Settings/wants``), the capture follows the wants of the other
/// consumers.
///
/// Safe to use from any thread.
public final class StillCapture: InlineConsumer, FeedbackConsumer {
    /// Limits and names. Values out of range are clamped.
    public struct Configuration: Sendable, Hashable {
        /// How many stills may be asked for and not be received yet; at least 1.
        public var outstandingLimit: Int
        /// How many of the last frames are kept; at least 1. More than a camera has buffers to spare (`bufferCount` less
        /// three) makes the camera copy each frame.
        public var ringCapacity: Int
        /// How many bytes these frames may have; the newest is kept even if it has more.
        public var ringByteLimit: Int
        /// How many threads encode; at least 1.
        public var workerCount: Int
        /// After how many failures in a row a burst ends; at least 1.
        public var failureLimit: Int
        /// The maker of the camera, for EXIF; nil, the default, for none: no driver reports it.
        public var cameraMake: String?
        /// The camera, for EXIF; nil, the default, for the name of the capture's source.
        public var cameraModel: String?
        /// The program, for EXIF.
        public var software: String

        /// A configuration; see the properties.
        public init(
            outstandingLimit: Int = 10, ringCapacity: Int = 3, ringByteLimit: Int = 64 << 20, workerCount: Int = 2,
            failureLimit: Int = 10, cameraMake: String? = nil, cameraModel: String? = nil,
            software: String = "swift-video-capturing"
        ) {
            self.outstandingLimit = max(1, outstandingLimit)
            self.ringCapacity = max(1, ringCapacity)
            self.ringByteLimit = max(0, ringByteLimit)
            self.workerCount = max(1, workerCount)
            self.failureLimit = max(1, failureLimit)
            self.cameraMake = cameraMake
            self.cameraModel = cameraModel
            self.software = software
        }
    }

    /// Whether a request would be served now. More cases may be added.
    public enum Readiness: String, Sendable, Hashable, CaseIterable {
        /// The capture does not run; a request is refused.
        case notRunning
        /// A request is served at once.
        case ready
        /// The capture starts, or is interrupted; a request waits until it delivers.
        case notReadyMomentarily
        /// The limit is reached, and requests wait for their frames.
        case waitingForCapture
        /// The limit is reached, and stills wait to be encoded or received.
        case waitingForProcessing
    }

    /// What happens during a burst, in order. More cases may be added.
    public enum BurstEvent: Sendable {
        /// One of the stills that were asked for.
        case still(Still)
        /// A still could not be made; another frame is taken in its place.
        case failed(StillCaptureError)
        /// The capture was interrupted, has stopped, or runs again. The burst goes on with the frames that come, and while
        /// none do, its ticks are skipped.
        case captureChanged(CaptureState)
        /// The publisher has another capture.
        case captureReplaced
        /// The burst is complete; the last event.
        case finished(BurstSummary)
    }

    /// Statistics of a burst.
    public struct BurstSummary: Sendable, Hashable {
        /// Frames that were asked for, those for failed stills included.
        public var requested = 0
        /// Stills that were delivered.
        public var captured = 0
        /// Stills that could not be made.
        public var failed = 0
        /// Ticks at which nothing was asked for, since the limit was reached or the capture did not run.
        public var skipped = 0

        /// Nothing yet.
        public init() {}
    }

    /// The configuration that it was made with.
    public let configuration: Configuration

    let engine: StillEngine

    /// Makes one that takes frames from nowhere yet.
    ///
    /// - Parameters:
    ///   - configuration: limits and names.
    ///   - clock: what ticks and requests are timed by; that of the frames' timestamps.
    public init(configuration: Configuration = Configuration(), clock: any CaptureClock = MonotonicClock()) {
        self.configuration = configuration
        engine = StillEngine(configuration, clock: clock)
    }

    deinit { engine.close() }

    // MARK: The capture

    /// Takes the frames of a publisher from now on.
    ///
    /// - Returns: the subscription, by which to remove it.
    /// - Throws: `invalidState` while attached to a publisher already; the errors of `VideoPublisher.add`.
    @discardableResult
    public func attach(
        to publisher: VideoPublisher, name: String = "stills"
    ) throws(CaptureError) -> PublisherSubscription {
        guard engine.beginAttaching() else {
            throw CaptureError(
                .invalidState, operation: "attach stills", subject: name,
                message: "They are attached to a publisher already; remove them there, or make others.")
        }
        do throws(CaptureError) {
            let subscription = try publisher.add(self, name: name, queue: .init(capacity: 1, policy: .dropOldest))
            engine.attach(publisher)
            return subscription
        } catch {
            engine.detach()
            throw error
        }
    }

    /// Takes a frame, and hands it to the requests that wait for it.
    public func consumeFrame(_ frame: VideoFrame) { engine.consume(frame) }

    /// Takes a frame; nothing is encoded on the calling thread.
    ///
    /// - Returns: true always.
    public func consumeInline(_ frame: VideoFrame) -> Bool {
        engine.consume(frame)
        return true
    }

    /// Sets where wants are reported. A publisher calls it; nil ends all requests.
    public func connectFeedback(_ feedback: CaptureFeedback?) {
        if let feedback { engine.connect(feedback) } else { engine.detach() }
    }

    // MARK: Stills

    /// Takes one still: the frame nearest to this moment, or one of ``Still/Settings/size``.
    ///
    /// - Parameter settings: how it is taken and encoded.
    /// - Throws: `CancellationError` when the task is cancelled; ``StillCaptureError`` with `invalidConfiguration`,
    ///   `notRunning`, `tooManyRequests`, `timedOut`, `corruptFrame`, `encoding`, `outOfMemory`; `control` where the
    ///   capture cannot deliver the size.
    public func capture(_ settings: Still.Settings = Still.Settings()) async throws -> Still {
        try settings.validate()
        if let size = settings.size, engine.needsOtherMode(settings) {
            return try await engine.takeSized(settings, of: size)
        }
        return try await engine.takeSingle(settings) { .still($0) }
    }

    /// Takes the frame nearest to this moment as it is, for a caller that encodes it.
    ///
    /// - Parameter settings: of which those that say which frame is taken count.
    /// - Throws: as ``capture(_:)``.
    public func frame(_ settings: Still.Settings = Still.Settings()) async throws -> VideoFrame {
        try settings.validate()
        return try await engine.takeSingle(settings) { .frame($0) }
    }

    /// Makes requests wait for the next frame, because earlier frames are out of date. For programs that pass
    /// frames by ``consumeFrame(_:)``; otherwise the state of the publisher's capture is followed.
    ///
    /// - Parameter state: the state that bursts report.
    public func interrupt(_ state: CaptureState) { engine.interrupt(state) }

    /// Takes stills until there are `count` of them, from now on; the stream need not be read yet.
    ///
    /// With an interval, still k is asked for exactly k intervals after the first. A tick is skipped while the limit is
    /// reached or the capture does not run. Without one each frame of the capture is asked for, the newest one included. No
    /// frame is delivered twice. What fails is tried again with a later frame. Stills that were not read from the stream yet
    /// count as outstanding, so a reader that is slow makes the burst slow, and not large.
    ///
    /// Cancelling the task that reads the stream ends the burst, and so does releasing the stream.
    ///
    /// - Parameters:
    ///   - count: the number of stills; at least 1.
    ///   - interval: the time from still to still; nil for that from frame to frame.
    ///   - settings: how each is taken and encoded.
    /// - Returns: the events, in order. It throws ``StillCaptureError``: `invalidConfiguration` at the beginning;
    ///   after the summary, the error that occurred repeatedly, or `notRunning` when the publisher has gone.
    public func burst(
        count: Int, interval: Duration? = nil, settings: Still.Settings = Still.Settings()
    ) -> AsyncThrowingStream<BurstEvent, any Error> {
        let handle = BurstHandle(
            engine,
            Result { () throws(StillCaptureError) in
                try settings.validate()
                return try engine.startBurst(count: count, interval: interval, settings)
            })
        return AsyncThrowingStream { try await handle.next() }
    }

    /// Takes one still for each adjustment of the capture's device: a bracket of exposures, gains or distances.
    ///
    /// Before each, the values are set, and ``Still/Settings/skippedFrames`` are passed over, three at least, until they
    /// show. After the last one, and after a failure or a cancellation, they are what they were. The other consumers get the
    /// frames of the bracket too. One bracket at a time.
    ///
    /// Cancelling the task that reads the stream ends the bracket, and so does releasing the stream.
    ///
    /// - Parameters:
    ///   - shots: the controls for each still; at most as many as may be outstanding.
    ///   - settings: how each is taken and encoded.
    /// - Returns: the stills, in order. It throws ``StillCaptureError``: as ``capture(_:)``, `control` where the capture
    ///   cannot be adjusted or its device does not take a value, and `tooManyRequests` during another bracket.
    public func bracket(
        _ shots: [CaptureAdjustment], settings: Still.Settings = Still.Settings()
    ) -> AsyncThrowingStream<Still, any Error> {
        let (stream, continuation) = AsyncThrowingStream<Still, any Error>.makeStream()
        do throws(StillCaptureError) {
            try settings.validate()
            try engine.startBracket(shots, settings, continuation)
        } catch {
            continuation.finish(throwing: error)
        }
        return stream
    }

    /// Whether a request would be served now.
    public var readiness: Readiness { engine.state.withLock { $0.readiness } }

    /// A new stream of the readiness: the present one, then each change; a slow reader gets only the
    /// last. It ends when the object is destroyed.
    public func readinessChanges() -> AsyncStream<Readiness> { engine.readinessChanges() }
}

/// Ends a burst when its stream is released.
private final class BurstHandle: Sendable {
    let engine: StillEngine
    private let burst: Result<UInt64, StillCaptureError>

    init(_ engine: StillEngine, _ burst: Result<UInt64, StillCaptureError>) {
        self.engine = engine
        self.burst = burst
    }

    deinit {
        if case .success(let identifier) = burst { engine.cancelBurst(identifier) }
    }

    func next() async throws -> StillCapture.BurstEvent? { try await engine.nextEvent(ofBurst: try burst.get()) }
}
