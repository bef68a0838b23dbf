import NIOCore
import VideoCapturing

extension ServerReport {
    /// The response of `/metrics`: Prometheus' text format 0.0.4.
    var metrics: ByteBuffer {
        var text = MetricsText()
        text.gauge("viewers", "Viewers of the stream.", Double(records.count))
        text.gauge("live_viewers", "Viewers that are connected by WebRTC.", Double(statistics.live.viewers))
        text.counter("live_frames_total", "Frames sent to viewers by WebRTC.", statistics.live.framesSent)
        text.counter("live_bytes_total", "Bytes sent to viewers by WebRTC.", statistics.live.bytesSent)
        text.gauge("connections", "Open connections.", Double(statistics.connections))
        text.gauge("waiting_bytes", "Bytes in memory for slow clients.", Double(statistics.bytesWaiting))
        text.gauge(
            "source_online", "Whether frames of the source are shown (1) or a placeholder (0).", isOnline ? 1 : 0)
        text.gauge("picture_width_pixels", "Width of the picture.", Double(width))
        text.gauge("picture_height_pixels", "Height of the picture.", Double(height))
        text.gauge("captured_frames_per_second", "Frames received from the capture.", statistics.captureRate)
        text.gauge("stream_frames_per_second", "Frames made for viewers.", statistics.streamRate)
        text.counter("connections_accepted_total", "Connections accepted.", statistics.connectionsAccepted)
        text.counter("connections_refused_total", "Connections over the limit.", statistics.connectionsRefused)
        text.counter(
            "disconnected_clients_total", "Clients disconnected since too much waited for them.",
            statistics.slowClientsDisconnected)
        text.counter("captured_frames_total", "Frames received from the capture.", statistics.framesCaptured)
        text.counter("encoded_frames_total", "Frames encoded here.", statistics.framesEncoded)
        text.counter(
            "passed_through_frames_total", "Frames whose own JPEG was passed on.", statistics.framesPassedThrough)
        text.counter("unchanged_frames_total", "Frames left out since they show the same.", statistics.framesUnchanged)
        text.counter("failed_frames_total", "Frames that could not be encoded.", statistics.framesFailed)
        text.counter("sent_frames_total", "Frames sent to viewers.", statistics.framesSent)
        text.counter("skipped_frames_total", "Frames skipped for slow viewers.", statistics.framesSkipped)
        text.counter("sent_bytes_total", "Bytes sent to viewers.", statistics.bytesSent)
        text.begin("answers_total", "HTTP answers by status.", "counter")
        for (status, count) in statistics.answers.sorted(by: { $0.key < $1.key }) {
            text.sample("answers_total", labels: "{code=\"\(status)\"}", "\(count)")
        }
        text.begin("latency_seconds", "Time from capture until the kernel has a viewer's frame.", "summary")
        for (quantile, latency) in quantiles {
            text.sample("latency_seconds", labels: "{quantile=\"\(quantile)\"}", "\(latency.seconds)")
        }
        text.sample("latency_seconds_sum", "\(Double(latencySum) / 1e9)")
        text.sample("latency_seconds_count", "\(latencyCount)")
        return text.buffer
    }
}

/// Writes Prometheus' text format.
private struct MetricsText {
    var buffer = ByteBuffer()

    mutating func begin(_ name: String, _ help: String, _ type: String) {
        buffer.writeString("# HELP mjpeg_server_\(name) \(help)\n# TYPE mjpeg_server_\(name) \(type)\n")
    }

    mutating func sample(_ name: String, labels: String = "", _ value: String) {
        buffer.writeString("mjpeg_server_\(name)\(labels) \(value)\n")
    }

    mutating func gauge(_ name: String, _ help: String, _ value: Double) {
        begin(name, help, "gauge")
        sample(name, "\(value)")
    }

    mutating func counter(_ name: String, _ help: String, _ value: UInt64) {
        begin(name, help, "counter")
        sample(name, "\(value)")
    }
}
