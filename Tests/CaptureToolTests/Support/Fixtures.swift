import ArgumentParser
import MediaContainers
import VideoCapturing

@testable import CaptureTool

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The plan that a command line makes.
func plan(_ arguments: String...) throws -> CapturePlan {
    try CapturePlan(CaptureOptions.parse(arguments), catalog: demoCatalog)
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
func snapshot(
    consumers: [RunSnapshot.Consumer] = [consumer("vp8", 360)], outputs: [RunSnapshot.Output] = [],
    encoding: EncodingConsumer.Statistics? = encoding(), lost: UInt64 = 0
) -> RunSnapshot {
    var drops = CaptureStatistics.DropCounts()
    drops.late = lost
    return RunSnapshot(
        elapsed: .milliseconds(12_040), source: "noise", width: 640, height: 480, pixelFormat: .nv12,
        askedRate: 30, measuredRate: FrameRate("29.5"), captured: 360, capturedTime: .seconds(12), lost: drops,
        encoding: encoding, targetBitrate: encoding == nil ? nil : 922_000, consumers: consumers, outputs: outputs)
}

func consumer(_ name: String, _ delivered: UInt64, dropped: UInt64 = 0) -> RunSnapshot.Consumer {
    var drops = CaptureStatistics.DropCounts()
    drops.abandoned = dropped
    return RunSnapshot.Consumer(
        name: name, delivered: delivered, dropped: drops, p50Age: .milliseconds(1), p99Age: .milliseconds(2))
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
