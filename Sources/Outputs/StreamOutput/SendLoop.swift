import StreamTransport
import Synchronization
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What runs on the sending thread of an output: accepts or makes connections, and sends to all of them what waits.
///
/// It sleeps in one `poll` for packets, for room at receivers that are blocked, and for what has a time. Nothing is
/// allocated for a packet.
final class SendLoop {
    private let hub: OutputHub
    private let configuration: StreamOutput.Configuration
    private var listener: StreamSocket?
    private var connections: [ReceiverConnection] = []
    private var descriptors: [pollfd] = []
    private var connectionCount: UInt64 = 0
    /// When connections are accepted again, after the process had no descriptor left.
    private var nextAccept = MediaTime.zero
    /// The next attempt to connect: its number since the last success, and when.
    private var attempt = (number: 1, due: MediaTime.zero)
    private var lastKeyFrameRequest = MediaTime(nanoseconds: .min)
    private var nextLook = MediaTime.zero
    /// The bitrate that was asked for last; nil for the encoder's own.
    private var bitrateLimit: Int?

    /// Receivers that join in quick succession share a key frame.
    private static let keyFrameInterval = Duration.milliseconds(250)

    /// - Parameters:
    ///   - hub: what it shares with other threads.
    ///   - listener: nil when it connects.
    ///   - first: the first connection, where it was waited for.
    init(_ hub: OutputHub, listener: StreamSocket?, _ first: OutputHub.Connected?) {
        self.hub = hub
        self.listener = listener
        configuration = hub.configuration
        guard let first else { return }
        connectionCount = 1
        connections.append(ReceiverConnection(first.socket, first.receiver, format: hub.format))
    }

    func run() {
        while true {
            hub.wake.reset()
            // What is looked at from here on includes what the wake-up was for.
            let phase = hub.state.withLock { $0.phase }
            var deadline: MediaTime?
            if case .finishing(let end) = phase {
                listener = nil
                serve()
                let isDone = connections.allSatisfy(\.isDrained)
                guard !isDone, MonotonicClock().now < end else { break }
                deadline = end
            } else {
                guard phase == .open else { break }
                if listener != nil {
                    accept()
                } else if connections.isEmpty {
                    guard connect() else { break }
                }
                serve()
                adaptBitrate()
                deadline = requestKeyFrame()
            }
            sleep(until: deadline)
        }
        // The peers get what the kernel has taken.
        for connection in connections {
            if connection.isDrained { connection.socket.endSending() } else { connection.socket.reset() }
            hub.remove(connection.shared, unsent: connection.isBlocked ? 1 : 0, reason: "The stream has ended.")
        }
    }

    // MARK: Connections

    private func accept() {
        guard let listener, MonotonicClock().now >= nextAccept else { return }
        do throws(CaptureError) {
            // A limit, so that receivers that come in numbers do not keep the others waiting.
            for _ in 0..<64 {
                guard let socket = try listener.accept() else { return }
                if connections.count >= configuration.maximumReceivers {
                    hub.state.withLock { $0.totals.receiversRejected += 1 }
                    hub.report(.rejected(address: socket.address.description))
                } else {
                    add(socket)
                }
            }
            hub.wake.raise()
        } catch {
            nextAccept = MonotonicClock().now.advanced(by: .milliseconds(100))
        }
    }

    private func add(_ socket: StreamSocket) {
        connectionCount += 1
        let connected = hub.makeReceiver(socket, id: connectionCount)
        connections.append(ReceiverConnection(socket, connected.receiver, format: hub.format))
    }

    /// Connects when an attempt is due. False when no further one is made.
    private func connect() -> Bool {
        guard hub.state.withLock({ $0.failure == nil }) else { return false }
        guard MonotonicClock().now >= attempt.due else { return true }
        hub.state.withLock { $0.connecting = .connecting(attempt: attempt.number) }
        do throws(CaptureError) {
            let socket = try StreamSocket.connect(
                to: hub.address, timeout: configuration.connectTimeout, interruptedBy: hub.stop.descriptor)
            add(socket)
            if connectionCount > 1 { hub.state.withLock { $0.totals.reconnects += 1 } }
            attempt = (1, .zero)
            return true
        } catch {
            if error.code == .invalidState { return true }
            hub.report(.attemptFailed(reason: error.message, attempt: attempt.number))
            return scheduleAttempt(attempt.number + 1, after: error)
        }
    }

    private func scheduleAttempt(_ number: Int, after error: CaptureError) -> Bool {
        let delays = configuration.reconnectDelays
        guard let last = delays.last else {
            hub.state.withLock { state in
                state.failure = error
                state.connecting = nil
            }
            return false
        }
        // Attempts count from 1 after a loss, and the first connection is one without a delay.
        let delay = number - 1 < delays.count ? delays[max(0, number - 1)] : last
        attempt = (number, MonotonicClock().now.advanced(by: delay))
        hub.state.withLock { $0.connecting = .waiting(delay, attempt: number) }
        hub.report(.waiting(delay, attempt: number))
        return true
    }

    private func lose(_ connection: ReceiverConnection, _ error: CaptureError) {
        hub.remove(connection.shared, unsent: connection.isBlocked ? 1 : 0, reason: error.message)
        if !hub.address.isListening, !scheduleAttempt(1, after: error) { hub.wake.raise() }
    }

