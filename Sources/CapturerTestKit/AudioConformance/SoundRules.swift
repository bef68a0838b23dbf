import AudioCapturing
import Digests

extension ConformanceTrial<SoundMedium> {
    /// A new capture with a consumer, initialized, which is released after the check.
    private func make(_ consumer: any AudioCaptureConsumer) throws -> any AudioCapture {
        let capture = try make()
        capture.audioCaptureConsumer = consumer
        try initialize(capture)
        return capture
    }

    /// Waits for chunks; see ``waitFor(_:_:after:of:seen:sleep:)``.
    @discardableResult
    private func awaitChunks(
        _ count: Int, after before: Int = 0, of capture: any AudioCapture, seenBy number: () -> Int
    ) throws -> Bool {
        try waitFor(count, "chunk", after: before, of: capture, seen: number)
    }

    /// The chunks of several starts, `count` of each.
    private func record(starts: Int, chunks: Int) throws -> (capture: any AudioCapture, starts: [[AudioChunk]]) {
        let recorder = RecordingAudioConsumer()
        let capture = try make(recorder)
        var result: [[AudioChunk]] = []
        for _ in 0..<starts {
            let before = recorder.count
            try start(capture)
            try awaitChunks(chunks, after: before, of: capture) { recorder.count }
            try stop(capture)
            result.append(Array(recorder.chunks.dropFirst(before)))
        }
        return (capture, result)
    }
}

/// The sentences about chunks, which pictures do not have.
extension ConformanceTrial<SoundMedium> {
    func checkNumbersIncrease() throws {
        let chunks = try record(starts: 3, chunks: 4).starts.flatMap { $0 }
        for (earlier, later) in zip(chunks, chunks.dropFirst()) {
            try require(
                later.firstFrame >= earlier.endFrame,
                "After the frames \(earlier.firstFrame) to \(earlier.endFrame - 1) came number \(later.firstFrame).")
        }
    }

    /// Losses are provoked: by a slow consumer, by taking the consumer away, and by restarts. The counts are read
    /// with each chunk.
    func checkLossesAreCounted() throws {
        let samples = Locked<[(first: Int64, end: Int64, lost: UInt64)]>([])
        let held = Locked<(any AudioCapture)?>(nil)
        defer { held.withLock { $0 = nil } }
        let probe = AudioProbe { chunk, number in
            guard number < 200, let capture = held.withLock({ $0 }) else { return }
            let counts = capture.statistics.framesLost
            // Repeated sound has no number.
            let lost = counts.total - counts.overlapping
            samples.withLock { $0.append((chunk.firstFrame, chunk.endFrame, lost)) }
            if number == 2 { pause(.milliseconds(300)) }
        }
        let capture = try make(probe)
        held.withLock { $0 = capture }
        let interval = min(capture.captureSettings().chunkDuration, .milliseconds(40))
        for _ in 1...6 {
            let before = probe.count
            try start(capture)
            try awaitChunks(4, after: before, of: capture) { probe.count }
            capture.audioCaptureConsumer = nil
            pause(interval * 2)
            capture.audioCaptureConsumer = probe
            if capture.isCaptureStarted { _ = try? awaitChunks(1, after: probe.count, of: capture) { probe.count } }
            try stop(capture)
        }
        let seen = samples.withLock { $0 }
        for (earlier, later) in zip(seen, seen.dropFirst()) {
            let gap = later.first - earlier.end
            let counted = Int64(bitPattern: later.lost &- earlier.lost)
            try require(
                gap == counted,
                "Between the frames \(earlier.end) and \(later.first) \(counted) were counted as lost.")
        }
    }

    func checkChunksContinue() throws {
        let probe = AudioProbe { _, number in
            // What the source does not wait for is lost, or comes late.
            if number == 3 { pause(.milliseconds(250)) }
        }
        let capture = try make(probe)
        for _ in 1...2 {
            let before = probe.count
            try start(capture)
            try awaitChunks(12, after: before, of: capture) { probe.count }
            capture.audioCaptureConsumer = nil
            pause(.milliseconds(60))
            capture.audioCaptureConsumer = probe
            if capture.isCaptureStarted { _ = try? awaitChunks(2, after: probe.count, of: capture) { probe.count } }
            try stop(capture)
        }
        let chunks = probe.items
        for (earlier, later) in zip(chunks, chunks.dropFirst()) where later.discontinuity == nil {
            try require(
                later.firstFrame == earlier.endFrame,
                "A chunk without a discontinuity begins with frame \(later.firstFrame), not \(earlier.endFrame).")
            try require(
                later.format == earlier.format,
                "The format changed from \(earlier.format) to \(later.format) without a discontinuity.")
            let error = later.timestamp - earlier.endTimestamp
            try require(
                error > .milliseconds(-20) && error < .milliseconds(20),
                "A chunk without a discontinuity is \(error) from the end of the one before.")
        }
    }

