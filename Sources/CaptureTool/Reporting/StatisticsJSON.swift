import FileCapturer
import MJPEGServer
import MediaContainers
import VideoCapturing

/// One line of statistics for programs. `version` is raised when a member changes its meaning or is removed; new
/// members may be added at any time.
///
/// Events: `start`, `status` each second, `notice`, `warning`, `error`, and `summary`, the last line.
enum StatisticsJSON {
    static let version: Int64 = 1

    static func line(_ event: String, _ run: RunSnapshot) -> String {
        JSONValue.object([
            ("version", .integer(version)), ("event", .string(event)),
            ("elapsedSeconds", .number(run.elapsed.seconds)),
            ("source", .string(run.source)), ("interrupted", .bool(run.isInterrupted)),
            ("width", .integer(Int64(run.width))),
            ("height", .integer(Int64(run.height))), ("pixelFormat", .string(run.pixelFormat.rawValue)),
            ("orientationDegrees", .integer(Int64(run.orientation.clockwiseDegrees))),
            ("framesPerSecondAsked", rate(run.askedRate)), ("framesPerSecondMeasured", rate(run.measuredRate)),
            (
                "capture",
                .object([
                    ("frames", .count(run.captured)), ("seconds", .number(run.capturedTime.seconds)),
                    ("dropped", drops(run.lost)),
                ])
            ),
            ("progress", run.progress.map(progress) ?? .null),
            ("encoder", run.encoding.map { encoder($0, run) } ?? .null),
            ("consumers", .array(run.consumers.map(consumer))), ("outputs", .array(run.outputs.map(output))),
            ("serving", run.serving.map { serving($0, url: run.url ?? "") } ?? .null),
        ]).text
    }

    static func error(_ message: String, isWarning: Bool = false, output: String? = nil) -> String {
        JSONValue.object([
            ("version", .integer(version)), ("event", .string(isWarning ? "warning" : "error")),
            ("message", .string(message)), ("output", output.map { .string($0) } ?? .null),
        ]).text
    }

    static func notice(_ message: String) -> String {
        JSONValue.object([
            ("version", .integer(version)), ("event", .string("notice")), ("message", .string(message)),
        ]).text
    }

    private static func progress(_ progress: FileCapturer.Progress) -> JSONValue {
        .object([
            ("positionSeconds", .number(progress.position.seconds)),
            ("durationSeconds", progress.duration.map { .number($0.seconds) } ?? .null),
            ("percent", progress.fraction.map { .number($0 * 100) } ?? .null),
            ("secondsLeft", progress.timeLeft.map { .number($0.seconds) } ?? .null),
        ])
    }

    private static func encoder(_ encoding: EncodingConsumer.Statistics, _ run: RunSnapshot) -> JSONValue {
        .object([
            ("codec", .string("VP8")), ("frames", .count(encoding.framesIn)), ("packets", .count(encoding.packets)),
            ("keyFrames", .count(encoding.keyFrames)), ("dropped", .count(encoding.framesDropped)),
            ("unchanged", .count(encoding.framesUnchanged)),
            ("bytes", .count(encoding.bytes)),
            ("bitsPerSecondAsked", run.targetBitrate.map { .integer(Int64($0)) } ?? .null),
            ("bitsPerSecondMeasured", encoding.bitrate.map { .number($0) } ?? .null),
            ("encodeMillisecondsMedian", milliseconds(encoding.p50EncodeTime)),
            ("encodeMilliseconds99", milliseconds(encoding.p99EncodeTime)),
            ("latencyMillisecondsMedian", milliseconds(encoding.p50Latency)),
            ("latencyMilliseconds99", milliseconds(encoding.p99Latency)),
            ("overheadMilliseconds99", milliseconds(encoding.p99Overhead)),
        ])
    }

    private static func consumer(_ consumer: RunSnapshot.Consumer) -> JSONValue {
        .object([
            ("name", .string(consumer.name)), ("delivered", .count(consumer.delivered)),
            ("dropped", drops(consumer.dropped)), ("ageMillisecondsMedian", milliseconds(consumer.p50Age)),
            ("ageMilliseconds99", milliseconds(consumer.p99Age)),
        ])
    }

    private static func output(_ output: RunSnapshot.Output) -> JSONValue {
        .object([
            ("format", .string(output.name.format.name)), ("path", output.name.path.map { .string($0) } ?? .null),
            ("bytes", .integer(output.bytes)), ("failed", .bool(output.hasFailed)),
            ("md5", output.digest.map { .string($0) } ?? .null),
            ("constantRate", output.constantRate.map(constantRate) ?? .null),
        ])
    }

    private static func constantRate(_ statistics: ConstantRateWriter.Statistics) -> JSONValue {
        .object([
            ("framesPerSecond", rate(statistics.rate)), ("seconds", .number(statistics.duration.seconds)),
            ("frames", .count(statistics.framesWritten)), ("repeated", .count(statistics.framesRepeated)),
            ("dropped", .count(statistics.framesDropped)), ("secondsLeftOut", .number(statistics.timeLeftOut.seconds)),
        ])
    }

    private static func serving(_ serving: MJPEGServer.Statistics, url: String) -> JSONValue {
        .object([
            ("url", .string(url)), ("viewers", .integer(Int64(serving.viewers.count))),
            ("framesEncoded", .count(serving.framesEncoded)),
            ("framesPassedThrough", .count(serving.framesPassedThrough)),
            ("framesSent", .count(serving.framesSent)), ("framesSkipped", .count(serving.framesSkipped)),
            ("bytesSent", .count(serving.bytesSent)),
            ("latencyMillisecondsMedian", milliseconds(serving.p50Latency)),
            ("latencyMilliseconds99", milliseconds(serving.p99Latency)),
        ])
    }

    private static func drops(_ counts: CaptureStatistics.DropCounts) -> JSONValue {
        .object([
            ("total", .count(counts.total)), ("late", .count(counts.late)), ("source", .count(counts.source)),
            ("corrupt", .count(counts.corrupt)), ("noConsumer", .count(counts.noConsumer)),
            ("replaced", .count(counts.replaced)), ("refused", .count(counts.refused)),
            ("abandoned", .count(counts.abandoned)),
        ])
    }

    private static func rate(_ rate: FrameRate?) -> JSONValue {
        rate.map { .number($0.framesPerSecond) } ?? .null
    }

    private static func milliseconds(_ time: Duration?) -> JSONValue {
        time.map { .number($0.seconds * 1000) } ?? .null
    }
}
