import Testing
import VideoCapturing

@testable import CaptureTool
@testable import MediaPublishing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The plan that a command line makes.
func plan(_ arguments: String...) throws -> CapturePlan {
    try plan(arguments)
}

/// The plan that a command line makes.
func plan(_ arguments: [String]) throws -> CapturePlan {
    let (command, parsed) = try ToolCommand.parse(arguments, demoCatalog)
    #expect(command.name == "capture")
    return try CapturePlan(parsed, catalog: demoCatalog)
}

/// The error with which something fails; nil when it does not.
func error<Failure: Error, Value>(of body: () throws(Failure) -> Value) -> Failure? {
    do {
        _ = try body()
        return nil
    } catch {
        return error
    }
}

/// Twelve seconds into a run.
///
/// - Parameter consumers: the encoder's, where something is encoded, and those of outputs.
func snapshot(
    consumers: [VideoPublisher.Statistics.Consumer] = [consumer("vp8", 360)],
    outputs: [MediaPublisher.Statistics.Output] = [],
    encoding: EncodingConsumer.Statistics? = encoding(), lost: UInt64 = 0
) -> RunSnapshot {
    var drops = CaptureStatistics.DropCounts()
    drops.late = lost
    let encoders = encoding.map { encoding in
        [
            MediaPublisher.Statistics.Encoder(
                name: "vp8", codec: .vp8, targetBitrate: 922_000, encoding: encoding, consumer: consumers[0])
        ]
    }
    let others = consumers.dropFirst(encoding == nil ? 0 : 1).map { output($0.name, consumer: $0) }
    return RunSnapshot(
        elapsed: .milliseconds(12_040), source: "noise", width: 640, height: 480, pixelFormat: .nv12,
        askedRate: 30, measuredRate: FrameRate("29.5"), captured: 360, capturedTime: .seconds(12), lost: drops,
        encoders: encoders ?? [], outputs: outputs + others)
}

func output(
    _ name: String, kind: String = "y4m", bytes: Int64 = 10, summary: String = "", hasFailed: Bool = false,
    consumer: VideoPublisher.Statistics.Consumer? = nil
) -> MediaPublisher.Statistics.Output {
    MediaPublisher.Statistics.Output(
        id: MediaPublisher.OutputID(index: 0), name: name, kind: kind, path: name,
        statistics: OutputStatistics(bytes: bytes, summary: summary), hasFailed: hasFailed, consumer: consumer)
}

func consumer(_ name: String, _ delivered: UInt64, dropped: UInt64 = 0) -> VideoPublisher.Statistics.Consumer {
    var result = VideoPublisher.Statistics.Consumer(name: name)
    result.delivered = delivered
    result.dropped.abandoned = dropped
    result.p50Age = .milliseconds(1)
    result.p99Age = .milliseconds(2)
    return result
}

func encoding() -> EncodingConsumer.Statistics {
    var result = EncodingConsumer.Statistics()
    result.framesIn = 360
    result.packets = 360
    result.bitrate = 998_000
    result.p50Latency = .microseconds(3900)
    result.p99Latency = .microseconds(8100)
    return result
}
