import FrameProcessing
import MediaContainers
import VP8Codec
import VideoCapturing

/// The way of the frames of one run:
/// ```
///                 ┌─ queue ─▶ converter ─▶ VP8 encoder ─▶ webm, ivf …
/// capture ─▶ publisher ─ queue ─▶ converter ─▶ y4m        (one converter for each pixel format)
///                 ├─ queue ─▶ md5
///                 └─ newest ─▶ MJPEG server ─▶ viewers
/// ```
/// Every queue but the server's waits, so that each file gets each frame.
final class Pipeline: Sendable {
    let capture: LimitedCapture
    let publisher: VideoPublisher
    let writers: [OutputWriter]
    let encoder: EncodingConsumer?
    /// The bitrate that the encoder aims at.
    let bitrate: Int?
    /// Who shows the pictures to viewers.
    let serving: ServingOutput?
    private let encoderSubscription: PublisherSubscription?
    private let frameOutputs: [FrameOutput]

    /// The frames that may wait for an output. A source with a rate of its own needs room for an output that falters,
    /// and a decoder with threads for pictures that come in bursts; a picture that is made when it is asked for only
    /// leaves the cache by waiting.
    private static func queue(_ plan: CapturePlan) -> VideoPublisher.QueueSettings {
        let isMadeOnDemand = plan.request.rate == .maximum && plan.request.input == nil
        return VideoPublisher.QueueSettings(capacity: isMadeOnDemand ? 1 : 4, policy: .wait)
    }

    private struct FrameOutput: Sendable {
        let index: Int
        let consumer: FrameWritingConsumer
        let subscription: PublisherSubscription
    }

    /// - Parameters:
    ///   - capture: initialized, so that its format is known.
    ///   - rate: what the encoder plans for.
    ///   - events: where failures go.
    /// - Throws: `CodecError` for settings that the encoder does not take, `MJPEGServerError` for an address that cannot
    ///   be served, `CaptureError` without threads.
    init(
        _ capture: LimitedCapture, writers: [OutputWriter], plan: CapturePlan, rate: FrameRate, events: RunEvents
    ) throws {
        let format = capture.captureSettings().format
        let publisher = VideoPublisher(capture)
        // A screen gives no frames while nothing changes: players, and viewers who come late, are given a beat.
        if [.text, .detail].contains(capture.videoContentHint) { publisher.minimumFrameRate = FrameRate(1, per: 2) }
        let queue = Pipeline.queue(plan)
        let targets = writers.map { writer -> PixelFormat? in
            writer.name.isEncoded ? Pipeline.encoderFormat(for: format.pixelFormat) : writer.name.format.pixelFormat
        }
        // All encoded outputs are one consumer.
        let encoded = writers.indices.filter { writers[$0].name.isEncoded }
        let consumers = writers.indices.filter { !writers[$0].name.isEncoded } + encoded.prefix(1)
        var converters: [PixelFormat?: SharedConverter] = [:]
        for target in Set(consumers.map { targets[$0] }) {
            converters[target] = SharedConverter(
                pixelFormat: target, userCount: consumers.filter { targets[$0] == target }.count,
                reach: queue.capacity + 4)
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
            // What is read as fast as possible has no time of its own in which a frame could be refined.
            encoderSubscription = try publisher.add(
                ConvertingConsumer(converter, to: encoding, passesFeedback: plan.request.rate != .maximum) { error in
                    events.post(RunEvents.Failure(output: nil, error: error))
                }, name: "vp8", queue: queue)
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
            // What keeps no picture takes them as they are, on the capture's thread.
            let entry: any VideoCaptureConsumer =
                writer.isImmediate ? consumer : ConvertingConsumer(converter, to: consumer, onFailure: fail)
            let subscription = try publisher.add(entry, name: writers[index].name.format.name, queue: queue)
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

    /// What the encoder is to be given: NV12 and I420 as they are.
    private static func encoderFormat(for source: PixelFormat) -> PixelFormat {
        source == .nv12 || source == .i420 ? source : .i420
    }

    /// Completes every file; what fails is posted. After the publisher's stop.
    ///
    /// - Parameter end: the time up to which the last frame is shown; nil when only the frames tell.
    func finish(_ events: RunEvents, at end: MediaTime? = nil) {
        serving?.stop()
        encoder?.finish()
        for output in frameOutputs where output.consumer.isActive {
            do { try output.consumer.finish(at: end) } catch {
                events.post(RunEvents.Failure(output: output.index, error: error))
            }
        }
    }

    /// Whether any output is still being written or served.
    var isActive: Bool {
        encoder?.isActive ?? false || serving != nil || frameOutputs.contains { $0.consumer.isActive }
    }

    /// What each consumer at the publisher has counted; the encoder first.
    var consumers: [ConsumerStatistics] {
        let files = ([encoderSubscription] + frameOutputs.map(\.subscription)).compactMap { $0?.statistics }
        return files + (serving.map { [$0.consumer] } ?? [])
    }
}
