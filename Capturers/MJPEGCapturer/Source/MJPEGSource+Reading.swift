import CLibCURL
import HTTPTransport
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension MJPEGSource {
    /// The next frame that is due; nil when the capture is being stopped, or there are new wants.
    func awaitFrame(_ context: FrameContext) throws(ConnectionLoss) -> SourceFrame? {
        // The time of the consumer does not count for the server's timeout.
        let now = timeoutClock.now
        connection?.lastByte = now
        connection?.lastPicture = now
        while !context.mustReturn {
            // After a consumer that returns at once there is nothing to read, which curl would take long to find out.
            if !isDrained || context.now.nanoseconds(since: lastRead) > 1_000_000 { try read(context) }
            while let picture = backlog.next(now: context.now, pool: pool) {
                if let frame = makeFrame(of: picture) { return frame }
            }
            collectLosses()
            countLosses(context)
            if let start = connection?.damagedSince, timeoutClock.now - start >= configuration.stallTimeout {
                throw .stalled(
                    failure.error(
                        .stalled, "All pictures that come are damaged; check the network, or restart the camera."))
            }
            try wait(context)
        }
        return nil
    }

    /// Reads everything that has arrived, without waiting.
    func read(_ context: FrameContext) throws(ConnectionLoss) {
        guard let transfer, connection != nil else { return }
        let before = connection?.pictureCount ?? 0
        let start = transfer.bytesReceived
        // Less than curl's buffer means that nothing more has arrived, except with TLS, which is read in pieces.
        var mayBeMore: Bool
        repeat {
            if transfer.bodySocket >= 0 {
                mayBeMore = receiveBody(transfer, context)
                continue
            }
            let last = transfer.bytesReceived
            transfer.work()
            mayBeMore = transfer.bytesReceived - last >= (transfer.isEncrypted ? 1 : HTTPTransfer.bufferSize)
            if connection?.phase == .stream { transfer.receiveDirectly() }
        } while mayBeMore && transfer.result == nil && transfer.bytesReceived - start < MJPEGSource.maximumBytesAtOnce
            && !context.isStopping
        let now = context.now
        let count = (connection?.pictureCount ?? 0) - before
        backlog.recordRead(count: count, since: lastRead, now: now, isLate: !hasWaited)
        lastRead = now
        isDrained = transfer.result == nil && transfer.bytesReceived - start < MJPEGSource.maximumBytesAtOnce
        hasWaited = false
        if transfer.bytesReceived != start {
            status.count { statistics in
                statistics.bytesReceived &+= transfer.bytesReceived - start
                statistics.framesReceived &+= UInt64(count)
            }
        }
    }

    /// A limit, so that a server that sends faster than it is read does not prevent the delivery of frames.
    private static let maximumBytesAtOnce: UInt64 = 64 << 20

    /// Waits until more may have arrived, or the capture is stopped; throws when the connection has ended.
    func wait(_ context: FrameContext, atMost limit: Duration? = nil) throws(ConnectionLoss) {
        guard let transfer, let connection else { return }
        isDrained = false
        if connection.phase == .picture, connection.pictureCount > 0 || transfer.result == CURLE_OK {
            return try poll(context)
        }
        if let result = transfer.result { return try conclude(result, context) }
        let now = timeoutClock.now
        let deadline = self.deadline(of: connection, isConnected: transfer.isConnected)
        guard now < deadline else { throw .stalled(stalled(connection, isConnected: transfer.isConnected)) }
        transfer.wait(atMost: min(deadline - now, limit ?? .seconds(3600)), stop: context.stopDescriptor)
        hasWaited = true
    }

    private func deadline(of connection: StreamConnection, isConnected: Bool) -> MediaTime {
        guard isConnected else { return connection.began.advanced(by: configuration.connectTimeout) }
        // A server may also send forever without an image.
        return min(
            connection.lastByte.advanced(by: configuration.stallTimeout),
            connection.lastPicture.advanced(by: longestWithoutPicture))
    }

    private func stalled(_ connection: StreamConnection, isConnected: Bool) -> CaptureError {
        let host = address?.host ?? ""
        let message =
            if !isConnected {
                "\(host) did not answer within \(configuration.connectTimeout.seconds.formatted) s; check that the camera is on and reachable."
            } else if timeoutClock.now - connection.lastByte >= configuration.stallTimeout {
                "Nothing has come for \(configuration.stallTimeout.seconds.formatted) s; check the network, or restart the camera."
            } else {
                "Bytes come, but no whole pictures; restart the camera."
            }
        return failure.error(.stalled, message)
    }

    /// Handles the end of the transfer: its reason, and a last image in the received bytes.
    private func conclude(_ result: CURLcode, _ context: FrameContext) throws(ConnectionLoss) {
        guard let connection, let transfer else { return }
        if connection.phase == .waiting {
            if try askOtherwise(result, context) { return }
            if let refusal = connection.refusal { throw .failed(refusal) }
            if result != CURLE_OK { throw .failed(failure.failure(result, of: transfer)) }
            if let refusal = failure.refusal(of: transfer, hadCredential: credential != nil) {
                throw .failed(refusal)
            }
            throw .ended
        }
        let hasEnded = connection.parser?.hasEnded ?? false
        if !hasEnded, finishParser() { return }
        if result == CURLE_OK || hasEnded {
            if isOfSinglePictures(connection) { return try poll(context) }
            throw .ended
        }
        throw .failed(failure.failure(result, of: transfer))
    }

    /// Repeats the request with the lenient parser of heads, for a response that curl's cannot read. True when it has done
    /// so.
    private func askOtherwise(_ result: CURLcode, _ context: FrameContext) throws(ConnectionLoss) -> Bool {
        switch leniency {
        // A line of a head that is longer than curl takes is "out of memory" to it.
        case .none where [CURLE_WEIRD_SERVER_REPLY, CURLE_OUT_OF_MEMORY].contains(result): leniency = .lenient
        case .lenient where transfer?.head.status == 401 && credential != nil: leniency = .lenientWithCredential
        default: return false
        }
        do throws(CaptureError) { try begin(context) } catch { throw .failed(error) }
        return true
    }

    /// True when the received bytes contained a last image.
    private func finishParser() -> Bool {
        var count = 0
        let now = lastRead
        connection?.parser?.finish { picture in
            receive(picture, at: now)
            count += 1
        }
        connection?.pictureCount += count
        return count > 0
    }

    // MARK: - Polling

    /// Whether the server ends each response after one image: some cameras call a snapshot a stream. After a few such
    /// responses it is polled, and the next one is no interruption.
    private func isOfSinglePictures(_ connection: StreamConnection) -> Bool {
        if !connection.isConcluded {
            connection.isConcluded = true
            singlePictures = connection.pictureCount == 1 ? singlePictures + 1 : 0
        }
        return singlePictures >= MJPEGSource.provingSinglePictures
    }

    private static let provingSinglePictures = 3

    /// Requests the next image when it is due.
    private func poll(_ context: FrameContext) throws(ConnectionLoss) {
        guard let connection, let transfer else { return }
        if connection.pictureCount == 0, finishParser() { return }
        let slowest = maximumFrameRate?.frameInterval ?? .zero
        let due = connection.requested.advanced(by: max(configuration.pollInterval, slowest))
        guard context.wait(until: due, endsForWants: true) else { return }
        // After a response that is read to its end the connection is reused.
        transfer.work()
        collectLosses()
        do throws(CaptureError) { try begin(context) } catch { throw .failed(error) }
        status.count { $0.polls += 1 }
    }

    // MARK: - Receiving

    /// Called by curl, from inside ``read(_:)``.
    func takeBody(_ bytes: UnsafeRawBufferPointer, _ context: FrameContext) -> Bool {
        guard connection != nil else { return false }
        let now = timeoutClock.now
        connection?.lastByte = now
        if connection?.phase == .waiting {
            guard classify() else { return false }
        }
        let arrival = context.now
        var count = 0
        connection?.parser?.feed(bytes) { picture in
            receive(picture, at: arrival)
            count += 1
        }
        if count > 0 {
            connection?.pictureCount += count
            connection?.lastPicture = now
        }
        return connection?.parser?.hasEnded == false
    }

    /// Receives from a plain body. True when more may have arrived.
    private func receiveBody(_ transfer: HTTPTransfer, _ context: FrameContext) -> Bool {
        guard let connection, transfer.result == nil else { return false }
        let before = transfer.bytesReceived
        var count = 0
        func take(_ picture: ReceivedPicture) {
            receive(picture, at: context.now)
            count += 1
        }
        let isFilled = connection.parser?.receive({ transfer.receiveBody(into: $0) }, output: take)
        guard let isFilled else {
            transfer.result = CURLE_OUT_OF_MEMORY
            return false
        }
        guard transfer.bytesReceived != before else { return false }
        connection.lastByte = timeoutClock.now
        if count > 0 {
            connection.pictureCount += count
            connection.lastPicture = connection.lastByte
        }
        // As when a callback of curl ends the transfer.
        if connection.parser?.hasEnded == true { transfer.result = CURLE_WRITE_ERROR }
        return isFilled
    }

    /// Chooses the parser by the head; false when the body cannot be read.
    private func classify() -> Bool {
        guard let transfer else { return false }
        if let refusal = failure.refusal(of: transfer, hadCredential: credential != nil) {
            connection?.refusal = refusal
            return false
        }
        let head = transfer.head
        let isPicture = head.contentType?.isPicture ?? false
        isPolled = isPicture
        connection?.phase = isPicture ? .picture : .stream
        connection?.parser = MultipartParser(
            isPicture ? .picture(length: head.contentLength) : .parts(boundary: head.contentType?.boundary),
            maximumFrameBytes: configuration.maximumFrameBytes, pool: pool)
        return true
    }

    private func receive(_ picture: ReceivedPicture, at arrival: MediaTime) {
        var picture = picture
        picture.arrival = arrival
        if let serverTime = picture.serverTime {
            status.count { $0.serverTime = serverTime }
            // Only with one common clock, and for plausible delays.
            if transfer?.isOnThisMachine == true {
                let delay = wallClockTime() - serverTime
                if delay >= .zero, delay < .seconds(10) { picture.delay = delay }
            }
        }
        backlog.append(picture, pool: pool)
    }
}
