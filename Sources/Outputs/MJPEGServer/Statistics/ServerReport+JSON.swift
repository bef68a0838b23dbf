import NIOCore
import VideoCapturing

extension ServerReport {
    /// The response of `/state`: the fields of uStreamer, followed by those of this server; with uStreamer's spaces.
    func json(_ configuration: MJPEGServer.Configuration) -> ByteBuffer {
        let root = JSONValue.object([
            ("ok", .bool(true)),
            (
                "result",
                .object([
                    ("instance_id", .string(configuration.instanceID)),
                    (
                        "encoder",
                        .object([
                            // uStreamer's word for frames that the source has compressed.
                            ("type", .string(isPassedThrough ? "HW" : "CPU")),
                            ("quality", .count(configuration.quality)),
                        ])
                    ),
                    ("source", source), ("stream", stream), ("viewer_page", page(configuration.title)), ("server", own),
                ])
            ),
        ])
        return ByteBuffer(string: root.text(space: " "))
    }

    private var source: JSONValue {
        .object([
            ("resolution", .object([("width", .count(width)), ("height", .count(height))])),
            ("online", .bool(isOnline)), ("desired_fps", rounded(desiredRate)),
            ("captured_fps", rounded(statistics.captureRate)),
        ])
    }

    private var stream: JSONValue {
        let clients = zip(records, statistics.viewers).map { record, viewer in
            let parameters = record.parameters
            let client = JSONValue.object([
                ("fps", rounded(viewer.frameRate)), ("extra_headers", .bool(parameters.extraHeaders)),
                ("advance_headers", .bool(parameters.advanceHeaders)),
                ("dual_final_frames", .bool(parameters.dualFinalFrames)), ("zero_data", .bool(parameters.zeroData)),
                ("key", .string(parameters.key ?? "0")), ("sent", .count(viewer.framesSent)),
                ("skipped", .count(viewer.framesSkipped)), ("bytes", .count(viewer.bytesSent)),
            ])
            return (name: String(record.id, radix: 16), value: client)
        }
        return .object([
            ("queued_fps", rounded(statistics.streamRate)), ("clients", .count(records.count)),
            ("clients_stat", .object(clients)),
        ])
    }

    /// The values that the page plots.
    private func page(_ title: String) -> JSONValue {
        .object([
            ("title", .string(title)), ("clock_ms", .number(Double(time.nanoseconds) / 1_000_000, decimals: 3)),
            ("capture_fps", number(statistics.captureRate)), ("stream_fps", number(statistics.streamRate)),
            ("latency_ms", milliseconds(recentLatency)), ("bitrate_bps", .integer(Int64(bitrate))),
            ("dropped", .count(statistics.framesSkipped)), ("viewers", .count(records.count + otherViewers)),
            ("width", .count(width)), ("height", .count(height)), ("online", .bool(isOnline)),
            ("reason", .string(reason)), ("sound", .bool(hasSound)), ("recordings", .bool(hasRecordings)),
        ])
    }

    private var own: JSONValue {
        .object([
            ("connections", .count(statistics.connections)), ("waiting_bytes", .count(statistics.bytesWaiting)),
            ("captured", .count(statistics.framesCaptured)), ("encoded", .count(statistics.framesEncoded)),
            ("passed_through", .count(statistics.framesPassedThrough)),
            ("unchanged", .count(statistics.framesUnchanged)), ("failed", .count(statistics.framesFailed)),
            ("sent", .count(statistics.framesSent)), ("skipped", .count(statistics.framesSkipped)),
            ("bytes", .count(statistics.bytesSent)), ("median_latency_ms", milliseconds(statistics.p50Latency)),
            ("p99_latency_ms", milliseconds(statistics.p99Latency)),
        ])
    }

    private func rounded(_ rate: Double) -> JSONValue { .integer(Int64(rate.rounded())) }
    /// Three decimals are the precision of these numbers.
    private func number(_ value: Double) -> JSONValue { .number(value, decimals: 3) }
    private func milliseconds(_ time: Duration?) -> JSONValue { number((time?.seconds ?? 0) * 1000) }
}
