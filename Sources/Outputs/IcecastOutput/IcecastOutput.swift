import MediaContainers
import StreamTransport
import VideoCapturing

/// Sends WebM to a mount of an Icecast server (2.4 or later): VP8 with Opus, VP8 alone, or Opus alone.
///
/// ```swift
/// try publisher.add(IcecastOutput("icecast://source:PASSWORD@radio:8000/live.webm?name=My%20camera"))
/// ```
/// **Listeners.** A listener gets the head of the stream and begins with the last key frame, so one is asked of the encoder
/// every two seconds.
///
/// **Faults.** ``write(_:)`` never waits. A server that takes too little loses whole groups of pictures; one that takes
/// nothing for the stall timeout is disconnected. A connection that is lost is made again, with a growing wait between the
/// attempts, and goes on with a new head and a key frame; its listeners have to join again. While the capture gives
/// nothing, empty elements keep the source alive. A wrong password ends the output.
///
/// **Threads.** One thread connects and sends. Safe to use from any thread; the handler is called on the sending thread.
public final class IcecastOutput: FeedbackSink {
    /// How it sends.
    public let configuration: IcecastOutput.Configuration

    let hub: IcecastHub
    private let work = Locked(Work())

    private struct Work {
        var tracks: [TrackID] = []
        var video: TrackID?
        /// When the last key frame came, or was requested.
        var lastKeyFrame: MediaTime?
        var isFinished = false

        /// Whether to request a key frame; true once for each.
        mutating func isKeyFrameDue(at packet: MediaPacket) -> Bool {
            guard packet.track == video else { return false }
            let isDue = lastKeyFrame.map { packet.timestamp - $0 >= IcecastOutput.keyFrameInterval } ?? false
            if packet.isKeyFrame || isDue { lastKeyFrame = packet.timestamp }
            return isDue && !packet.isKeyFrame
        }
    }

    /// Listeners wait for the next one for no longer, by one frame.
    private static let keyFrameInterval = Duration.seconds(2)

    /// Creates an output that is not connected yet.
    ///
    /// - Parameters:
    ///   - url: `icecast://user:password@host:port/mount`, by default port 8000 and the user `source`; with `?name=`,
    ///     `description=`, `genre=`, `url=`, `public=1` for the server's directory, and `audio` for sound alone. All are
    ///     percent-encoded.
    ///   - configuration: how to send.
    /// - Throws: `invalidConfiguration` for an address or a setting that is invalid; the address is not in the error.
    public init(
        _ url: String, configuration: IcecastOutput.Configuration = IcecastOutput.Configuration()
    ) throws(CaptureError) {
        try configuration.validate()
        self.configuration = configuration
        hub = IcecastHub(try IcecastAddress(url), configuration)
    }

    deinit { hub.cancel() }

    /// What it does at present.
    public var state: IcecastOutput.State { hub.values.withLock { $0.state } }

    /// Statistics since it was made.
    public var statistics: IcecastOutput.Statistics {
        var statistics = hub.values.withLock { $0.statistics }
        statistics.packetsDropped = hub.queue.counts.dropped
        return statistics
    }

    /// Sets the handler that is called with each new state: on the sending thread, so it must return soon and must not
    /// finish the output.
    ///
    /// - Parameter handler: the handler; nil for none.
    public func setStateHandler(_ handler: (@Sendable (IcecastOutput.State) -> Void)?) {
        hub.values.withLock { $0.onStateChange = handler ?? { _ in } }
    }

    /// Connects, and waits until the server has accepted the source. Without it ``begin(_:)`` begins to connect without
    /// waiting.
    ///
    /// - Parameter hasVideo: whether pictures will be sent.
    /// - Throws: `permissionDenied` for a wrong password, `deviceBusy` for a mount in use, `deviceNotFound` for an unknown
    ///   host or when nothing listens there, `stalled` without an answer, `corruptData` for an answer that is not HTTP.
    public func open(hasVideo: Bool = true) throws(CaptureError) {
        hub.change(to: .connecting)
        do throws(CaptureError) {
            let made = try IcecastConnection(
                hub.address, contentType: IcecastSender.contentType(hasVideo: hasVideo), configuration,
                interruptedBy: hub.stop.descriptor)
            hub.values.withLock { $0.first = made }
        } catch {
            hub.change(to: .ended(error))
            throw error
        }
    }

    // MARK: Packets

    public func connectFeedback(_ feedback: PacketFeedback?) { hub.values.withLock { $0.feedback = feedback } }

    /// Takes the tracks, and begins to send.
    ///
    /// - Throws: `formatUnsupported` for tracks that WebM cannot carry, before anything is connected.
    public func begin(_ tracks: [TrackDescription]) throws {
        do throws(MediaFileError) {
            try WebMWriter.check(tracks, subject: hub.address.displayName)
        } catch {
            throw CaptureError(
                .formatUnsupported, operation: "begin the stream", subject: hub.address.displayName,
                message: error.message)
        }
        work.withLock { work in
            work.tracks = tracks.map(\.id)
            work.video = tracks.first { $0.isVideo }?.id
        }
        hub.change(to: .connecting)
        let thread = try CaptureThread(name: "icecast") { [hub] in IcecastSender(hub, tracks).run() }
        hub.values.withLock { $0.thread = thread }
    }

    /// Queues a packet. Never waits. An empty packet is ignored.
    ///
    /// - Throws: the error that ended the sending, such as a wrong password.
    public func write(_ packet: MediaPacket) throws {
        guard packet.data.count > 0 else { return }
        if let failure = hub.values.withLock({ $0.failure }) { throw failure }
        let (isKnown, isFinished, isKeyFrameDue) = work.withLock { work in
            (work.tracks.contains(packet.track), work.isFinished, work.isKeyFrameDue(at: packet))
        }
        guard isKnown, !isFinished else {
            throw CaptureError(
                .invalidState, operation: "write a packet", subject: hub.address.displayName,
                message: isFinished
                    ? "The output is finished; make another one."
                    : "A packet belongs to track \(packet.track.rawValue), with which the stream was not begun.")
        }
        let isDropped = hub.queue.push(packet) == .needsKeyFrame
        if isDropped || isKeyFrameDue { hub.requestKeyFrame() }
    }

    /// Sends what waits, for the finish timeout at most, and disconnects. A lost connection is not waited for.
    ///
    /// - Throws: the error that ended the sending.
    public func finish() throws {
        let isFirst = work.withLock { work in
            defer { work.isFinished = true }
            return !work.isFinished
        }
        guard isFirst else { return }
        hub.close()
        let (thread, state) = hub.values.withLock { ($0.thread.take(), $0.state) }
        switch state {
        case .connecting, .live: break
        case .idle, .reconnecting, .ended: hub.cancel()
        }
        guard let thread else { return hub.change(to: .ended(nil)) }
        // A user who waits for the end does not wait for a server that takes nothing.
        let isHurried = hub.values.withLock { $0.isStopRequested }?() ?? false
        let timeout = isHurried ? min(configuration.finishTimeout, .milliseconds(500)) : configuration.finishTimeout
        let deadline = MonotonicClock().now.advanced(by: timeout)
        let hasEnded = hub.values.wait(until: deadline) { values -> Bool? in
            if case .ended = values.state { return true }
            return nil
        }
        if hasEnded == nil { hub.cancel() }
        thread.join()
        if let failure = hub.values.withLock({ $0.failure }) { throw failure }
    }
}
