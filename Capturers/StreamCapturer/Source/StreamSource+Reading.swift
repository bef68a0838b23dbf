import FrameProcessing
import H264Bitstream
import StreamTransport
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension StreamSource {
    /// The next frame; nil when the capture is being stopped, or consumers want something else.
    func awaitFrame(_ context: FrameContext) throws(ConnectionLoss) -> SourceFrame? {
        guard let connection else { return nil }
        // The time of the consumer does not count for the sender's timeout.
        connection.lastByte = timeoutClock.now
        connection.lastPicture = connection.lastByte
        while !context.isStopping {
            if !connection.ready.isEmpty { return try makeFrame(connection.ready.removeFirst()) }
            countLosses(context)
            guard try read(connection, context, endsForWants: true) else { return nil }
        }
        return nil
    }

    /// Waits for bytes, and decodes what they complete. False when it makes way for new wants, or for a stop.
    @discardableResult
    func read(
        _ connection: StreamConnection, _ context: FrameContext, endsForWants: Bool
    ) throws(ConnectionLoss) -> Bool {
        guard !(endsForWants ? context.mustReturn : context.isStopping) else { return false }
        if connection.isFlushed { throw connection.end ?? .ended }
        // A demuxer has packets left when the connection has ended.
        if connection.demuxer != nil { return try readPacket(connection, context) }
        if let (unit, bytes) = connection.units.take() {
            try decode(unit, bytes, connection)
            return true
        }
        if connection.end != nil {
            flushDecoder(connection, context)
            return true
        }
        guard let socket = connection.socket else { return false }
        let now = timeoutClock.now
        let deadline = min(
            connection.lastByte.advanced(by: configuration.stallTimeout),
            connection.lastPicture.advanced(by: configuration.stallTimeout * 2))
        guard now < deadline else {
            connection.end = .stalled(stalled(connection))
            return true
        }
        let mayFlush = configuration.endsPicturesAtPauses && connection.mayFlush
        let limit = mayFlush ? min(deadline, now.advanced(by: connection.pause)) : deadline
        let interrupt = endsForWants ? context.returnDescriptor : context.stopDescriptor
        let found = pollInput(socket.descriptor, interruptedBy: interrupt, until: limit)
        if found.contains(.interrupted) { return false }
        guard !found.isEmpty else {
            if mayFlush { connection.flush(arrival: context.now) }
            return true
        }
        try receive(connection, socket, context)
        return true
    }

    private func stalled(_ connection: StreamConnection) -> CaptureError {
        let time = configuration.stallTimeout
        if timeoutClock.now - connection.lastByte >= configuration.stallTimeout {
            return error(.stalled, "Nothing has come for \(time.inSeconds); check the sender, or the network.")
        }
        return connection.hasKeyFrame
            ? error(.stalled, "Bytes come, but no pictures that can be decoded; check what the sender encodes.")
            : error(
                .stalled,
                "No key frame has come for \((time * 2).inSeconds), from which the stream could be shown; set the sender to one each "
                    + "second or two.")
    }

    // MARK: Raw streams

    private func receive(
        _ connection: StreamConnection, _ socket: StreamSocket, _ context: FrameContext
    ) throws(ConnectionLoss) {
        let (count, failure) = withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 64) {
            block -> (Int, ConnectionLoss?) in
            let count = socket.receive(into: block)
            guard count > 0 else { return (count, nil) }
            do throws(ConnectionLoss) {
                try take(UnsafeRawBufferPointer(rebasing: block[..<count]), connection, context)
                return (count, nil)
            } catch {
                return (count, error)
            }
        }
        if let failure { throw failure }
        if count > 0 {
            connection.lastByte = timeoutClock.now
            status.count { $0.bytesReceived += UInt64(count) }
        } else if count == 0 {
            // The last unit is whole.
            connection.flush(arrival: context.now)
            connection.end = connection.kind == nil ? .failed(unknown(connection.head)) : .ended
        } else if count != -Int(EAGAIN) {
            connection.end = .failed(lost(Int32(-count)))
        }
    }

    private func lost(_ code: Int32) -> CaptureError {
        guard let address else { return error(.deviceLost, "The connection is lost.") }
        return CaptureError(socket: code, operation: "receive the stream", address)
    }

    private func take(
        _ bytes: UnsafeRawBufferPointer, _ connection: StreamConnection, _ context: FrameContext
    ) throws(ConnectionLoss) {
        guard connection.decoder == nil else { return parse(bytes, connection, context) }
        connection.head.append(contentsOf: bytes)
        do throws(StreamProbe.Unknown) {
            let found = try StreamProbe.look(at: connection.head, isComplete: false)
            if connection.kind == nil { connection.kind = found }
        } catch {
            // A format that was asked for is taken at the user's word, but for a codec that is surely another.
            if connection.kind == nil || error.name != nil { throw .failed(unknown(connection.head, error.name)) }
        }
        do throws(CaptureError) {
            switch connection.kind {
            case nil: return
            case .container(let name)?: try openContainer(name, connection, context)
            case .annexB?, .lengthPrefixed?: try connection.begin(decoders)
            }
        } catch {
            throw .failed(error)
        }
        guard connection.demuxer == nil else { return }
        let head = connection.head
        connection.head = []
        head.withUnsafeBytes { parse($0, connection, context) }
    }

    private func unknown(_ head: [UInt8], _ name: String? = nil) -> CaptureError {
        if let name {
            return error(
                .formatUnsupported, "The stream is \(name), for which there is no decoder; set the sender to H.264.")
        }
        guard !head.isEmpty else {
            return error(.formatUnsupported, "The sender has ended the connection without sending anything.")
        }
        return error(
            .formatUnsupported,
            "The stream is not H.264, Matroska or MPEG-TS: it begins with \(StreamProbe.Unknown(first: Array(head.prefix(8)))). "
                + "Check the sender, or name the format in the address, as in ?format=h264.")
    }

    private func parse(_ bytes: UnsafeRawBufferPointer, _ connection: StreamConnection, _ context: FrameContext) {
        do throws(LengthUnwrapper.Implausible) {
            try connection.append(bytes, at: timeoutClock.now, arrival: context.now)
        } catch {
            connection.end = .failed(
                self.error(
                    .corruptData,
                    "A NAL unit claims to have \(error.length) bytes; what comes is no H.264 behind lengths, or damaged."
                ))
        }
        let oversized = connection.takeOversizedUnits()
        if oversized > 0 {
            losses.damaged += oversized
            status.count { $0.framesDamaged += oversized }
        }
    }

    /// Decodes a unit of a raw stream.
    private func decode(
        _ unit: UnitQueue.Unit, _ bytes: ArraySlice<UInt8>, _ connection: StreamConnection
    ) throws(ConnectionLoss) {
        let failure = bytes.withUnsafeBytes {
            decode(
                $0, hasSlices: unit.hasSlices, isKeyFrame: unit.isKeyFrame, at: unit.arrival, isStated: false,
                connection)
        }
        if let failure { throw .failed(failure) }
    }

    // MARK: Containers

    private func openContainer(
        _ name: String, _ connection: StreamConnection, _ context: FrameContext
    ) throws(CaptureError) {
        guard let demuxer, let socket = connection.socket else {
            throw error(
                .formatUnsupported, "The stream is \(name), which the program links nothing for; send raw H.264.")
        }
        let timeout = configuration.stallTimeout
        let request = StreamDemuxerFactory.Request(
            url: url,
            source: .bytes { [unowned self, unowned connection] memory in
                read(into: memory, connection, socket, context)
            }, format: name, timeout: timeout
        ) { context.isStopping }
        do throws(CaptureError) {
            try connection.begin(demuxer.open(request), decoders)
        } catch {
            throw connection.end?.error ?? error
        }
    }

    /// Called by the demuxer.
    private func read(
        into memory: UnsafeMutableRawBufferPointer, _ connection: StreamConnection, _ socket: StreamSocket,
        _ context: FrameContext
    ) -> Int {
        if !connection.head.isEmpty {
            let count = min(memory.count, connection.head.count)
            memory.copyBytes(from: connection.head[..<count])
            connection.head.removeFirst(count)
            return count
        }
        while connection.end == nil {
            let count = socket.receive(into: memory)
            if count > 0 {
                connection.lastByte = timeoutClock.now
                status.count { $0.bytesReceived += UInt64(count) }
                return count
            }
            if count == 0 {
                connection.end = .ended
            } else if count != -Int(EAGAIN) {
                connection.end = .failed(lost(Int32(-count)))
            } else {
                let deadline = connection.lastByte.advanced(by: configuration.stallTimeout)
                let found = pollInput(socket.descriptor, interruptedBy: context.stopDescriptor, until: deadline)
                if found.contains(.interrupted) { return 0 }
                if found.isEmpty { connection.end = .stalled(stalled(connection)) }
            }
        }
        return 0
    }

    private func readPacket(
        _ connection: StreamConnection, _ context: FrameContext
    ) throws(ConnectionLoss) -> Bool {
        guard let demuxer = connection.demuxer else { return false }
        let mayGoOn: Bool
        do throws(CaptureError) {
            var failure: CaptureError?
            mayGoOn = try demuxer.nextPacket { (bytes, stated) throws(CaptureError) in
                let time = connection.place(stated, arrival: context.now)
                connection.lastByte = timeoutClock.now
                failure = takePacket(bytes, connection, at: time, isStated: stated != nil)
            }
            if let failure { throw failure }
        } catch {
            if context.isStopping { return false }
            return end(connection, error.code == .stalled ? .stalled(error) : .failed(error), context)
        }
        if context.isStopping { return false }
        guard mayGoOn else { return end(connection, .ended, context) }
        let limit = connection.lastPicture.advanced(by: configuration.stallTimeout * 2)
        if timeoutClock.now >= limit { return end(connection, .stalled(stalled(connection)), context) }
        return true
    }

    /// Ends what a demuxer reads, for the reason that the connection has where there is one.
    private func end(_ connection: StreamConnection, _ loss: ConnectionLoss, _ context: FrameContext) -> Bool {
        if connection.end == nil { connection.end = loss }
        flushDecoder(connection, context)
        return true
    }

    private func takePacket(
        _ bytes: UnsafeRawBufferPointer, _ connection: StreamConnection, at time: MediaTime, isStated: Bool
    ) -> CaptureError? {
        guard connection.codec == .h264 else {
            return decode(bytes, hasSlices: true, isKeyFrame: true, at: time, isStated: true, connection)
        }
        guard let lengthSize = connection.lengthSize else {
            return decodeH264(bytes, at: time, isStated: isStated, connection)
        }
        connection.scratch.removeAll(keepingCapacity: true)
        // Before each, since that costs little, and any may be the first.
        if !connection.hasKeyFrame { connection.scratch.append(contentsOf: connection.parameterSets) }
        do throws(CodecError) {
            try AnnexB.append(lengthPrefixed: bytes, lengthSize: lengthSize, to: &connection.scratch)
        } catch {
            countDamaged()
            return nil
        }
        let stream = connection.scratch
        return stream.withUnsafeBytes { decodeH264($0, at: time, isStated: isStated, connection) }
    }

    private func decodeH264(
        _ bytes: UnsafeRawBufferPointer, at time: MediaTime, isStated: Bool, _ connection: StreamConnection
    ) -> CaptureError? {
        var (hasSlices, isKeyFrame) = (false, false)
        for unit in AnnexB.units(in: bytes) where unit.type.isSlice {
            hasSlices = true
            isKeyFrame = unit.type == .idrSlice
            break
        }
        return decode(
            bytes, hasSlices: hasSlices, isKeyFrame: isKeyFrame, at: time, isStated: isStated, connection)
    }

    // MARK: Frames

    private func makeFrame(_ received: ReceivedFrame) throws(ConnectionLoss) -> SourceFrame {
        let size = PixelSize(width: received.buffer.width, height: received.buffer.height)
        if size != pictureSize || received.pixelAspect != settings.format.pixelAspect {
            pictureSize = size
            pixelAspect = received.pixelAspect
            adoptFormat(received.buffer.pixelFormat)
        }
        let color = received.color ?? .assumed(for: received.buffer.pixelFormat)
        do {
            var buffer = received.buffer
            if received.isInterlaced, configuration.deinterlaces {
                buffer = try processor.deinterlace(buffer)
                if !hasReportedFields { status.report(.interlaced) }
                hasReportedFields = true
            }
            var frame = SourceFrame(try fitted(buffer, color), timestamp: received.timestamp)
            frame.color = color
            frame.pixelAspect = received.pixelAspect
            return frame
        } catch {
            throw .failed(self.error(.system, "The pictures cannot be scaled. \(error)"))
        }
    }

    /// Scaled to what consumers want.
    private func fitted(_ buffer: PixelBuffer, _ color: ColorDescription) throws -> PixelBuffer {
        let size = wants.adaptedSize(width: buffer.width, height: buffer.height)
        guard size != (buffer.width, buffer.height) else { return buffer }
        return try processor.apply(
            FrameTransform(size: PixelSize(width: size.width, height: size.height)), to: buffer, color: color
        ).buffer
    }
}
