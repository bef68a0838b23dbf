import H264Bitstream
import VideoCapturing

extension StreamSource {
    /// Decodes an access unit. Returns the error that ends the connection.
    ///
    /// - Parameters:
    ///   - time: the picture's, or that of its arrival.
    ///   - isStated: whether the stream states the time.
    func decode(
        _ bytes: UnsafeRawBufferPointer, hasSlices: Bool, isKeyFrame: Bool, at time: MediaTime, isStated: Bool,
        _ connection: StreamConnection
    ) -> CaptureError? {
        guard let decoder = connection.decoder else { return nil }
        let isH264 = connection.codec == .h264
        let picture = isH264 ? inspect(bytes, connection) : nil
        guard hasSlices else {
            // Parameter sets that come by themselves.
            try? decoder.decode(bytes) { _ in }
            return nil
        }
        let isSecondField = picture?.isSecondField ?? false
        if !isSecondField { status.count { $0.picturesReceived += 1 } }
        guard connection.hasKeyFrame || picture?.isEntry ?? !isH264 else {
            status.count { $0.picturesSkipped += 1 }
            if !connection.hasReportedWait { status.report(.awaitingKeyFrame) }
            connection.hasReportedWait = true
            // The picture at which decoding begins may come without those that it needs.
            let sets = isH264 ? AnnexB.parameterSets(of: bytes) : []
            if !sets.isEmpty { sets.withUnsafeBytes { try? decoder.decode($0) { _ in } } }
            return nil
        }
        connection.hasKeyFrame = true
        func decodePicture(_ bytes: UnsafeRawBufferPointer) -> CaptureError? {
            // Both fields of a frame make one picture.
            let number =
                isSecondField
                ? .zero : connection.pending.add(time, isStated: isStated || !isH264, isKeyFrame: isKeyFrame)
            return self.decodePicture(bytes, number, isKeyFrame: isKeyFrame && isH264, at: time, connection)
        }
        guard isH264, isKeyFrame, !connection.brokenKeyFrame.isEmpty, continuesPicture(bytes) else {
            endBrokenKeyFrame(connection)
            return decodePicture(bytes)
        }
        var whole = connection.brokenKeyFrame
        connection.brokenKeyFrame = []
        for unit in AnnexB.units(in: bytes) where unit.type.isSlice { AnnexB.append(unit, to: &whole) }
        return whole.withUnsafeBytes { decodePicture($0) }
    }

    /// Whether a unit begins within a picture, with the second of its slices or a later one.
    ///
    /// Some senders repeat the parameter sets before each slice of a key frame, as GStreamer's RTP payloader does with
    /// `config-interval=-1`. By the standard each of them begins a picture.
    private func continuesPicture(_ bytes: UnsafeRawBufferPointer) -> Bool {
        for unit in AnnexB.units(in: bytes) where unit.type.isSlice { return !unit.beginsPicture }
        return false
    }

    /// What has come of a key frame is all that comes.
    private func endBrokenKeyFrame(_ connection: StreamConnection) {
        guard !connection.brokenKeyFrame.isEmpty else { return }
        connection.brokenKeyFrame = []
        countDamaged()
    }

    private func decodePicture(
        _ bytes: UnsafeRawBufferPointer, _ number: Duration, isKeyFrame: Bool, at time: MediaTime,
        _ connection: StreamConnection
    ) -> CaptureError? {
        guard let decoder = connection.decoder else { return nil }
        do {
            try decoder.decode(bytes, time: number) { take($0, $1, at: time, connection) }
            countPassedOver(connection)
            return nil
        } catch let error as CodecError where error.code == .corruptData {
            connection.pending.remove(number)
            if isKeyFrame, bytes.count <= configuration.maximumPictureBytes {
                // The next unit may have the rest.
                connection.brokenKeyFrame = Array(bytes)
            } else {
                countDamaged()
            }
            return nil
        } catch {
            return self.error(.formatUnsupported, "The pictures cannot be decoded. \(error)")
        }
    }

    /// Shows what the decoder holds back, at the end of a stream.
    func flushDecoder(_ connection: StreamConnection, _ context: FrameContext) {
        connection.isFlushed = true
        guard let decoder = connection.decoder else { return }
        endBrokenKeyFrame(connection)
        do {
            try decoder.flush { take($0, $1, at: context.now, connection) }
        } catch {
            countDamaged()
        }
        countPassedOver(connection, isAtEnd: true)
    }

    /// Takes a picture from the decoder.
    private func take(_ buffer: PixelBuffer, _ number: Duration, at now: MediaTime, _ connection: StreamConnection) {
        let time = connection.pending.take(number) ?? now
        // Those before the first were never to be seen.
        if !connection.hasPicture { countPassedOver(connection) }
        connection.hasPicture = true
        connection.ready.append(
            ReceivedFrame(
                buffer: buffer, timestamp: time, color: connection.color, pixelAspect: connection.pixelAspect,
                isInterlaced: connection.decoder?.isInterlaced ?? false))
        connection.lastPicture = timeoutClock.now
        status.count { $0.framesDecoded += 1 }
    }

    /// Counts the pictures that are not shown, as after loss until decoding can begin again.
    private func countPassedOver(_ connection: StreamConnection, isAtEnd: Bool = false) {
        let count = connection.pending.takeLost(isAtEnd: isAtEnd)
        guard count > 0 else { return }
        if connection.hasPicture { losses.lost += count }
        status.count { $0.picturesSkipped += count }
    }

    func countDamaged() {
        losses.damaged += 1
        status.count { $0.framesDamaged += 1 }
    }

    /// Counts the losses since the last call as the capture's, also those after which no frame comes.
    func countLosses(_ context: FrameContext) {
        context.countLosses(lost: losses.lost, corrupt: losses.damaged)
        losses = StreamLosses()
    }

    /// Counts the frames that are missing before this one, and follows the color that parameter sets state. Returns the
    /// picture; nil without one whose parameter sets are known.
    private func inspect(
        _ bytes: UnsafeRawBufferPointer, _ connection: StreamConnection
    ) -> FrameNumberTracker.Picture? {
        for unit in AnnexB.units(in: bytes) {
            if unit.type.isSlice { break }
            guard unit.type == .sps, let set = try? SequenceParameterSet(unit) else { continue }
            connection.color = set.color
            connection.pixelAspect = set.videoUsability?.pixelAspect ?? connection.pixelAspect
        }
        guard let picture = connection.tracker.add(bytes) else { return nil }
        if picture.lostFrames > 0, connection.hasKeyFrame {
            losses.lost += UInt64(picture.lostFrames)
            status.count { $0.framesLost += UInt64(picture.lostFrames) }
        }
        return picture
    }
}
