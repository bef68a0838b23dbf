import NIOCore
import VideoCapturing

extension ServerReport {
    /// The response of `/state`: the fields of uStreamer, followed by those of this server.
    func json(_ configuration: MJPEGServerConfiguration) -> ByteBuffer {
        var json = JSONText()
        json.object { json in
            json.field("ok", true)
            json.object("result") { json in
                json.field("instance_id", configuration.instanceID)
                json.object("encoder") { json in
                    // uStreamer's word for frames that the source has compressed.
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

    /// The values that the page plots.
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
            json.field("median_latency_ms", (statistics.p50Latency?.seconds ?? 0) * 1000)
            json.field("p99_latency_ms", (statistics.p99Latency?.seconds ?? 0) * 1000)
        }
    }
}

/// Writes JSON (RFC 8259) into a buffer.
private struct JSONText {
    private(set) var buffer = ByteBuffer()
    private var needsComma = false

    mutating func object(_ name: String? = nil, _ body: (inout JSONText) -> Void) {
        if let name { begin(name) }
        buffer.writeStaticString("{")
        needsComma = false
        body(&self)
        buffer.writeStaticString("}")
        needsComma = true
    }

    mutating func field(_ name: String, _ value: String) {
        begin(name)
        write(value)
        needsComma = true
    }

    mutating func field(_ name: String, _ value: Bool) { raw(name, value ? "true" : "false") }
    mutating func field(_ name: String, _ value: some BinaryInteger) { raw(name, String(value)) }

    /// With at most three decimals, the precision of these numbers.
    mutating func field(_ name: String, _ value: Double) {
        raw(name, value.isFinite ? "\((value * 1000).rounded() / 1000)" : "0")
    }

    private mutating func raw(_ name: String, _ text: String) {
        begin(name)
        buffer.writeString(text)
        needsComma = true
    }

    private mutating func begin(_ name: String) {
        if needsComma { buffer.writeStaticString(", ") }
        write(name)
        buffer.writeStaticString(": ")
        needsComma = false
    }

    private mutating func write(_ text: String) {
        buffer.writeStaticString("\"")
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": buffer.writeStaticString("\\\"")
            case "\\": buffer.writeStaticString("\\\\")
            case "\n": buffer.writeStaticString("\\n")
            case _ where scalar.value < 0x20 || scalar == "<" || scalar == "\u{7F}":
                // "<" too, so that the text is safe inside a page.
                buffer.writeStaticString("\\u00")
                buffer.writeString(hexText([UInt8(scalar.value)]))
            default: buffer.writeString(String(scalar))
            }
        }
        buffer.writeStaticString("\"")
    }
}
