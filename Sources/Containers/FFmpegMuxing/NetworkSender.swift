import MediaContainers
import VideoCapturing

/// Sends packets to a peer on a thread of its own, and connects again when the connection is lost.
final class NetworkSender: Sendable {
    /// After a connection that took longer, the packets that wait are of no interest any more.
    private static let longestFreshness = Duration.seconds(1)

    private let target: OutputTarget
    private let tracks: [TrackDescription]
    private let configuration: FFmpegMuxer.Configuration
    private let limit: WaitLimit
    private let status: MuxerStatus
    private let queue: PacketQueue
    /// Ends the waits between attempts.
    private let stop = ManualResetEvent()
    private let hasEnded = Locked(false)

    init(
        _ target: OutputTarget, _ tracks: [TrackDescription], _ configuration: FFmpegMuxer.Configuration,
        _ limit: WaitLimit, _ status: MuxerStatus
    ) throws {
        self.target = target
        self.tracks = tracks
        self.configuration = configuration
        self.limit = limit
        self.status = status
        queue = PacketQueue(PacketQueue.Limits(packets: 512, duration: configuration.maximumDelay))
        try CaptureThread(name: "muxer") { [self] in
            run()
            hasEnded.withLock { $0 = true }
            hasEnded.wakeAll()
        }
    }

    var packetsDropped: UInt64 { queue.counts.dropped }

    /// Never waits.
    func send(_ packet: MediaPacket) {
        if queue.push(packet) == .needsKeyFrame { status.requestKeyFrame() }
    }

    /// Ends every wait; nothing more is sent.
    func cancel() {
        limit.cancel()
        queue.close(discardingWaitingPackets: true)
        stop.raise()
    }

    /// Sends what waits and closes the connection.
    ///
    /// - Throws: what has ended the sending.
    func finish() throws(MediaFileError) {
        queue.close()
        stop.raise()
        // A lost connection is not waited for, nor what would be sent by it.
        if case .reconnecting = status.state { cancel() }
        if !waitForEnd(configuration.connectTimeout + configuration.writeTimeout) {
            cancel()
            // A resolver of names does not ask whether it is still wanted; the thread ends when it returns.
            guard waitForEnd(.seconds(1)) else {
                throw .muxing(
                    .stalled, "finish", target.name,
                    "The connection is still being made, and what waits is not sent; check the name servers, or the network."
                )
            }
        }
        if let error = status.error { throw error }
    }

    private func waitForEnd(_ timeout: Duration) -> Bool {
        hasEnded.wait(until: MonotonicClock().now.advanced(by: timeout)) { $0 ? true : nil } ?? false
    }

    private func run() {
        var backoff = BackoffPolicy(budget: configuration.reconnectTimeout)
        // The first error since there was a connection.
        var lost: MediaFileError?
        var attempt = 0
        while true {
            let isFirst = lost == nil
            if isFirst { status.change(to: .connecting) }
            var liveSince: MediaTime?
            do throws(MediaFileError) {
                try sendUntilEnd(isFirst: isFirst, liveSince: &liveSince)
                status.change(to: .ended(nil))
                return
            } catch {
                let now = MonotonicClock().now
                if let liveSince {
                    backoff.didConnect(at: liveSince)
                    lost = nil
                    attempt = 0
                }
                guard liveSince != nil || !isFirst, isTemporary(error), !limit.isCancelled, !stop.isRaised,
                    let delay = backoff.nextDelay(at: now)
                else {
                    queue.close(discardingWaitingPackets: true)
                    // While reconnecting was stopped, what had been lost is the reason.
                    status.change(to: .ended(stop.isRaised ? lost ?? error : error))
                    return
                }
                lost = lost ?? error
                attempt += 1
                status.change(to: .reconnecting(after: error, attempt: attempt))
                stop.wait(until: now.advanced(by: delay))
            }
        }
    }

    /// One connection, from its making to its end.
    ///
    /// - Parameter liveSince: set once packets have gone out.
    private func sendUntilEnd(isFirst: Bool, liveSince: inout MediaTime?) throws(MediaFileError) {
        let begin = MonotonicClock().now
        let writer = try ContainerWriter(
            target, tracks, file: nil, options: configuration.options, limit: limit,
            timeout: configuration.writeTimeout)
        try writer.connect(within: configuration.connectTimeout)
        if !isFirst { status.addReconnection() }
        if !isFirst || MonotonicClock().now - begin > NetworkSender.longestFreshness {
            queue.restart()
            status.requestKeyFrame()
        }
        while let packet = queue.pop() {
            do { try writer.write(packet) } catch { throw asMediaFileError(error) }
            if liveSince == nil, writer.hasBegun {
                liveSince = MonotonicClock().now
                status.change(to: .live)
            }
            status.add(packet)
        }
        do { try writer.finish() } catch { throw asMediaFileError(error) }
    }

    private func asMediaFileError(_ error: any Error) -> MediaFileError {
        error as? MediaFileError ?? .muxing(.system, "send", target.name, "\(error)")
    }

    private func isTemporary(_ error: MediaFileError) -> Bool {
        switch error.code {
        case .formatUnsupported, .permissionDenied, .corruptData: false
        default: true
        }
    }
}
