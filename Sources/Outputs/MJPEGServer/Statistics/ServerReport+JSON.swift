import NIOCore
import VideoCapturing

extension ServerReport {
    /// What `/state` answers: uStreamer's fields, and ours after them.
    func json(_ configuration: MJPEGServerConfiguration) -> ByteBuffer {
        var json = JSONText()
        json.object { json in
            json.field("ok", true)
            json.object("result") { json in
                json.field("instance_id", configuration.instanceID)
                json.object("encoder") { json in
                    // uStreamer's word for pictures that come compressed.
                    json.field("type", isPassedThrough ? "HW" : "CPU")
                    json.field("quality", configuration.quality)
                }
                json.object("source") { json in
                    json.object("resolution") { json in
                        json.field("width", width)
                        json.field("height", height)
                    }
                    json.field("online", isOnline)
                    json.field("desired_fps", Int(desiredRate.rounded()))
                    json.field("captured_fps", Int(statistics.captureRate.rounded()))
                }
                stream(&json)
                page(&json)
                own(&json)
            }
        }
        return json.buffer
    }

    private func stream(_ json: inout JSONText) {
        json.object("stream") { json in
            json.field("queued_fps", Int(statistics.streamRate.rounded()))
            json.field("clients", records.count)
            json.object("clients_stat") { json in
                for (record, viewer) in zip(records, statistics.viewers) {
                    json.object(String(record.id, radix: 16)) { json in
                        json.field("fps", Int(viewer.frameRate.rounded()))
                        json.field("extra_headers", record.parameters.extraHeaders)
                        json.field("advance_headers", record.parameters.advanceHeaders)
                        json.field("dual_final_frames", record.parameters.dualFinalFrames)
                        json.field("zero_data", record.parameters.zeroData)
                        json.field("key", record.parameters.key ?? "0")
                        json.field("sent", viewer.framesSent)
                        json.field("skipped", viewer.framesSkipped)
                        json.field("bytes", viewer.bytesSent)
                    }
                }
            }
        }
    }

    /// What the page plots.
    private func page(_ json: inout JSONText) {
        json.object("viewer_page") { json in
            json.field("capture_fps", statistics.captureRate)
            json.field("stream_fps", statistics.streamRate)
            json.field("latency_ms", (recentLatency?.seconds ?? 0) * 1000)
            json.field("bitrate_bps", Int(bitrate))
            json.field("dropped", statistics.framesSkipped)
            json.field("viewers", records.count)
            json.field("width", width)
            json.field("height", height)
            json.field("online", isOnline)
            json.field("reason", reason)
        }
    }

    private func own(_ json: inout JSONText) {
        json.object("server") { json in
            json.field("connections", statistics.connections)
            json.field("waiting_bytes", statistics.bytesWaiting)
            json.field("captured", statistics.framesCaptured)
            json.field("encoded", statistics.framesEncoded)
            json.field("passed_through", statistics.framesPassedThrough)
            json.field("unchanged", statistics.framesUnchanged)
            json.field("failed", statistics.framesFailed)
            json.field("sent", statistics.framesSent)
            json.field("skipped", statistics.framesSkipped)
            json.field("bytes", statistics.bytesSent)
            json.field("median_latency_ms", (statistics.medianLatency?.seconds ?? 0) * 1000)
            json.field("p99_latency_ms", (statistics.latencyOf99Percent?.seconds ?? 0) * 1000)
        }
    }
}
