import MediaContainers
import VideoCapturing

/// Sends packets to a peer on a thread of its own, and connects again when the connection is lost.
final class NetworkSender: Sendable {
    /// After a connection that took longer, the packets that wait are of no interest any more.
    private static let longestFreshness = Duration.seconds(1)
    /// How long the end may take when a user waits for it.
    private static let hurriedEnd = Duration.milliseconds(500)

    private let target: OutputTarget
    private let tracks: [TrackDescription]
    private let configuration: FFmpegMuxer.Configuration
    private let limit: WaitLimit
    private let status: MuxerStatus
    private let queue: PacketQueue
    /// Ends the waits between attempts.
    private let stop = ManualResetEvent()
    private let hasEnded = Locked(false)
    private let isListener: Bool

    init(
        _ target: OutputTarget, _ tracks: [TrackDescription], _ configuration: FFmpegMuxer.Configuration,
        _ limit: WaitLimit, _ status: MuxerStatus
    ) throws {
        self.target = target
        self.tracks = tracks
        self.configuration = configuration
        self.limit = limit
        self.status = status
        isListener = target.isListener(configuration.options)
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
    /// - Parameter isHurried: whether a user waits for the end; a peer that does not answer is not waited for then.
    /// - Throws: what has ended the sending.
    func finish(isHurried: Bool) throws(MediaFileError) {
        queue.close()
        stop.raise()
        switch status.state {
        // A lost connection is not waited for, nor what would be sent by it.
        case .reconnecting: cancel()
        // The thread may not have begun.
        case .idle where isListener, .connecting where isListener: cancel()
        default: break
        }
        let timeout = isHurried ? NetworkSender.hurriedEnd : configuration.connectTimeout + configuration.writeTimeout
        if !waitForEnd(timeout) {
            cancel()
            // A resolver of names does not ask whether it is still wanted; the thread ends when it returns.
            guard waitForEnd(isHurried ? NetworkSender.hurriedEnd : .seconds(1)) else {
                throw .muxing(
                    .stalled, "finish", target.name,
                    "The connection is still being made, and what waits is not sent; check the name servers, or the network."
                )
            }
        }
        if let error = status.error {
            guard isHurried, error.code == .interrupted else { throw error }
            throw .muxing(
                .stalled, "finish", target.name,
                "The peer had not taken everything when the output was ended; check it and the network.")
        }
    }

    private func waitForEnd(_ timeout: Duration) -> Bool {
        hasEnded.wait(until: MonotonicClock().now.advanced(by: timeout)) { $0 ? true : nil } ?? false
    }

    private func run() {
        var backoff = BackoffPolicy(budget: configuration.reconnectTimeout)
        // The first error since there was a connection.
        var lost: MediaFileError?
        var attempt = 0
        var hasBeenLive = false
        while true {
            let isFirst = lost == nil
            if isFirst { status.change(to: .connecting) }
            var liveSince: MediaTime?
            do throws(MediaFileError) {
                try sendUntilEnd(isFirst: isFirst && !hasBeenLive, isAgain: hasBeenLive, liveSince: &liveSince)
                status.change(to: .ended(nil))
                return
            } catch {
                let now = MonotonicClock().now
                if let liveSince {
                    backoff.didConnect(at: liveSince)
                    lost = nil
                    attempt = 0
                    hasBeenLive = true
                }
                if isListener, liveSince != nil || stop.isRaised, isTemporary(error) {
                    // A caller that has gone, or never came, is no failure; another one may call.
                    guard stop.isRaised || limit.isCancelled else { continue }
                    return status.change(to: .ended(nil))
                }
                // A listener may find its port in use for a moment: its library releases it after the caller has gone.
                guard hasBeenLive || !isFirst || configuration.retriesFirstConnection, isTemporary(error),
                    !limit.isCancelled, !stop.isRaised,
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
                // The next attempt would find nothing to send, which is no success.
                guard !stop.isRaised, !limit.isCancelled else { return status.change(to: .ended(lost)) }
            }
        }
    }

    /// One connection, from its making to its end.
    ///
    /// - Parameters:
    ///   - isFirst: whether no attempt was made before.
    ///   - isAgain: whether there was a connection before.
    ///   - liveSince: set once packets have gone out.
    private func sendUntilEnd(isFirst: Bool, isAgain: Bool, liveSince: inout MediaTime?) throws(MediaFileError) {
        let begin = MonotonicClock().now
        let writer = try ContainerWriter(
            target, tracks, file: nil, options: configuration.options, limit: limit,
            timeout: configuration.writeTimeout)
        try writer.connect(within: isListener ? nil : configuration.connectTimeout)
        if isAgain { status.addReconnection() }
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
