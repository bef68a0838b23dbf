import FrameProcessing
import VideoCapturing

extension MJPEGSource {
    /// The frame of an image; nil when it is damaged, or not due.
    func makeFrame(of picture: ReceivedPicture) -> SourceFrame? {
        let before = picture.losses
        losses += before
        count(before)
        taken &+= 1 &+ before.damaged &+ before.oversized &+ before.skipped
        guard limiter.shouldPass(picture.arrival, sequenceNumber: taken, at: maximumFrameRate) else {
            status.count { $0.framesDecimated += 1 }
            pool.giveBack(picture.block)
            return nil
        }
        do {
            let header = try JPEGHeader(picture.block.bytes)
            let isCompressed = wants.acceptsCompressed
            let decoded = isCompressed ? nil : try fitted(try decode(picture))
            let jpeg = try wrap(picture, header)
            var frame = SourceFrame(decoded ?? jpeg, timestamp: picture.arrival)
            if !isCompressed { frame.compressed = jpeg }
            frame.color = .jpeg
            frame.estimatedCaptureDelay = picture.delay
            adoptSize(header)
            connection?.damagedSince = nil
            return frame
        } catch {
            // The losses before it are counted already.
            losses.damaged &+= 1
            status.count { $0.framesDamaged += 1 }
            if connection?.damagedSince == nil { connection?.damagedSince = timeoutClock.now }
            return nil
        }
    }

    /// The rate that consumers want, or that was asked for, whichever is lower.
    var maximumFrameRate: FrameRate? {
        guard let wanted = wants.maximumFrameRate, let asked = configuration.maximumFrameRate else {
            return wants.maximumFrameRate ?? configuration.maximumFrameRate
        }
        return min(wanted, asked)
    }

    /// The size of the image determines the settings.
    func adoptSize(_ header: JPEGHeader) {
        let size = PixelSize(width: header.width, height: header.height)
        guard size != pictureSize else { return }
        pictureSize = size
        adoptFormat()
    }

    func decode(_ picture: ReceivedPicture) throws(CodecError) -> PixelBuffer {
        if decoder == nil { decoder = JPEGReader(pixelFormat: configuration.pixelFormat) }
        let buffer = try decoder!.decode(picture.block.bytes)
        status.count { $0.framesDecoded += 1 }
        return buffer
    }

    /// Scaled to what consumers want.
    private func fitted(_ buffer: PixelBuffer) throws(CaptureError) -> PixelBuffer {
        let size = wants.adaptedSize(width: buffer.width, height: buffer.height)
        guard size != (buffer.width, buffer.height) else { return buffer }
        return try processor.apply(
            FrameTransform(size: PixelSize(width: size.width, height: size.height)), to: buffer, color: .jpeg
        ).buffer
    }

    /// Wraps the bytes of the image without a copy; their memory returns to the pool after the last use.
    private func wrap(_ picture: ReceivedPicture, _ header: JPEGHeader) throws(CaptureError) -> PixelBuffer {
        let block = picture.block
        let bytes = block.bytes
        return try PixelBuffer(
            wrapping: PlaneList(
                PixelBuffer.PlaneMemory(base: bytes.baseAddress!, byteCount: bytes.count, bytesPerRow: bytes.count)),
            as: .mjpeg, width: header.width, height: header.height
        ) { [pool] in pool.giveBack(block) }
    }

    /// Records a complete image that cannot be decoded.
    func recordDamaged(_ picture: ReceivedPicture) {
        losses += picture.losses
        losses.damaged &+= 1
        count(picture.losses)
        status.count { $0.framesDamaged += 1 }
        pool.giveBack(picture.block)
    }

    /// Records the losses of a closed connection that were not delivered with an image.
    func collectLosses() {
        guard let rest = connection?.parser?.takeLosses() else { return }
        losses += rest
        count(rest)
    }

    /// Counts the losses since the last call as the capture's, also those after which no frame comes.
    func countLosses(_ context: FrameContext) {
        guard losses != StreamLosses() else { return }
        context.countLosses(lost: losses.oversized &+ losses.skipped, corrupt: losses.damaged)
        losses = StreamLosses()
    }

    private func count(_ losses: StreamLosses) {
        guard losses != StreamLosses() else { return }
        status.count { statistics in
            statistics.framesDamaged &+= losses.damaged
            statistics.framesOversized &+= losses.oversized
            statistics.framesSkipped &+= losses.skipped
        }
    }
}