    func checkStartIsStated() throws {
        for chunks in try record(starts: 3, chunks: 2).starts {
            guard let first = chunks.first else { continue }
            try require(
                first.discontinuity == .start,
                "The first chunk after a start has the discontinuity \(String(describing: first.discontinuity)).")
            try require(
                chunks.dropFirst().allSatisfy { $0.discontinuity != .start },
                "A chunk in the middle has the discontinuity `start`.")
        }
    }

    func checkSamplesFit() throws {
        let (_, starts) = try record(starts: 1, chunks: 8)
        for chunk in starts.flatMap({ $0 }) {
            try require(chunk.frameCount > 0, "A chunk has no frame.")
            note("validating the format of a chunk")
            try chunk.format.validate()
            let count = chunk.buffer.withSamples { $0.byteCount }
            try require(
                count == chunk.frameCount * chunk.format.bytesPerFrame,
                "A chunk of \(chunk.frameCount) frames of \(chunk.format) has \(count) bytes.")
            // NaN would spoil every later filter.
            guard chunk.format.sampleType == .float32 else { continue }
            let isFinite = chunk.buffer.withSamples(as: Float.self) { samples in
                for index in samples.indices where !samples[index].isFinite { return false }
                return true
            }
            try require(isFinite, "A chunk has a sample that is not a number.")
        }
    }

    func checkKeptChunksStay() throws {
        let kept = Locked<(chunks: [AudioChunk], digests: [String])>(([], []))
        let probe = AudioProbe { chunk, number in
            guard number < 6 else { return }
            let digest = chunk.buffer.digest
            kept.withLock { kept in
                kept.chunks.append(chunk)
                kept.digests.append(digest)
            }
        }
        let capture = try make(probe)
        func requireUnchanged(_ moment: String) throws {
            let (chunks, digests) = kept.withLock { $0 }
            for (chunk, digest) in zip(chunks, digests) {
                try require(chunk.buffer.digest == digest, "A chunk that was kept changed \(moment).")
            }
        }
        try start(capture)
        // More than a pool holds.
        try awaitChunks(80, of: capture) { probe.count }
        try requireUnchanged("while the capture went on")
        try stop(capture)
        try start(capture)
        try awaitChunks(1, after: probe.count, of: capture) { probe.count }
        release(capture)
        try requireUnchanged("at the restart or the release")
    }

    func checkSettingsAreTrue() throws {
        let recorder = RecordingAudioConsumer()
        let capture = try make(recorder)
        let settled = capture.captureSettings()
        note("validating the settings")
        try settled.format.validate()
        try start(capture)
        try awaitChunks(4, of: capture) { recorder.count }
        try stop(capture)
        for chunk in recorder.chunks where !recorder.chunks.contains(where: { $0.discontinuity == .formatChanged }) {
            try require(
                chunk.format == settled.format, "The settings say \(settled.format), but a chunk is \(chunk.format).")
        }
        try require(
            capture.captureSettings() == settled || recorder.chunks.contains { $0.discontinuity == .formatChanged },
            "The settings after init were \(settled), and after stop \(capture.captureSettings()).")
    }

    func checkIsDestroyed() throws {
        let probe = AudioProbe()
        try checkIsDestroyed { capture in
            capture.audioCaptureConsumer = probe
            try initialize(capture)
            try start(capture)
            try awaitChunks(1, of: capture) { probe.count }
        }
    }

    func checkConsumerIsWeak() throws {
        let capture = try make(AudioProbe())
        try checkIsReleased {
            let probe = AudioProbe()
            capture.audioCaptureConsumer = probe
            try start(capture)
            try awaitChunks(2, of: capture) { probe.count }
            return probe
        }
        try require(capture.audioCaptureConsumer == nil, "The consumer is gone, but the capture names one.")
    }
}

typealias AudioProbe = MediaProbe<AudioChunk>

extension AudioProbe: AudioCaptureConsumer {
    func consumeAudio(_ chunk: AudioChunk) { consume(chunk) }
}

extension AudioBuffer {
    fileprivate var digest: String {
        var digest = MD5()
        withUnsafeBytes { digest.update($0) }
        return digest.hexDigest
    }
}
