import FrameProcessing
import MediaContainers
import VP8Codec
import VideoCapturing

/// The data flow of one run:
/// ```
///                 ┌─ queue ─▶ converter ─▶ VP8 encoder ─▶ webm, ivf …
/// capture ─▶ publisher ─ queue ─▶ converter ─▶ y4m        (one converter for each pixel format)
///                 ├─ queue ─▶ md5
///                 └─ newest ─▶ MJPEG server ─▶ viewers
/// ```
/// Every queue but the server's blocks, so that each file gets each frame. When there are several outputs, one that has
/// stalled is abandoned.
final class Pipeline: Sendable {
    let capture: LimitedCapture
    let publisher: VideoPublisher
    let writers: [OutputWriter]
    let encoder: EncodingConsumer?
    /// The target bitrate of the encoder.
    let bitrate: Int?
    /// The server; nil without `--serve`.
    let serving: ServingOutput?
    private let encoderSubscription: PublisherSubscription?
    private let frameOutputs: [FrameOutput]
    /// The outputs whose stall has been reported; nil is the encoder.
    private let postedStalls = Locked<Set<Int?>>([])

    /// How long a disk may take to answer. A pipe has its own timeout, which counts bytes and not frames.
    private let diskTimeout: Duration

    /// The queue of an output. A source with its own rate needs room for an output that is slow at times, and a
    /// threaded decoder for frames that arrive in bursts; a frame that is produced on demand would only drop out of the
    /// processor's cache while it waits.
    ///
    /// - Parameter outputs: what the consumer behind the queue writes.
    private static func queue(
        _ plan: CapturePlan, _ outputs: [OutputWriter], _ diskTimeout: Duration
    ) -> VideoPublisher.QueueSettings {
        let isMadeOnDemand = plan.request.rate == .maximum && plan.request.input == nil
        let isBounded = plan.hasSeveralOutputs && !outputs.contains { $0.file?.waitsForReader ?? false }
        return VideoPublisher.QueueSettings(
            capacity: isMadeOnDemand ? 1 : 4, policy: .block, timeout: isBounded ? diskTimeout : nil)
    }

    private struct FrameOutput: Sendable {
        let index: Int
        let consumer: FrameWritingConsumer
        let subscription: PublisherSubscription

        /// Whether a call of the consumer is blocked; it must not be called then.
        var isStalled: Bool { subscription.statistics.isStalled }
    }

    /// - Parameters:
    ///   - capture: initialized, so that its format is known.
    ///   - rate: the frame rate that the encoder is configured for.
    ///   - events: where failures are posted.
    ///   - diskTimeout: how long the disk of one of several outputs may take to answer.
    /// - Throws: `CodecError` for settings that the encoder does not take, `MJPEGServerError` for an address that
    ///   cannot be served, `CaptureError` without threads.
    init(
        _ capture: LimitedCapture, writers: [OutputWriter], plan: CapturePlan, rate: FrameRate, events: RunEvents,
        diskTimeout: Duration = .seconds(30)
    ) throws {
        self.diskTimeout = diskTimeout
        let format = capture.captureSettings().format
        let publisher = VideoPublisher(capture)
        // A screen delivers no frames while nothing changes; players and late viewers get a minimum rate.
        if [.text, .detail].contains(capture.videoContentHint) { publisher.minimumFrameRate = FrameRate(1, per: 2) }
        let capacity = Pipeline.queue(plan, [], diskTimeout).capacity
        let targets = writers.map { writer -> PixelFormat? in
            writer.name.isEncoded ? Pipeline.encoderFormat(for: format.pixelFormat) : writer.name.format.pixelFormat
        }
        // All encoded outputs share one consumer.
        let encoded = writers.indices.filter { writers[$0].name.isEncoded }
        let consumers = writers.indices.filter { !writers[$0].name.isEncoded } + encoded.prefix(1)
        var converters: [PixelFormat?: SharedConverter] = [:]
        for target in Set(consumers.map { targets[$0] }) {
            converters[target] = SharedConverter(
                pixelFormat: target, userCount: consumers.filter { targets[$0] == target }.count,
                reach: capacity + 4)
        }

        var encoder: EncodingConsumer?
        var encoderSubscription: PublisherSubscription?
        var bitrate: Int?
        if let first = encoded.first, let converter = converters[targets[first]] {
            let configuration = plan.encoding.configuration(
                for: format, rate: rate, hint: plan.contentHint ?? capture.videoContentHint)
            bitrate = configuration.bitrate
            let sinks = encoded.compactMap { index -> (name: String, sink: any PacketSink)? in
                guard case .packets(let writer) = writers[index].kind else { return nil }
                return ("\(index)", writer)
            }
            let vp8 = try VP8Encoder(configuration)
            let encoding = EncodingConsumer(vp8, to: sinks) { failure in
                // The names are the numbers of the outputs.
                events.post(RunEvents.Failure(output: failure.sink.flatMap { Int($0) }, error: failure.error))
            }
            encoder = encoding
            // A source that is read as fast as possible leaves no time to refine a frame.
            encoderSubscription = try publisher.add(
                ConvertingConsumer(converter, to: encoding, passesFeedback: plan.request.rate != .maximum) { error in
                    events.post(RunEvents.Failure(output: nil, error: error))
                }, name: "vp8", queue: Pipeline.queue(plan, encoded.map { writers[$0] }, diskTimeout))
        }
        var frameOutputs: [FrameOutput] = []
        for index in writers.indices {
            guard case .frames(let writer) = writers[index].kind, let converter = converters[targets[index]] else {
                continue
            }
            let fail: @Sendable (any Error) -> Void = { error in
                events.post(RunEvents.Failure(output: index, error: error))
            }
            let consumer = FrameWritingConsumer(writer, onFailure: fail)
            // A writer that keeps no frame gets the frames as they are, on the capture's thread.
            let entry: any VideoCaptureConsumer =
                writer.acceptsInlineDelivery ? consumer : ConvertingConsumer(converter, to: consumer, onFailure: fail)
            let subscription = try publisher.add(
                entry, name: writers[index].name.format.name, queue: Pipeline.queue(plan, [writers[index]], diskTimeout)
            )
            frameOutputs.append(FrameOutput(index: index, consumer: consumer, subscription: subscription))
        }
        serving = try plan.serving.map { try ServingOutput($0, at: publisher, events: events) }
        self.capture = capture
        self.publisher = publisher
        self.writers = writers
        self.encoder = encoder
        self.bitrate = bitrate
        self.encoderSubscription = encoderSubscription
        self.frameOutputs = frameOutputs
    }

