import MediaContainers
import StreamTransport
import Synchronization
import VideoCapturing

/// What the sending thread of an output and its callers share.
final class IcecastHub: Sendable {
    struct Values {
        var state = IcecastOutput.State.idle
        var statistics = IcecastOutput.Statistics()
        var feedback: PacketFeedback?
        /// The error that ended the sending permanently.
        var failure: CaptureError?
        /// The connection that ``IcecastOutput/open()`` has made, until the thread takes it.
        var first: IcecastConnection?
        var thread: CaptureThread?
        /// The connection being written to, so that a wait for the server can be ended.
        var file: OutputFile?
        var onStateChange: @Sendable (IcecastOutput.State) -> Void = { _ in }
        var isStopRequested: (@Sendable () -> Bool)?
    }

    let address: IcecastAddress
    let configuration: IcecastOutput.Configuration
    let values = Locked(Values())
    let queue: PacketQueue
    /// Ends every wait.
    let stop = WaitEnd()
    /// Whether no packet will follow.
    let isClosing = Atomic(false)

    init(_ address: IcecastAddress, _ configuration: IcecastOutput.Configuration) {
        self.address = address
        self.configuration = configuration
        queue = PacketQueue(PacketQueue.Limits(packets: 512, duration: configuration.maximumDelay))
    }

    /// Calls the handler without the lock.
    func change(to state: IcecastOutput.State) {
        let handler = values.withLock { values -> (@Sendable (IcecastOutput.State) -> Void)? in
            if case .ended = values.state { return nil }
            defer { values.state = state }
            return values.state == state ? nil : values.onStateChange
        }
        values.wakeAll()
        handler?(state)
    }

    /// No packet will follow; what waits is sent.
    func close() {
        isClosing.store(true, ordering: .releasing)
        queue.close()
    }

    func requestKeyFrame() { values.withLock { $0.feedback }?.requestKeyFrame() }

    /// Ends every wait at once; what waits is discarded.
    func cancel() {
        isClosing.store(true, ordering: .releasing)
        queue.close(discardingWaitingPackets: true)
        stop.raise()
        values.withLock { $0.file }?.stallTimeout = .zero
    }
}

/// The sending thread: connects, writes WebM, and connects again when the connection is lost.
final class IcecastSender {
    private let hub: IcecastHub
    private let tracks: [TrackDescription]
    private var configuration: IcecastOutput.Configuration { hub.configuration }

    /// An element without meaning: EBML's Void, of no bytes.
    private static let void: [UInt8] = [0xEC, 0x80]
    /// Servers end sources that send nothing for ten seconds; tests of servers for less.
    private static let keepAliveInterval = Duration.seconds(1)
    private static let longestFreshness = Duration.seconds(1)

    init(_ hub: IcecastHub, _ tracks: [TrackDescription]) {
        self.hub = hub
        self.tracks = tracks
    }

    static func contentType(hasVideo: Bool) -> String { hasVideo ? "video/webm" : "audio/webm" }

    func run() {
        var attempt = 0
        var backoff = BackoffPolicy(
            initialDelay: configuration.reconnectDelay, maximumDelay: configuration.maximumReconnectDelay,
            budget: configuration.reconnectTimeout)
        var connection = hub.values.withLock { $0.first.take() }
        let isConnected = connection != nil
        while true {
            let made: IcecastConnection
            do throws(CaptureError) {
                if let first = connection.take() { made = first } else { made = try connect(attempt, isConnected) }
                attempt = 0
                backoff.didConnect(at: MonotonicClock().now)
                hub.change(to: .live)
                try stream(to: made)
                return hub.change(to: .ended(nil))
            } catch {
                // At the end a lost connection is not made again: its packets are lost.
                guard !isOver, !hub.isClosing.load(ordering: .acquiring), isTemporary(error, isConnected || attempt > 0)
                else { return end(error) }
                let now = MonotonicClock().now
                guard let delay = backoff.nextDelay(at: now) else { return end(error) }
                attempt += 1
                hub.change(to: .reconnecting(after: error, attempt: attempt))
                hub.stop.event.wait(until: now.advanced(by: delay))
                if isOver { return end(error) }
            }
        }
    }

