import MediaContainers
import StreamTransport
import VideoCapturing

/// What the encoding thread, the sending thread and callers share of an output.
final class OutputHub: Sendable {
    enum Phase: Hashable {
        case idle, open
        /// What waits is sent until a time.
        case finishing(MediaTime)
        case finished
    }

    struct State {
        var phase = Phase.idle
        var port: Int?
        var receivers: [ReceiverQueue] = []
        /// When it connects: what it does while there is no receiver.
        var connecting: StreamOutput.Receiver.State?
        /// Of receivers that are gone.
        var totals = StreamOutput.Statistics()
        var feedback: PacketFeedback?
        var isKeyFrameNeeded = false
        /// Whether there was anything to send.
        var hasPackets = false
        var handler: (@Sendable (StreamOutput.Event) -> Void)?
        /// Why no further attempt to connect is made.
        var failure: CaptureError?
        /// Whether it was to send when the end came, and had no receiver.
        var isUnheard = false
        var thread: CaptureThread?
        /// Whether the run of a publisher is to end.
        var isStopRequested: (@Sendable () -> Bool)?
    }

    let address: StreamAddress
    let format: StreamOutput.Format
    let configuration: StreamOutput.Configuration
    let state = Locked(State())
    /// Raised when the sending thread has something to do.
    let wake = WaitEnd()
    /// Raised at the end, which an attempt to connect does not outlive.
    let stop = WaitEnd()
    /// Used by the thread that writes; apart from the state, since it copies.
    private let shaper = Locked<PacketShaper?>(nil)

    init(_ address: StreamAddress, format: StreamOutput.Format, _ configuration: StreamOutput.Configuration) {
        self.address = address
        self.format = format
        self.configuration = configuration
    }

    var port: Int? { state.withLock { $0.port } }

    // MARK: Life

    /// Opens the output; nothing when it is open.
    ///
    /// - Parameter isWaiting: whether the first connection is waited for, and another open is an error.
    func open(isWaiting: Bool) throws(CaptureError) {
        let phase = state.withLock { state in
            defer { if state.phase == .idle { state.phase = .open } }
            return state.phase
        }
        guard phase == .idle else {
            guard isWaiting else { return }
            throw CaptureError(
                .invalidState, operation: "open the output", subject: address.displayName,
                message: "It is open already, or has finished; make another one.")
        }
        do throws(CaptureError) {
            var socket: StreamSocket?
            if address.isListening {
                socket = try StreamSocket.listen(at: address)
            } else if isWaiting {
                socket = try StreamSocket.connect(
                    to: address, timeout: configuration.connectTimeout, interruptedBy: stop.descriptor)
            }
            try start(socket)
        } catch {
            state.withLock { if $0.phase == .open { $0.phase = .idle } }
            throw error
        }
    }

    private func start(_ socket: StreamSocket?) throws(CaptureError) {
        state.withLock { state in
            if address.isListening { state.port = socket?.localPort }
            state.connecting = address.isListening ? nil : .connecting(attempt: 1)
        }
        // Before this returns, so that the first packet finds its receiver.
        let first = address.isListening ? nil : socket.map { makeReceiver($0, id: 1) }
        let thread = try CaptureThread(name: "stream output") { [self] in
            SendLoop(self, listener: address.isListening ? socket : nil, first).run()
        }
        state.withLock { $0.thread = thread }
    }

    func finish(within timeout: Duration) {
        end(at: MonotonicClock().now.advanced(by: timeout))
        // What an `open` of another thread has begun ends without help.
        state.withLock { $0.thread.take() }?.join()
        state.withLock { state in
            state.phase = .finished
            state.feedback = nil
        }
    }

    /// Ends the wait for the first connection when the run is to end.
    func endOpeningIfStopped() {
        // Where the thread runs, no connection is waited for. Code of others, so it is called without the lock.
        let isStopRequested = state.withLock { $0.thread == nil ? $0.isStopRequested : nil }
        if isStopRequested?() ?? false { stop.raise() }
    }

    /// Ends the sending thread, which sends what waits until then.
    func end(at deadline: MediaTime) {
        state.withLock { state in
            if state.phase == .open, state.connecting != nil, state.hasPackets { state.isUnheard = true }
            if state.phase == .idle || state.phase == .open { state.phase = .finishing(deadline) }
        }
        stop.raise()
        wake.raise()
    }

