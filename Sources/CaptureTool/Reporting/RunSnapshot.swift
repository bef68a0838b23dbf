import FileCapturer
import MJPEGServer
import MediaContainers
import VideoCapturing

/// What a run has done so far: plain values, to be told in words or in JSON.
struct RunSnapshot: Sendable {
    struct Consumer: Sendable {
        /// `vp8`, `y4m`, …
        var name: String
        var delivered: UInt64
        var dropped: DropCounts
        var medianAge: Duration?
        var ageOf99Percent: Duration?
    }

    struct Output: Sendable {
        var name: OutputName
        var bytes: Int64
        var hasFailed = false
        /// The checksum, once it is known.
        var digest: String?
        /// What was repeated and dropped for a format of a constant rate; nil for the others.
        var constantRate: ConstantRateStatistics?
    }

    /// By the clock, since the start.
    var elapsed: Duration
    var source: String
    var width: Int
    var height: Int
    var pixelFormat: PixelFormat
    var orientation = VideoOrientation.up
    /// The rate asked for; nil for the source's own, or as fast as possible.
    var askedRate: FrameRate?
    /// Whether it goes as fast as possible.
    var isHurried = false
    /// The rate over the last frames.
    var measuredRate: FrameRate?
    /// Frames that went to the outputs.
    var captured: UInt64
    /// By the frames' own times.
    var capturedTime: Duration
    /// Frames that the source or the capture has lost.
    var lost: DropCounts
    /// No frames come for now.
    var isInterrupted = false
    /// How far the playing of a file is; nil for other sources.
    var progress: FileProgress?
    var encoding: EncodingStatistics?
    /// What the encoder aims at, in bits per second.
    var targetBitrate: Int?
    var consumers: [Consumer]
    var outputs: [Output]
    /// Where it is served; nil for nowhere.
    var url: String?
    /// What viewers got.
    var serving: MJPEGServerStatistics?

    /// The time from a frame's timestamp to its packet; where nothing is encoded, to the slowest consumer.
    var latency: (median: Duration, of99Percent: Duration)? {
        if let encoding, let median = encoding.medianLatency, let high = encoding.latencyOf99Percent {
            return (median, high)
        }
        let ages = consumers.compactMap { consumer in consumer.medianAge.map { ($0, consumer.ageOf99Percent ?? $0) } }
        return ages.max { $0.1 < $1.1 }
    }

    /// The size of the pictures in the outputs: upright.
    var outputSize: (width: Int, height: Int) {
        orientation.swapsDimensions ? (height, width) : (width, height)
    }

    /// The mean rate of all frames.
    var meanRate: Double? {
        capturedTime > .zero ? Double(captured) / capturedTime.seconds : nil
    }
}

extension RunSnapshot {
    init(_ pipeline: Pipeline, plan: CapturePlan, elapsed: Duration, failedOutputs: Set<Int>) {
        let format = pipeline.capture.captureSettings().format
        let statistics = pipeline.capture.statistics
        let passed = pipeline.capture.passed
        self.elapsed = elapsed
        source = plan.source.name
        width = format.imageWidth
        height = format.imageHeight
        pixelFormat = format.pixelFormat
        orientation = plan.orientation
        isHurried = plan.request.rate == .maximum
        askedRate = isHurried ? nil : format.estimatedFramesPerSecond
        measuredRate = statistics.measuredFrameRate
        captured = passed.count
        capturedTime = passed.duration
        lost = statistics.framesDropped
        if case .interrupted = pipeline.capture.state { isInterrupted = true }
        var progress = pipeline.capture.fileProgress
        if let duration = plan.duration, plan.request.rate != .maximum {
            let left = max(.zero, duration - passed.duration)
            let fileLeft = progress?.timeLeft ?? left
            progress?.timeLeft = min(left, fileLeft)
        }
        self.progress = progress
        encoding = pipeline.encoder?.statistics
        targetBitrate = pipeline.bitrate
        consumers = pipeline.consumers.map { consumer in
            Consumer(
                name: consumer.name, delivered: consumer.delivered, dropped: consumer.dropped,
                medianAge: consumer.medianAge, ageOf99Percent: consumer.ageOf99Percent)
        }
        url = pipeline.serving?.url
        serving = pipeline.serving?.statistics
        outputs = pipeline.writers.enumerated().map { index, writer in
            Output(
                name: writer.name, bytes: writer.bytesWritten, hasFailed: failedOutputs.contains(index),
                digest: writer.digest, constantRate: writer.constantRate)
        }
    }
}
