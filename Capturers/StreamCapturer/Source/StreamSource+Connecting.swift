import StreamTransport
import VideoCapturing

extension StreamSource {
    /// Connects, or waits for a sender, until there is a frame.
    ///
    /// Throws an error for the user; ``FrameContext/isStopping`` ends it with `invalidState`.
    func connect(_ context: FrameContext) throws(CaptureError) {
        while true {
            connection = try makeConnection(context)
            do throws(StreamLoss) {
                try awaitFirstFrame(context)
                return
            } catch {
                connection = nil
                losses = StreamLosses()
                // Whoever connects and sends nothing is no reason to stop waiting for another.
                if listener != nil, !context.isStopping {
                    status.report(.disconnected(reason: error.reason))
                    if case .failed(let error) = error, error.code == .formatUnsupported { throw error }
                    continue
                }
                throw error.error ?? self.error(.formatUnsupported, "The stream ends before its first picture.")
            }
        }
    }

    private func makeConnection(_ context: FrameContext) throws(CaptureError) -> StreamConnection {
        guard let address else { return try openDemuxer(context) }
        let socket: StreamSocket
        if let listener {
            socket = try accept(listener, context)
        } else {
            socket = try StreamSocket.connect(
                to: address, timeout: configuration.connectTimeout, interruptedBy: context.stopDescriptor)
        }
        socket.limitReceiveBuffer(to: 256 << 10)
        status.report(.connected(address: socket.address.description))
        let made = StreamConnection(
            socket, maximumPictureBytes: configuration.maximumPictureBytes, now: timeoutClock.now)
        made.kind = format?.probe
        return made
    }

    private func accept(_ listener: StreamSocket, _ context: FrameContext) throws(CaptureError) -> StreamSocket {
        while !context.isStopping {
            do throws(CaptureError) {
                if let socket = try listener.accept() { return socket }
                _ = pollInput(listener.descriptor, interruptedBy: context.stopDescriptor, until: nil)
            } catch {
                // Another sender can be accepted when descriptors are free again.
                context.wait(until: context.now.advanced(by: .milliseconds(100)))
            }
        }
        throw error(.invalidState, "The capture was stopped while it waited for a sender.")
    }

    private func openDemuxer(_ context: FrameContext) throws(CaptureError) -> StreamConnection {
        guard let demuxer else { throw error(.unavailable, "Nothing is linked that reads this address.") }
        let made = StreamConnection(
            nil, maximumPictureBytes: configuration.maximumPictureBytes, now: timeoutClock.now)
        try made.begin(
            demuxer.open(
                StreamDemuxerFactory.Request(url: url, timeout: configuration.connectTimeout) { context.isStopping }),
            decoders)
        return made
    }

    private func awaitFirstFrame(_ context: FrameContext) throws(StreamLoss) {
        while let connection, connection.ready.isEmpty {
            guard !context.isStopping else {
                throw .failed(error(.invalidState, "The capture was stopped while it waited for the first picture."))
            }
            try read(connection, context, endsForWants: false)
        }
        guard let first = connection?.ready.first else { return }
        status.count { $0.connections += 1 }
        pictureSize = .init(width: first.buffer.width, height: first.buffer.height)
        adoptFormat(first.buffer.pixelFormat)
        status.report(
            .began(
                format: connection?.formatName ?? "", width: first.buffer.width, height: first.buffer.height))
    }

    // MARK: Recovery

    /// Handles a lost connection: reports it, and schedules the next attempt. False when there is none, and no error
    /// either.
    ///
    /// Throws the error that ends the capture.
    func lose(_ loss: StreamLoss, _ context: FrameContext) throws(CaptureError) -> Bool {
        guard !context.isStopping else { return true }
        connection = nil
        guard let delay = listener != nil ? .zero : configuration.reconnectDelays.first else {
            guard var error = loss.error else { return false }
            if case .failed = loss { error.code = .deviceLost }
            throw error
        }
        if case .stalled = loss {
            context.reportInterruption(.stalled)
        } else {
            context.reportInterruption(.deviceDisconnected)
        }
        outage = StreamInterruption(due: context.now.advanced(by: delay))
        status.count { [reason = loss.reason] in $0.lastInterruption = reason }
        status.report(.disconnected(reason: loss.reason))
        if listener == nil { status.report(.waiting(delay, attempt: 1)) }
        return true
    }

    /// Waits for the time of the next attempt and connects; also returns when the capture is being stopped.
    func recover(_ context: FrameContext) throws(CaptureError) -> Bool {
        let outage = self.outage ?? StreamInterruption(due: context.now)
        if self.outage == nil {
            // Started again, and no sender has come yet.
            context.reportInterruption(.deviceDisconnected)
            self.outage = outage
        }
        guard context.wait(until: outage.due) else { return true }
        do throws(CaptureError) {
            try connect(context)
            self.outage = nil
            status.count { $0.reconnects += 1 }
        } catch {
            guard !context.isStopping else { return true }
            let next = outage.attempt + 1
            let delays = configuration.reconnectDelays
            let delay = next - 1 < delays.count ? delays[next - 1] : delays.last
            guard let delay = listener != nil ? .milliseconds(100) : delay else { throw error }
            self.outage = StreamInterruption(attempt: next, due: context.now.advanced(by: delay))
            status.report(.attemptFailed(reason: error.message, attempt: outage.attempt))
            if listener == nil { status.report(.waiting(delay, attempt: next)) }
        }
        return true
    }
}
