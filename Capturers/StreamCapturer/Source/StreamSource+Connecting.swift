import StreamTransport
import VideoCapturing

extension StreamSource {
    /// Connects, or waits for a sender, until there is a frame.
    ///
    /// Throws an error for the user; ``FrameContext/isStopping`` ends it with `invalidState`.
    func connect(_ context: FrameContext) throws(CaptureError) {
        while true {
            connection = try makeConnection(context)
            do throws(ConnectionLoss) {
                try awaitFirstFrame(context)
                return
            } catch {
                connection = nil
                countLosses(context)
                // Anyone may connect, as a port scan does; the sender that is waited for may come later.
                if listener != nil, !context.isStopping {
                    status.report(.rejected(reason: error.reason("sender")))
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
                StreamDemuxerFactory.Request(
                    url: url, timeout: configuration.stallTimeout, openingTimeout: configuration.connectTimeout
                ) { context.isStopping }),
            decoders)
        return made
    }

    private func awaitFirstFrame(_ context: FrameContext) throws(ConnectionLoss) {
        while let connection, connection.ready.isEmpty {
            guard !context.isStopping else {
                throw .failed(error(.invalidState, "The capture was stopped while it waited for the first picture."))
            }
            try read(connection, context, endsForWants: false)
        }
        guard let first = connection?.ready.first else { return }
        status.count { $0.connections += 1 }
        pictureSize = .init(width: first.buffer.width, height: first.buffer.height)
        pixelAspect = first.pixelAspect
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
    func lose(_ loss: ConnectionLoss, _ context: FrameContext) throws(CaptureError) -> Bool {
        guard !context.isStopping else { return true }
        connection = nil
        let delay = listener != nil ? .zero : configuration.reconnectDelays.first
        guard try recovery.begin(after: loss, delay: delay, context) else { return false }
        let reason = loss.reason("sender")
        status.count { $0.lastInterruption = reason }
        status.report(.disconnected(reason: reason))
        if let delay, listener == nil { status.report(.waiting(delay, attempt: 1)) }
        return true
    }

    /// Waits for the time of the next attempt and connects; also returns when the capture is being stopped.
    func recover(_ context: FrameContext) throws(CaptureError) -> Bool {
        // Started again, and no sender has come yet.
        if recovery.attempt == nil { _ = try recovery.begin(after: nil, delay: .zero, context) }
        guard let attempt = recovery.attempt, recovery.wait(context) else { return true }
        do throws(CaptureError) {
            try connect(context)
            recovery.end()
            status.count { $0.reconnects += 1 }
        } catch {
            guard !context.isStopping else { return true }
            let delays = configuration.reconnectDelays
            let configured = attempt < delays.count ? delays[attempt] : delays.last
            let delay = listener != nil ? .milliseconds(100) : configured
            try recovery.retry(after: error, delay: delay, context)
            status.report(.attemptFailed(reason: error.message, attempt: attempt))
            if let delay, listener == nil { status.report(.waiting(delay, attempt: attempt + 1)) }
        }
        return true
    }
}
