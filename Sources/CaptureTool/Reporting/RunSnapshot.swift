import FileCapturer
import MJPEGServer
import MediaContainers
import VideoCapturing

/// The state of a run: plain values, to be reported as text or as JSON.
struct RunSnapshot: Sendable {
    struct Consumer: Sendable {
        /// `vp8`, `y4m`, …
        var name: String
        var delivered: UInt64
        var dropped: CaptureStatistics.DropCounts
        var p50Age: Duration?
        var p99Age: Duration?
    }

    struct Output: Sendable {
        var name: OutputName
        var bytes: Int64
        var hasFailed = false
        /// The checksum, once it is known.
        var digest: String?
        /// The repeated and dropped frames of a format with a constant frame rate; nil for other formats.
        var constantRate: ConstantRateWriter.Statistics?
    }

    /// The time since the start, by the clock.
    var elapsed: Duration
    var source: String
    var width: Int
    var height: Int
    var pixelFormat: PixelFormat
    var orientation = VideoOrientation.up
    /// The requested rate; nil for the source's own rate, or as fast as possible.
    var askedRate: FrameRate?
    /// Whether it runs as fast as possible.
    var isHurried = false
    /// The measured rate of the last frames.
    var measuredRate: FrameRate?
    /// The number of frames that were passed to the outputs.
    var captured: UInt64
    /// The duration of those frames, by their timestamps.
    var capturedTime: Duration
    /// Frames that the source or the capture has lost.
    var lost: CaptureStatistics.DropCounts
    /// Whether the source is interrupted.
    var isInterrupted = false
    /// The playback progress of a file; nil for other sources.
    var progress: FileCapturer.Progress?
    var encoding: EncodingConsumer.Statistics?
    /// The target bitrate of the encoder, in bits per second.
    var targetBitrate: Int?
    var consumers: [Consumer]
    var outputs: [Output]
    /// The URL of the server; nil without one.
    var url: String?
    /// The statistics of the server; nil without one.
    var serving: MJPEGServer.Statistics?

    /// The time from a frame's timestamp to its packet; where nothing is encoded, to the slowest consumer.
    var latency: (p50: Duration, p99: Duration)? {
        if let encoding, let p50 = encoding.p50Latency, let p99 = encoding.p99Latency {
            return (p50, p99)
        }
        let ages = consumers.compactMap { consumer in consumer.p50Age.map { ($0, consumer.p99Age ?? $0) } }
        return ages.max { $0.1 < $1.1 }
    }

    /// The frame size of the outputs, after rotation.
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
                p50Age: consumer.p50Age, p99Age: consumer.p99Age)
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

/// The report lines of a file that is played, for fuzzing only.
@_spi(Fuzzing)
public enum ReportProbe {
    /// The lines that a run may write, with numbers from the file.
    ///
    /// - Parameters:
    ///   - capture: the capture of the file.
    ///   - time: the time from the first to the last timestamp.
    public static func lines(_ capture: FileCapturer, time: Duration) -> [String] {
        let format = capture.captureSettings().format
        let statistics = capture.statistics
        let run = RunSnapshot(
            elapsed: time, source: capture.sourceDescription, width: format.imageWidth, height: format.imageHeight,
            pixelFormat: format.pixelFormat, askedRate: format.estimatedFramesPerSecond,
            measuredRate: statistics.measuredFrameRate, captured: statistics.framesDelivered, capturedTime: time,
            lost: statistics.framesDropped, progress: capture.progress, consumers: [], outputs: [])
        return [
            StatisticsJSON.line("status", run), StatusLine(run).text(columns: 80), Summary.beginning(run),
            Summary.captureLine(run),
        ]
    }
}
