import NIOCore
import ServerTransport
import VideoCapturing

/// The contents of `/state` and `/metrics`, read at one moment.
struct ServerReport {
    var statistics = MJPEGServer.Statistics()
    var records: [ViewerRecord] = []
    var width = 0
    var height = 0
    var isOnline = false
    /// Why there is no picture; empty while there is one.
    var reason = ""
    var isPassedThrough = false
    /// Of another way than MJPEG.
    var otherViewers = 0
    /// Whether these get sound.
    var hasSound = false
    /// Whether there is an index of recordings.
    var hasRecordings = false
    var desiredRate: Double = 0
    /// The median of the last seconds.
    var recentLatency: Duration?
    var quantiles: [(quantile: Double, latency: Duration)] = []
    var latencyCount: UInt64 = 0
    var latencySum: Int64 = 0
    /// When it was read, on the clock of the capture.
    let time: MediaTime
    /// Bits per second that the average viewer gets.
    var bitrate: Double = 0

    init(_ broadcaster: Broadcaster, connections: Connections, hubs: [LoopHub]) {
        let now = broadcaster.clock.now
        time = now
        readState(broadcaster, at: now)
        otherViewers = broadcaster.viewing?.viewerCount ?? 0
        statistics.live = broadcaster.viewing?.statistics ?? LiveViewingStatistics()
        hasSound = broadcaster.viewing?.hasSound ?? false
        hasRecordings = broadcaster.recording.withLock { $0 }?.index != nil
        let counts = connections.current
        statistics.connections = counts.open
        statistics.connectionsAccepted = counts.accepted
        statistics.connectionsRefused = counts.refused
        statistics.answers = counts.answers
        statistics.snapshotsSent = counts.snapshots
        statistics.bytesWaiting = broadcaster.waiting.count
        statistics.slowClientsDisconnected = broadcaster.waiting.disconnected
        var recent = LatencyHistogram()
        var total = LatencyHistogram()
        for hub in hubs {
            recent.merge(hub.recentLatencies(at: now))
            let latencies = hub.latencies
            total.merge(latencies.histogram)
            latencySum &+= latencies.sum
        }
        recentLatency = recent.quantile(0.5)
        latencyCount = total.count
        for quantile in [0.5, 0.9, 0.99] {
            if let latency = total.quantile(quantile) { quantiles.append((quantile, latency)) }
        }
        statistics.p50Latency = total.quantile(0.5)
        statistics.p99Latency = total.quantile(0.99)
    }

    private mutating func readState(_ broadcaster: Broadcaster, at now: MediaTime) {
        broadcaster.state.withLock { state in
            let counts = state.counts
            statistics.framesCaptured = counts.captured
            statistics.framesEncoded = counts.encoded
            statistics.framesPassedThrough = counts.passedThrough
            statistics.framesUnchanged = counts.same
            statistics.framesFailed = counts.failed
            statistics.notices = counts.placeholders
            statistics.framesSent = counts.sentBefore
            statistics.framesSkipped = counts.skippedBefore
            statistics.bytesSent = counts.bytesBefore
            statistics.captureRate = state.captureRate.perSecond(at: now)
            statistics.streamRate = state.partRate.perSecond(at: now)
            bitrate = state.byteRate.perSecond(at: now) * 8
            records = Array(state.viewers.values)
            isOnline = state.isLive
            reason = state.isLive ? "" : state.placeholder.reason
            (width, height) = state.frameSize
            isPassedThrough = state.part?.information.isPassedThrough ?? false
            let wanted = broadcaster.configuration.maximumFrameRate?.framesPerSecond
            desiredRate = wanted ?? state.newest?.estimatedFrameRate?.framesPerSecond ?? 0
        }
        records.sort { $0.id < $1.id }
        for record in records {
            let counts = record.current
            var viewer = MJPEGServer.Statistics.Viewer(id: record.id, key: record.parameters.key, peer: record.peer)
            viewer.framesSent = counts.sent
            viewer.framesSkipped = counts.skipped
            viewer.bytesSent = counts.bytes
            viewer.frameRate = counts.rate.perSecond(at: now)
            statistics.viewers.append(viewer)
            statistics.framesSent += counts.sent
            statistics.framesSkipped += counts.skipped
            statistics.bytesSent += counts.bytes
        }
    }
}
