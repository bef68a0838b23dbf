import AudioCapturing
import AudioRendering

extension RadioEngine {
    /// The sound queued in a device when it counts as run dry: less than a period of any device.
    private static let dryLevel = Duration.milliseconds(5)
    /// How long a station may be paused and continue where it was; after that it continues with the live sound.
    private static let longestPause = Duration.seconds(10)

    /// Whether sound goes to the renderer.
    private var isSounding: Bool { pausedSince == nil && (phase == .playing || phase == .flushingEnd) }

    /// Opens the renderer with the format of the first frame; returns the format of all sound.
    func openRenderer(_ format: AudioFormat) throws(RadioError) -> AudioFormat {
        // Stereo also for a mono station, because it may become stereo later.
        let wanted = AudioFormat(.float32, .stereo, sampleRate: format.sampleRate)
        let opened = try render(.rendererCreationFailed) { () throws(AudioRendererError) in try renderer.open(wanted) }
        guard (1...RadioEngine.maximumChannels).contains(opened.channels.count),
            (1...768_000).contains(opened.sampleRate)
        else {
            throw RadioError(
                .rendererCreationFailed, operation: "open the renderer", subject: renderer.name,
                message: "It asks for \(opened), which is not supported; choose another device.")
        }
        output = opened
        peaks = [Float](repeating: 0, count: opened.channels.count)
        appliedGain = gain
        return opened
    }

    func setPaused(_ isPaused: Bool, _ sound: RadioSound) throws(RadioError) {
        if isPaused {
            pausedSince = clock.now
            guard output != nil, phase == .playing || phase == .flushingEnd else { return }
            try render(.rendererPauseFailed) { () throws(AudioRendererError) in try renderer.pause() }
            isHeld = true
            return
        }
        let isLong = pausedSince.map { clock.now - $0 > RadioEngine.longestPause } ?? false
        pausedSince = nil
        sound.endSilence()
        sound.restartLevel()
        if isHeld {
            isHeld = false
            if isLong, sound.stream.isLive {
                try render(.rendererFlushFailed) { () throws(AudioRendererError) in try renderer.flush() }
            }
            try render(.rendererStartFailed) { () throws(AudioRendererError) in try renderer.resume() }
        }
        // The server has dropped the connection meanwhile, or sends sound that is long past.
        guard isLong, sound.stream.isLive else { return }
        sound.discard()
        advance(to: .waitingForData)
    }

    /// Gives the renderer what it takes.
    func play(_ sound: RadioSound) throws(RadioError) {
        guard isSounding, let output else { return }
        while sound.ring.count > 0 {
            let samples = sound.ring.next(upTo: RadioEngine.chunkFrames)
            convert(samples, to: output)
            let bytes = UnsafeRawBufferPointer(rebasing: scratch[..<(samples.count * output.sampleType.byteCount)])
            let taken = try render(.rendererWriteFailed) { () throws(AudioRendererError) in try renderer.write(bytes) }
            sound.ring.consume(taken)
            if taken > 0 { endRendererLoss() }
            // The ramp of the volume is nearly complete with the samples taken.
            appliedGain = gain
            guard taken * output.channels.count == samples.count else { return }
        }
    }

    /// Looks at the levels and goes to the phase that fits; true at the end of a file.
    func step(_ sound: RadioSound) throws(RadioError) -> Bool {
        guard pausedSince == nil else { return false }
        switch phase {
        case .waitingForData, .buffering: return try awaitSound(sound)
        case .playing:
            if sound.hasEnded {
                advance(to: .flushingEnd)
            } else if sound.ring.count == 0, try isDry() {
                sound.stream.statistics.underruns &+= 1
                sound.restartLevel()
                advance(to: .buffering)
                return false
            }
            sound.holdLevel(played: try queued().seconds)
        case .flushingEnd: return sound.ring.count == 0 ? try queuedFrames() == 0 : false
        default: break
        }
        sound.endSilence()
        return false
    }

