import AudioCapturing
import MediaPublishing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One line of statistics for programs. `version` is raised when a member changes its meaning or is removed; new
/// members may be added at any time.
///
/// Events: `start`, `status` each second, `notice`, `warning`, `error`, `recording`, and `summary`, the last line.
enum StatisticsJSON {
    static let version: Int64 = 2

    static func line(_ event: String, _ run: RunSnapshot) -> String {
        JSONValue.object([
            ("version", .integer(version)), ("event", .string(event)),
            ("elapsedSeconds", .number(run.elapsed.seconds)),
            ("source", .string(run.source)), ("interrupted", .bool(run.isInterrupted)),
            ("width", .integer(Int64(run.width))),
            ("height", .integer(Int64(run.height))),
            ("pixelFormat", run.tracks.isEmpty ? .string(run.pixelFormat.rawValue) : .null),
            ("tracks", .array(run.tracks.map { .string($0.codec.rawValue) })),
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
            ("audio", run.sound.map(sound) ?? .null),
            ("encoders", .array(run.encoders.map(encoder))), ("outputs", .array(run.outputs.map(output))),
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

    static func recording(_ event: RecordingEvent) -> String {
        JSONValue.object([
            ("version", .integer(version)), ("event", .string("recording")), ("phase", .string(event.phase.rawValue)),
            ("clip", .count(event.clip)), ("time", .string(utcText(event.date))),
            ("reasons", .array(event.reasons.map { .string($0.rawValue) })),
            ("detail", event.detail.map { .string($0) } ?? .null), ("file", .string(event.path)),
            ("still", event.still.map { .string($0) } ?? .null),
            ("seconds", .number(event.duration.seconds)), ("bytes", .integer(event.bytes)),
            ("error", event.error.map { .string("\($0)") } ?? .null),
        ]).text
    }

    private static func sound(_ sound: SoundSnapshot) -> JSONValue {
        let capture = sound.statistics.capture
        return .object([
            ("source", .string(sound.source)), ("sampleRate", .integer(Int64(sound.format.sampleRate))),
            ("channels", .integer(Int64(sound.format.channels.count))),
            ("interrupted", .bool(sound.isInterrupted)), ("peakDecibels", sound.peak.map { .number($0) } ?? .null),
            ("frames", .count(capture.framesDelivered)), ("lost", .count(capture.framesLost.total)),
            ("sampleRateMeasured", capture.measuredSampleRate.map { .number($0) } ?? .null),
            ("secondsOfSilence", .number(sound.silence)),
            (
                "encoders",
                .array(
                    sound.statistics.encoders.map { encoder in
                        .object([
                            ("name", .string(encoder.name)), ("packets", .count(encoder.encoding.packets)),
                            ("bytes", .count(encoder.encoding.bytes)),
                            ("latencyMilliseconds99", milliseconds(encoder.encoding.p99Latency)),
                        ])
                    })
            ),
        ])
    }

    static func progress(_ progress: PlaybackProgress) -> JSONValue {
        .object([
            ("positionSeconds", .number(progress.position.seconds)),
            ("durationSeconds", progress.duration.map { .number($0.seconds) } ?? .null),
            ("percent", progress.fraction.map { .number($0 * 100) } ?? .null),
            ("secondsLeft", progress.timeLeft.map { .number($0.seconds) } ?? .null),
        ])
    }

    private static func encoder(_ encoder: MediaPublisher.Statistics.Encoder) -> JSONValue {
        let encoding = encoder.encoding
        return .object([
            ("name", .string(encoder.name)), ("codec", .string(encoder.codec.rawValue)),
            ("contentHint", .string(encoder.contentHint.rawValue)),
            ("frames", .count(encoding.framesIn)), ("packets", .count(encoding.packets)),
            ("refinements", .count(encoding.refinements)), ("keyFrames", .count(encoding.keyFrames)),
            ("dropped", .count(encoding.framesDropped)),
            ("unchanged", .count(encoding.framesUnchanged)), ("bytes", .count(encoding.bytes)),
            ("bitsPerSecondAsked", encoder.constantQuantizer == nil ? .count(encoder.targetBitrate) : .null),
            ("constantQuantizer", encoder.constantQuantizer.map { .count($0) } ?? .null),
            ("bitsPerSecondMeasured", encoding.bitrate.map { .number($0) } ?? .null),
            ("encodeMillisecondsMedian", milliseconds(encoding.p50EncodeTime)),
            ("encodeMilliseconds99", milliseconds(encoding.p99EncodeTime)),
            ("latencyMillisecondsMedian", milliseconds(encoding.p50Latency)),
            ("latencyMilliseconds99", milliseconds(encoding.p99Latency)),
            ("overheadMilliseconds99", milliseconds(encoding.p99Overhead)),
            ("consumer", consumer(encoder.consumer)),
        ])
    }

    private static func consumer(_ consumer: VideoPublisher.Statistics.Consumer) -> JSONValue {
        .object([
            ("name", .string(consumer.name)), ("delivered", .count(consumer.delivered)),
            ("dropped", drops(consumer.dropped)), ("ageMillisecondsMedian", milliseconds(consumer.p50Age)),
            ("ageMilliseconds99", milliseconds(consumer.p99Age)),
        ])
    }

    /// The members that every output has, then its own.
    private static func output(_ output: MediaPublisher.Statistics.Output) -> JSONValue {
        .object(
            [
                ("name", .string(output.name)), ("format", .string(output.kind)),
                ("path", output.path.map { .string($0) } ?? .null), ("bytes", .integer(output.statistics.bytes)),
                ("failed", .bool(output.hasFailed)), ("status", output.statistics.status.map { .string($0) } ?? .null),
                ("consumer", output.consumer.map(consumer) ?? .null),
                ("encoder", output.encoder.map { .count($0) } ?? .null),
                ("passedOn", output.passedOn.map(passedOn) ?? .null),
            ] + output.statistics.details)
    }

    private static func passedOn(_ passed: MediaPublisher.Statistics.PassedOn) -> JSONValue {
        .object([
            ("tracks", .array(passed.tracks.map { .string($0.rawValue) })), ("packets", .count(passed.packets)),
            ("bytes", .count(passed.bytes)), ("dropped", .count(passed.packetsDropped)),
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

/// A time since 1970 as RFC 3339 has it, in UTC with milliseconds: `2026-03-01T14:05:09.120Z`.
func utcText(_ date: Duration) -> String {
    let milliseconds = date.nanoseconds / 1_000_000
    var seconds = time_t(milliseconds / 1000)
    var fields = tm()
    gmtime_r(&seconds, &fields)
    var text = [CChar](repeating: 0, count: 40)
    let count = strftime(&text, text.count, "%Y-%m-%dT%H:%M:%S", &fields)
    let rest = String(milliseconds % 1000)
    return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) + "."
        + String(repeating: "0", count: 3 - rest.utf8.count) + rest + "Z"
}