    // MARK: Sending

    private func serve() {
        connections.removeAll { connection in
            switch connection.send() {
            case .idle:
                guard connection.shared.isEnding.load(ordering: .acquiring), connection.isDrained else { return false }
                connection.socket.endSending()
                let message = "The pictures have another size or profile now, which takes another connection."
                lose(connection, error(.endOfStream, message))
                return true
            case .blocked:
                let age = MonotonicClock().now - connection.lastProgress
                guard age >= configuration.stallTimeout else { return false }
                connection.socket.reset()
                let time = configuration.stallTimeout.inSeconds
                lose(connection, error(.stalled, "It has taken nothing for \(time); check it, or the network."))
                return true
            case .lost(let code):
                lose(connection, CaptureError(socket: code, operation: "send", hub.address))
                return true
            }
        }
    }

    private func error(_ code: CaptureError.Code, _ message: String) -> CaptureError {
        CaptureError(code, operation: "send", subject: hub.address.displayName, message: message)
    }

    /// Requests the key frame that a receiver needs; returns when it may, if that is later.
    private func requestKeyFrame() -> MediaTime? {
        let now = MonotonicClock().now
        let due = lastKeyFrameRequest.advanced(by: SendLoop.keyFrameInterval)
        let (isNeeded, feedback) = hub.state.withLock { state -> (Bool, PacketFeedback?) in
            guard state.isKeyFrameNeeded, let feedback = state.feedback else { return (false, nil) }
            if now >= due {
                state.isKeyFrameNeeded = false
                state.totals.keyFrameRequests += 1
                return (true, feedback)
            }
            return (true, nil)
        }
        guard isNeeded else { return nil }
        guard let feedback else { return due }
        lastKeyFrameRequest = now
        feedback.requestKeyFrame()
        return nil
    }

    /// Asks the encoder for the bitrate that the receivers can take: for a lower one only when all of them are congested,
    /// and then for what the fastest can take. The others lose groups of pictures.
    private func adaptBitrate() {
        let now = MonotonicClock().now
        // Without receivers at once, since no packet wakes the thread then.
        let isOver = connections.isEmpty && bitrateLimit != nil
        guard now >= nextLook || isOver, let feedback = hub.state.withLock({ $0.feedback }),
            let maximum = feedback.maximumBitrate
        else { return }
        nextLook = now.advanced(by: CongestionControl.interval)
        var highest: Int? = connections.isEmpty ? nil : 0
        var reductions: UInt64 = 0
        for connection in connections {
            let before = connection.congestion.reductions
            connection.updateCongestion(at: now, maximum: maximum)
            reductions += connection.congestion.reductions - before
            highest = connection.congestion.limit.flatMap { limit in highest.map { max($0, limit) } }
        }
        let isNew = highest != bitrateLimit
        guard isNew || reductions > 0 else { return }
        bitrateLimit = highest
        hub.state.withLock { state in
            state.totals.bitrateReductions += reductions
            state.totals.bitrateLimit = highest
        }
        if isNew { feedback.requestBitrate(highest) }
    }

    // MARK: Waiting

    private func sleep(until limit: MediaTime?) {
        var deadline = limit ?? MediaTime(nanoseconds: .max)
        let now = MonotonicClock().now
        descriptors.removeAll(keepingCapacity: true)
        let wake = hub.wake.descriptor
        // Without a descriptor the order to end is looked for.
        if wake < 0 { deadline = min(deadline, now.advanced(by: .milliseconds(20))) }
        descriptors.append(pollfd(fd: wake, events: Int16(POLLIN), revents: 0))
        let isPaused = now < nextAccept
        if isPaused { deadline = min(deadline, nextAccept) }
        descriptors.append(
            pollfd(fd: isPaused ? -1 : listener?.descriptor ?? -1, events: Int16(POLLIN), revents: 0))
        for connection in connections {
            var events: Int32 = connection.isInputOpen ? POLLIN : 0
            if connection.isBlocked {
                events |= POLLOUT
                deadline = min(deadline, connection.lastProgress.advanced(by: configuration.stallTimeout))
            }
            descriptors.append(pollfd(fd: connection.socket.descriptor, events: Int16(events), revents: 0))
        }
        if !hub.address.isListening, connections.isEmpty { deadline = min(deadline, attempt.due) }
        let isLimited = deadline.nanoseconds != .max
        let found = descriptors.withUnsafeMutableBufferPointer { pollAll($0, until: isLimited ? deadline : nil) }
        guard let found, found > 0 else { return }
        readInput()
    }

    /// Finds the ends of connections, by what was polled.
    private func readInput() {
        var index = 1
        connections.removeAll { connection in
            index += 1
            let events = Int32(descriptors[index].revents)
            guard events & ~POLLOUT != 0 else { return false }
            var progress = ReceiverConnection.Progress.idle
            if connection.isInputOpen { progress = connection.discardInput() }
            if events & (POLLERR | POLLHUP) != 0, case .idle = progress { progress = .lost(ECONNRESET) }
            guard case .lost(let code) = progress else { return false }
            lose(connection, CaptureError(socket: code, operation: "send", hub.address))
            return true
        }
    }
}