    private func awaitSound(_ sound: RadioSound) throws(RadioError) -> Bool {
        let isEnough = sound.decoded >= configuration.startLevel || sound.hasEnded
        guard isEnough, output != nil else {
            if !isRendererLost { sound.watchSilence() }
            return false
        }
        sound.endSilence()
        if phase == .waitingForData { advance(to: .waitingForRendererToStart) }
        advance(to: sound.hasEnded ? .flushingEnd : .playing)
        try play(sound)
        return false
    }

    /// Reports the status, and the titles that are due.
    func publish(_ sound: RadioSound) throws(RadioError) {
        var status = RadioPlayer.Status()
        let queued = try queuedFrames()
        let heard = max(base.frame, sound.ring.read - Int64(queued))
        if let output { status.progress = base.time + output.duration(ofFrames: heard - base.frame) }
        status.duration = sound.duration
        status.bitrate = sound.bitrate
        status.buffered = Duration(clampingNanoseconds: (sound.held + (try self.queued()).seconds) * 1e9)
        status.peaks = isSounding ? peaks : peaks.map { _ in 0 }
        status.information = sound.stream.information
        status.statistics = sound.stream.statistics
        status.rateCorrection = sound.levelState.correction
        let due = sound.takeTitle(before: heard)
        control.update { contents in
            status.state = contents.state
            status.title = contents.status.title
            if let due, let text = due.title {
                status.title = text.isEmpty ? nil : text
                contents.titles.send(RadioPlayer.Title(text: text, url: due.url, position: status.progress))
            }
            contents.status = status
        }
    }

    /// When there is something to do at the latest.
    func deadline(_ sound: RadioSound) throws(RadioError) -> MediaTime {
        let now = clock.now
        var deadline = now.advanced(by: .milliseconds(500))
        if let next = sound.stream.deadline { deadline = min(deadline, next) }
        if let end = sound.silenceEnd { deadline = min(deadline, end) }
        if isSounding {
            let half = min(max(try queued() / 2, .milliseconds(5)), .milliseconds(100))
            deadline = min(deadline, now.advanced(by: half))
        }
        return max(deadline, now.advanced(by: .milliseconds(1)))
    }

    // MARK: - Levels and samples

    private func queuedFrames() throws(RadioError) -> Int {
        guard output != nil else { return 0 }
        return max(
            0, try render(.rendererTimeFailed) { () throws(AudioRendererError) in try renderer.queuedFrames() })
    }

    private func queued() throws(RadioError) -> Duration {
        output?.duration(ofFrames: Int64(try queuedFrames())) ?? .zero
    }

    private func isDry() throws(RadioError) -> Bool { try queued() <= RadioEngine.dryLevel }

    /// Applies the volume, measures the peaks, and writes the renderer's sample type into the scratch memory.
    private func convert(_ samples: UnsafeBufferPointer<Float>, to output: AudioFormat) {
        let channels = output.channels.count
        for channel in peaks.indices { peaks[channel] *= 0.8 }
        // In a straight line over the chunk, so that a change of the volume does not click.
        var factor = appliedGain
        let step = samples.count == 0 ? 0 : (gain - appliedGain) / Float(samples.count)
        let floats = scratch.bindMemory(to: Float.self)
        let integers = scratch.bindMemory(to: Int16.self)
        let isFloat = output.sampleType == .float32
        peaks.withUnsafeMutableBufferPointer { peaks in
            var channel = 0
            for index in samples.indices {
                let sample = samples[index]
                peaks[channel] = max(peaks[channel], abs(sample))
                let value = sample * factor
                if isFloat {
                    floats[index] = value
                } else {
                    integers[index] = Int16(max(-32768, min(32767, (value * 32767).rounded())))
                }
                factor += step
                channel += 1
                if channel == channels { channel = 0 }
            }
        }
    }
}