    /// Why the receiver that it was to send to did not receive when the end came, which is said once.
    func takeUnheard() -> CaptureError? {
        state.withLock { state in
            guard state.isUnheard else { return nil }
            state.isUnheard = false
            let reason = state.totals.lastLoss.map { " \($0)" } ?? ""
            return CaptureError(
                .deviceLost, operation: "send", subject: address.displayName,
                message: "There was no receiver at the end, so it lacks the last packets; check it, and the network."
                    + reason)
        }
    }

    // MARK: Packets

    func begin(_ track: TrackDescription) {
        shaper.withLock {
            $0 = PacketShaper(track, form: format == .annexB ? .annexBWithoutDelimiter : .lengthPrefixed)
        }
    }

    func write(_ packet: MediaPacket) throws(CaptureError) {
        let (failure, hasReceivers) = state.withLock { state in
            state.hasPackets = true
            return (state.failure, !state.receivers.isEmpty)
        }
        if let failure { throw failure }
        let shaped = try shaper.withLock { (shaper) throws(CaptureError) -> (MediaPacket, TrackDescription, Bool)? in
            guard let track = shaper?.track.id, track == packet.track else {
                throw CaptureError(
                    .formatUnsupported, operation: "write a packet", subject: address.displayName,
                    message: "A packet belongs to track \(packet.track.rawValue), with which the stream was not begun.")
            }
            // A key frame may have other parameter sets, which later receivers need to know.
            guard hasReceivers || packet.isKeyFrame, let before = shaper?.generation,
                let shaped = shaper?.shape(packet), let described = shaper?.track
            else { return nil }
            return (shaped, described, shaper?.generation != before)
        }
        guard hasReceivers, let (packet, track, isChanged) = shaped else { return }
        state.withLock { state in
            // Its header can describe one kind of pictures only.
            if isChanged, format == .matroska { state.receivers.removeAll { $0.endIfBegun() } }
            for receiver in state.receivers where receiver.push(packet, of: track) { state.isKeyFrameNeeded = true }
        }
        wake.raise()
    }

    // MARK: Receivers

    /// A receiver and the socket to it.
    typealias Connected = (socket: StreamSocket, receiver: ReceiverQueue)

    /// Adds a receiver, which needs a key frame.
    func makeReceiver(_ socket: StreamSocket, id: UInt64) -> Connected {
        let receiver = ReceiverQueue(id: id, address: socket.address.description, configuration)
        state.withLock { state in
            state.receivers.append(receiver)
            state.totals.connections += 1
            state.isKeyFrameNeeded = true
            state.connecting = nil
        }
        report(.connected(address: receiver.address))
        return (socket, receiver)
    }

    /// Removes a receiver that is gone.
    ///
    /// - Parameter unsent: the packets that were being sent.
    func remove(_ receiver: ReceiverQueue, unsent: Int, reason: String) {
        state.withLock { state in
            state.receivers.removeAll { $0 === receiver }
            let last = receiver.receiver
            state.totals.add(last)
            state.totals.packetsDropped += UInt64(last.packetsWaiting + unsent)
            state.totals.lastLoss = reason
        }
        receiver.queue.close(discardingWaitingPackets: true)
        report(.disconnected(address: receiver.address, reason: reason))
    }

    /// Calls the handler, without the lock.
    func report(_ event: StreamOutput.Event) { state.withLock { $0.handler }?(event) }

    var statistics: StreamOutput.Statistics {
        state.withLock { state in
            var statistics = state.totals
            for queue in state.receivers {
                statistics.add(queue.receiver)
                statistics.receivers.append(queue.receiver)
            }
            if let connecting = state.connecting {
                statistics.receivers = [
                    StreamOutput.Receiver(id: statistics.connections, address: address.displayName, state: connecting)
                ]
            }
            return statistics
        }
    }
}

extension StreamOutput.Statistics {
    fileprivate mutating func add(_ receiver: StreamOutput.Receiver) {
        packetsSent += receiver.packetsSent
        bytesSent += receiver.bytesSent
        packetsDropped += receiver.packetsDropped
        gaps += receiver.gaps
    }
}
