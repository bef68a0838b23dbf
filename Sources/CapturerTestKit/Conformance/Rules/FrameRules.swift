import Digests
import VideoCapturing

/// Each frame is complete: planes and strides fit the buffer, size, pixel format and colour are true.
extension ConformanceTrial<PictureMedium> {
    func checkPlanesFit() throws {
        let recorder = RecordingConsumer(limit: 4)
        for frame in try frames(recorder) {
            let (format, planes) = (frame.pixelFormat, frame.buffer.planes)
            try require(
                planes.count == format.planeCount,
                "\(format) has \(format.planeCount) planes, but a frame had \(planes.count).")
            for (index, plane) in planes.enumerated() {
                let isRight =
                    plane.rows == format.rows(ofPlane: index, height: frame.height)
                    && plane.bytesPerRow >= plane.rowBytes
                    && (format.isCompressed || plane.rowBytes == format.rowBytes(ofPlane: index, width: frame.width))
                    && plane.byteCount
                        >= PixelBuffer.Plane.minimumByteCount(
                            rowBytes: plane.rowBytes, bytesPerRow: plane.bytesPerRow, rows: plane.rows)
                try require(isRight, "Plane \(index) of a frame of \(frame.width)x\(frame.height) is \(plane).")
            }
            try require(MemoryInspection.isReadable(frame.buffer), "The rows of a frame cannot be read.")
        }
    }

    func checkTrueFormat() throws {
        let recorder = RecordingConsumer(limit: 8)
        let capture = try make()
        for frame in try frames(recorder, of: capture) {
            let stated = capture.captureSettings().format
            try require(
                (frame.width, frame.height, frame.pixelFormat)
                    == (stated.imageWidth, stated.imageHeight, stated.pixelFormat),
                "The settings say \(stated.name), but a frame is \(frame.format.name).")
        }
    }

    func checkTrueColor() throws {
        for frame in try frames(RecordingConsumer(limit: 4)) where frame.pixelFormat.isRGB {
            try require(
                frame.color.range == .full, "A frame in \(frame.pixelFormat) says that its range is limited.")
        }
    }

    func checkTrueFrameRate() throws {
        let probe = ProbeConsumer()
        let capture = try make()
        capture.videoCaptureConsumer = probe
        try initialize(capture)
        for round in 1...2 {
            try requireOnce(of: 5) {
                let before = probe.count
                try start(capture)
                try awaitFrames(12, after: before, at: probe, of: capture)
                try stop(capture)
                return untrueRate(in: Array(probe.calls.dropFirst(before).prefix(32)))
            }
            if round == 1 { pause(max(.milliseconds(200), frameInterval(of: capture) * 12)) }
        }
    }

    /// The fault of the stated rate against that of the timestamps, with room for jitter; nil without one.
    private func untrueRate(in calls: [ProbeConsumer.Call]) -> String? {
        for end in calls.indices.dropFirst(8) {
            guard let stated = calls[end].frameRate?.framesPerSecond, let measured = rate(of: calls[...end]) else {
                continue
            }
            guard stated > measured / 2.5, stated < measured * 2.5 else {
                return "A frame says that its rate is \(stated); by the timestamps it is \(measured)."
            }
        }
        return nil
    }

    func checkKeptFramesStay() throws {
        let limit = 6
        let kept = Locked<(frames: [VideoFrame], digests: [String])>(([], []))
        let probe = ProbeConsumer { frame, number in
            guard number < limit, MemoryInspection.isReadable(frame.buffer) else { return }
            let digest = MD5.hexDigest(of: frame.buffer)
            kept.withLock { kept in
                kept.frames.append(frame)
                kept.digests.append(digest)
            }
        }
        let capture = try make()
        func requireUnchanged(_ moment: String) throws {
            let (frames, digests) = kept.withLock { $0 }
            for (frame, digest) in zip(frames, digests) {
                try require(MD5.hexDigest(of: frame.buffer) == digest, "A frame that was kept changed \(moment).")
            }
        }
        capture.videoCaptureConsumer = probe
        try initialize(capture)
        try start(capture)
        // More frames than a pool holds.
        try awaitFrames(limit + 40, at: probe, of: capture)
        try requireUnchanged("while the capture went on")
        try stop(capture)
        try requireUnchanged("at the stop")
        let before = probe.count
        try start(capture)
        try awaitFrames(2, after: before, at: probe, of: capture)
        release(capture)
        try requireUnchanged("at the release")
    }

    private func frames(_ recorder: RecordingConsumer, of given: (any VideoCapture)? = nil) throws -> [VideoFrame] {
        let capture = try given ?? make()
        capture.videoCaptureConsumer = recorder
        try initialize(capture)
        try start(capture)
        let hasCome = eventually("\(recorder.limit) frames have come") {
            if case .stopped = capture.state { return true }
            return recorder.count >= recorder.limit
        }
        try require(hasCome && recorder.count > 0, "No frame came for \(suite.deadline).")
        try stop(capture)
        return recorder.frames
    }
}
