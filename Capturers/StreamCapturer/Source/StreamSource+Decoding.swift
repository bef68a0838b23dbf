import H264Bitstream
import VideoCapturing

extension StreamSource {
    /// Decodes an access unit. Returns the error that ends the connection.
    func decode(
        _ bytes: UnsafeRawBufferPointer, hasSlices: Bool, isKeyFrame: Bool, at time: MediaTime,
        _ connection: StreamConnection
    ) -> CaptureError? {
        if connection.codec == .h264 { inspect(bytes, connection) }
        guard let decoder = connection.decoder else { return nil }
        guard hasSlices else {
            // Parameter sets that come by themselves.
            try? decoder.decode(bytes) { _ in }
            return nil
        }
        status.count { $0.picturesReceived += 1 }
        guard connection.hasKeyFrame || isKeyFrame else {
            status.count { $0.picturesSkipped += 1 }
            if !connection.hasReportedWait { status.report(.awaitingKeyFrame) }
            connection.hasReportedWait = true
            return nil
        }
        connection.hasKeyFrame = true
        guard connection.codec == .h264 else { return decodePicture(bytes, isKeyFrame: true, at: time, connection) }
        guard isKeyFrame, !connection.brokenKeyFrame.isEmpty, continuesPicture(bytes) else {
            endBrokenKeyFrame(connection)
            return decodePicture(bytes, isKeyFrame: isKeyFrame, at: time, connection)
        }
        var whole = connection.brokenKeyFrame
        connection.brokenKeyFrame = []
        for unit in AnnexB.units(in: bytes) where unit.type.isSlice { AnnexB.append(unit, to: &whole) }
        return whole.withUnsafeBytes { decodePicture($0, isKeyFrame: true, at: time, connection) }
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
        _ bytes: UnsafeRawBufferPointer, isKeyFrame: Bool, at time: MediaTime, _ connection: StreamConnection
    ) -> CaptureError? {
        guard let decoder = connection.decoder else { return nil }
        connection.willDecode(time, isKeyFrame: isKeyFrame)
        do {
            try decoder.decode(bytes) { buffer in
                connection.ready.append(
                    ReceivedFrame(buffer: buffer, timestamp: connection.didDecode(time), color: connection.color))
                connection.lastPicture = timeoutClock.now
                status.count { $0.framesDecoded += 1 }
            }
            if !connection.didReturn() {
                // After loss nothing is shown until the next key frame.
                losses.lost += 1
                status.count { $0.picturesSkipped += 1 }
            }
            return nil
        } catch let error as CodecError where error.code == .corruptData {
            _ = connection.didReturn()
            connection.mayHoldStaleTimes = true
            if isKeyFrame, connection.codec == .h264, bytes.count <= configuration.maximumPictureBytes {
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

    func countDamaged() {
        losses.damaged += 1
        status.count { $0.framesDamaged += 1 }
    }

    /// Counts the losses since the last call as the capture's, also those after which no frame comes.
    func countLosses(_ context: FrameContext) {
        context.countLosses(lost: losses.lost, corrupt: losses.damaged)
        losses = StreamLosses()
    }

    /// Counts the frames that are missing before this one, and follows the color that parameter sets state.
    private func inspect(_ bytes: UnsafeRawBufferPointer, _ connection: StreamConnection) {
        for unit in AnnexB.units(in: bytes) {
            if unit.type.isSlice { break }
            guard unit.type == .sps, let set = try? SequenceParameterSet(unit) else { continue }
            connection.color = set.color
            // Baseline has no B slices; without a statement of others the decoder finds out.
            let stated = set.videoUsability?.restriction?.reorderedFrameCount
            connection.reorderedFrameCount = stated ?? (set.profile == 66 ? 0 : set.referenceFrameCount)
        }
        guard let picture = connection.tracker.add(bytes), picture.lostFrames > 0, connection.hasKeyFrame else {
            return
        }
        connection.mayHoldStaleTimes = true
        losses.lost += UInt64(picture.lostFrames)
        status.count { $0.framesLost += UInt64(picture.lostFrames) }
    }
}