    private var isOver: Bool { hub.stop.event.isRaised }

    private func end(_ error: CaptureError) {
        hub.queue.close(discardingWaitingPackets: true)
        hub.values.withLock { $0.failure = $0.failure ?? error }
        hub.change(to: .ended(error))
    }

    /// Whether another attempt may succeed. A mount that is in use may be so by the connection that was lost.
    private func isTemporary(_ error: CaptureError, _ wasConnected: Bool) -> Bool {
        switch error.code {
        case .permissionDenied, .formatUnsupported, .invalidState, .invalidConfiguration: false
        case .deviceBusy: wasConnected
        default: true
        }
    }

    private func connect(_ attempt: Int, _ isConnected: Bool) throws(CaptureError) -> IcecastConnection {
        if attempt == 0 { hub.change(to: .connecting) }
        let begin = MonotonicClock().now
        let made = try IcecastConnection(
            hub.address, contentType: IcecastSender.contentType(hasVideo: tracks.contains { $0.isVideo }),
            configuration, interruptedBy: hub.stop.descriptor)
        // What waited for long is of no interest any longer, and the head must be followed by a key frame.
        if attempt > 0 || MonotonicClock().now - begin > IcecastSender.longestFreshness {
            hub.queue.restart()
            hub.requestKeyFrame()
        }
        if attempt > 0 { hub.values.withLock { $0.statistics.reconnections += 1 } }
        return made
    }

    /// One connection, to the end of the queue.
    private func stream(to connection: IcecastConnection) throws(CaptureError) {
        let socket = connection.socket
        let file = OutputFile(descriptor: socket.descriptor, name: hub.address.displayName, closing: false)
        file.stallTimeout = configuration.stallTimeout
        hub.values.withLock { $0.file = file }
        defer { hub.values.withLock { $0.file = nil } }
        let writer = WebMWriter(file)
        do {
            try writer.begin(tracks)
            while true {
                let limit = MonotonicClock().now.advanced(by: IcecastSender.keepAliveInterval)
                if let packet = hub.queue.pop(until: limit) {
                    let before = file.bytesWritten
                    try writer.write(packet)
                    hub.values.withLock { values in
                        values.statistics.packets += 1
                        values.statistics.bytes += UInt64(file.bytesWritten - before)
                    }
                } else if hub.isClosing.load(ordering: .acquiring), hub.queue.isEmpty {
                    break
                } else if file.bytesWritten > 0 {
                    // Between two elements, since the writer passes on whole ones.
                    try IcecastSender.void.withUnsafeBytes { bytes in try file.write(bytes) }
                    try file.endRecord()
                }
                try checkPeer(socket)
            }
            try writer.finish()
            socket.endSending()
        } catch let error as MediaFileError {
            throw lost(error)
        } catch {
            throw error as? CaptureError
                ?? CaptureError(
                    .system, operation: "send", subject: hub.address.displayName, message: "\(error)")
        }
    }

    /// Finds that the server has ended the connection; it has nothing else to say.
    private func checkPeer(_ socket: StreamSocket) throws(CaptureError) {
        let count = withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { socket.receive(into: $0) }
        guard count == 0 else { return }
        throw CaptureError(
            .deviceLost, operation: "send", subject: hub.address.displayName,
            message: "The server has ended the connection; look at its log.")
    }

    private func lost(_ error: MediaFileError) -> CaptureError {
        switch error.code {
        case .stalled:
            CaptureError(
                .stalled, operation: "send", subject: hub.address.displayName,
                message: "The server takes nothing; check it, and the network.")
        case .formatUnsupported:
            CaptureError(
                .formatUnsupported, operation: "send", subject: hub.address.displayName, message: error.message)
        default:
            CaptureError(
                .deviceLost, operation: "send", subject: hub.address.displayName,
                message: "The connection is lost; it is made again while packets come.")
        }
    }
}

extension TrackDescription {
    var isVideo: Bool {
        if case .video = media { return true }
        return false
    }
}