    /// The pixel format for the encoder: NV12 and I420 are encoded as they are.
    private static func encoderFormat(for source: PixelFormat) -> PixelFormat {
        source == .nv12 || source == .i420 ? source : .i420
    }

    /// Completes every file, and posts failures. Call it after the publisher's stop.
    ///
    /// - Parameter end: the end of the last frame; nil when it follows from the frames alone.
    func finish(_ events: RunEvents, at end: MediaTime? = nil) {
        serving?.stop()
        postStalls(events)
        if !isEncoderStalled { encoder?.finish() }
        for output in frameOutputs where !output.isStalled && output.consumer.isActive {
            do { try output.consumer.finish(at: end) } catch {
                events.post(RunEvents.Failure(output: output.index, error: error))
            }
        }
    }

    /// Whether any output is still being written or served.
    var isActive: Bool {
        (encoder?.isActive ?? false && !isEncoderStalled) || serving != nil
            || frameOutputs.contains { !$0.isStalled && $0.consumer.isActive }
    }

    /// Posts a failure for each output whose disk does not answer, once for each.
    func postStalls(_ events: RunEvents) {
        var stalled = frameOutputs.filter(\.isStalled).map { ($0.index as Int?, $0.subscription.name) }
        if isEncoderStalled { stalled.append((nil, "vp8")) }
        for (output, name) in stalled where postedStalls.withLock({ $0.insert(output).inserted }) {
            let error = MediaFileError(
                .stalled, operation: "write", subject: output.map { writers[$0].name.displayName } ?? name,
                message: "The disk has not answered for \(diskTimeout); later frames are not written. Check the disk."
            )
            events.post(RunEvents.Failure(output: output, error: error))
        }
    }

    /// Stops passing frames to an output that has failed, so that none are counted as written; nil is the encoder. The
    /// encoder itself stops writing to an output of its own that has failed.
    func removeConsumer(of output: Int?) {
        let failed = frameOutputs.first { $0.index == output }?.subscription
        if let subscription = output == nil ? encoderSubscription : failed { publisher.remove(subscription) }
    }

    private var isEncoderStalled: Bool { encoderSubscription?.statistics.isStalled ?? false }

    /// The statistics of each consumer of the publisher; the encoder first.
    var consumers: [PublisherStatistics.Consumer] {
        let files = ([encoderSubscription] + frameOutputs.map(\.subscription)).compactMap { $0?.statistics }
        return files + (serving.map { [$0.consumer] } ?? [])
    }
}
