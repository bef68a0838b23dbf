import AudioCapturing
import VideoCapturing

extension MediaPublisher {
    /// What outputs get of the sound; nil without sound.
    var audioFormat: AudioFormat? {
        audio.map { AudioSynchronizer.format(of: $0.capture.captureSettings().format.channels) }
    }

    /// Whether the capture is as fast as the outputs, so that its times are not those of the clock.
    private var isHurried: Bool {
        switch settings.pacing {
        case .realTime, .playback(isPaced: true): false
        case .playback(isPaced: false), .onDemand: true
        }
    }

    /// The end of the pictures, once their limit is reached.
    private var endOfPictures: MediaTime? {
        let passed = line.passed
        guard passed.count == settings.maximumFrames else { return passed.end }
        return passed.end ?? passed.first?.advanced(by: passed.duration)
    }

    /// Whether anything has been published.
    var hasMedia: Bool { line.passed.count > 0 || state.withLock { $0.soundStart != nil } }

    // MARK: Life

    /// Starts the sound, whose states become events.
    func startAudio() throws {
        guard let audio else { return }
        watch(audio.capture)
        try audio.start()
    }

    /// Makes events of the states of a capture of the sound.
    func watch(_ capture: any AudioCapture) {
        let states = capture.stateChanges()
        Task.detached { [weak self, weak capture] in
            for await change in states {
                guard let self, let capture else { return }
                captureStateChanged(of: capture, to: change.new)
            }
        }
    }

    /// Stops the sound when it has come as far as the pictures, and hands out the rest of it. Called when the pictures have
    /// been stopped.
    ///
    /// - Parameter end: the end of the pictures; nil where it follows from them.
    func stopAudio(at end: MediaTime?) {
        guard let audio else { return }
        let stages = state.withLock { $0.audioStages }
        let passed = line.passed
        // Without a clock it comes as fast as it can, which depends on the machine; up to an end that is estimated it may never.
        let limit = isHurried ? Duration.seconds(end == nil ? 2 : 10) : .milliseconds(250)
        // The end of the last picture, so that a player need not wait for either.
        let end = passed.first.map { end ?? $0.advanced(by: passed.duration) }
        if let end, audio.capture.isCaptureStarted {
            for stage in stages { stage.awaitSound(until: end, atMost: limit) }
        }
        do {
            try audio.stop()
        } catch {
            post(.warning("The sound did not stop as it should. \(error.message)"))
        }
        let records = state.withLock { $0.records }
        for stage in stages where !(stage.subscription?.statistics.isStalled ?? false) {
            // A sink that does not return to the pictures would not return to the sound either.
            guard !records.contains(where: { $0.audio === stage && $0.stage?.isStalled ?? false }) else { continue }
            stage.finish(at: end)
        }
    }

    func captureStateChanged(of capture: any AudioCapture, to new: CaptureState) {
        // One that has been replaced, or has failed to take over, does not matter.
        guard audio?.capture === capture else { return }
        guard case .stopped(let reason) = new, reason != .user else { return }
        guard hasVideo else { return eventList.end(.captureStopped(reason)) }
        let cause = reason.error.map { " \($0.message)" } ?? ""
        post(.warning("The sound has ended; the pictures go on with silence.\(cause)"))
    }

    // MARK: Outputs

    /// Makes what the sound of outputs needs: an encoder that they can share, or a new one.
    ///
    /// - Returns: the new ones, which nothing feeds yet.
    func makeAudioStages(_ records: [OutputRecord]) throws -> [AudioStage] {
        if !hasVideo, let record = records.first(where: { $0.output.needsPictures }) {
            throw OptionError(
                "output", record.output.name, "takes no sound, and there is nothing else; choose webm or wav.")
        }
        guard let format = audioFormat else {
            guard let record = records.first(where: { $0.output.feed == .noVideo }) else { return [] }
            throw OptionError("output", record.output.name, "is for sound, and there is none; give a source of sound.")
        }
        guard !isHurried || !hasVideo || audio?.capture.captureSettings().followsPictures ?? false else {
            throw OptionError(
                "audio", nil, "sound belongs to pictures in real time; leave out what makes them faster, or the sound.")
        }
        var new: [AudioStage] = []
        var silent: [(OutputRecord, String)] = []
        for record in records {
            let stage: AudioStage
            switch record.output.audioFeed {
            case nil:
                if let reason = record.output.silenceReason { silent.append((record, reason)) }
                continue
            case .samples:
                // Its consumer is known when it is open.
                continue
            case .packets(let codecs):
                if lacksEncoder(record.output, codecs) {
                    let taken = codecs.map(\.rawValue).joined(separator: " or ")
                    silent.append((record, "it takes \(taken), for which this program has no encoder"))
                    continue
                }
                stage = try makeAudioStage(record, codecs, format, &new)
            }
            record.state.withLock { $0.audio = stage }
        }
        for (record, reason) in silent { post(.warning("\(record.output.name) has no sound: \(reason).")) }
        return new
    }

    /// Whether an output has to do without sound for want of an encoder, while others have it.
    private func lacksEncoder(_ output: any MediaOutput, _ codecs: [Codec]) -> Bool {
        func isOffered(_ codecs: [Codec]) -> Bool {
            settings.audioEncoders.contains { codecs.contains($0.codec) }
        }
        guard hasVideo, output.feed != .noVideo, settings.audioEncoding.encoder == nil, !isOffered(codecs) else {
            return false
        }
        return state.withLock { $0.records }.contains { other in
            switch other.output.audioFeed {
            case .samples: true
            case .packets(let codecs): isOffered(codecs)
            case nil: false
            }
        }
    }

    private func makeAudioStage(
        _ record: OutputRecord, _ codecs: [Codec], _ format: AudioFormat, _ new: inout [AudioStage]
    ) throws -> AudioStage {
        let entry = try audioEncoder(for: record.output, codecs)
        let isLive: Bool
        switch record.output.feed {
        case .packets(let feed): isLive = feed.purpose == .live
        case .frames: isLive = true
        case .noVideo: isLive = false
        }
        let key = AudioStage.Key(encoder: entry.name, settings: settings.audioEncoding, isLive: isLive)
        let present = state.withLock { $0.audioStages } + new
        if let stage = present.first(where: { $0.encoder?.key == key && $0.encoder?.encoding.isActive ?? false }) {
            return stage
        }
        if let stage = new.first(where: { $0.encoder?.key == key }) { return stage }
        let encoder = try entry.makeEncoder(
            AudioEncoderEntry.Request(format: format, isLive: isLive, settings: settings.audioEncoding))
        let track = encoder.track
        guard track != nil || record.output.feed == .noVideo || !hasVideo else {
            throw CodecError(
                .library, operation: "make the encoder", subject: entry.name,
                message: "The encoder does not describe its track before the first packet; use another one.")
        }
        let encoding = AudioEncodingConsumer(
            encoder, track: hasVideo ? TrackJoiner.audioTrack : 0,
            onFailure: { [weak self] failure in
                if let sink = failure.sink { self?.fail(sink, failure.error) } else { self?.fail(key, failure.error) }
            })
        let stage = makeStage(format, (key, entry.codec, track, encoding), to: encoding) { [weak self] error in
            self?.fail(key, error)
        }
        new.append(stage)
        return stage
    }

    private func makeStage(
        _ format: AudioFormat,
        _ encoder: (key: AudioStage.Key, codec: Codec, track: TrackDescription?, encoding: AudioEncodingConsumer)?,
        to consumer: any AudioCaptureConsumer, onFailure: @escaping @Sendable (any Error) -> Void
    ) -> AudioStage {
        // An output that comes later begins where the pictures are by then.
        let last = line.passed.last
        return AudioStage(
            format, encoder: encoder, to: consumer, isLive: encoder?.key.isLive ?? false,
            maximumDuration: settings.maximumDuration,
            startTime: { [weak self] chunk in
                guard let self else { return nil }
                guard hasVideo else {
                    return state.withLock { state in
                        state.soundStart = state.soundStart ?? chunk?.timestamp
                        return state.soundStart
                    }
                }
                return last ?? line.passed.first
            },
            endTime: { [weak self] in self?.hasVideo ?? false ? self?.endOfPictures : nil },
            onLimit: { [weak self] in
                // With pictures these decide.
                if let self, !hasVideo { eventList.end(.limitReached) }
            }, onFailure: onFailure)
    }

    /// The encoder that the settings name, or the first one that suits the output.
    private func audioEncoder(
        for output: any MediaOutput, _ codecs: [Codec]
    ) throws -> AudioEncoderEntry {
        let taken = codecs.map(\.rawValue).joined(separator: ", ")
        let entries = settings.audioEncoders
        if let name = settings.audioEncoding.encoder {
            guard let entry = entries.first(where: { $0.name == name }) else {
                let names = entries.map(\.name)
                let guess = nearestName(to: name, in: names).map { " Did you mean \($0)?" } ?? ""
                throw OptionError(
                    "audio-encoder", name, "unknown.\(guess) Choose one of \(names.joined(separator: ", ")).")
            }
            guard codecs.contains(entry.codec) else {
                throw OptionError(
                    "audio-encoder", name, "makes \(entry.codec), and \(output.name) takes \(taken); choose another.")
            }
            return entry
        }
        let chosen = settings.audioEncoding.codec.flatMap { codecs.contains($0) ? [$0] : nil }
        for codec in chosen ?? codecs {
            if let entry = entries.first(where: { $0.codec == codec }) { return entry }
        }
        throw OptionError(
            "audio", nil,
            "\(output.name) takes sound as \(taken), for which this program has no encoder; choose another output, "
                + "or add an encoder to Settings(audioEncoders:), such as .opus of OpusCodec.")
    }

    /// Connects the sound of outputs that are open, and begins to feed what was made for them.
    func connectAudio(
        _ destinations: [(OutputRecord, OutputContext.Destination)], _ new: [AudioStage], isBounded: Bool
    ) throws {
        guard let audio, let format = audioFormat else { return }
        for (record, destination) in destinations {
            switch destination {
            case .sink(let sink):
                if record.audio != nil { record.connect(sink, name: "\(record.id.index)", to: record.stage) }
            case .audioConsumer(let consumer):
                let stage = makeStage(format, nil, to: consumer) { [weak self, weak record] error in
                    if let record { self?.fail(record, error) }
                }
                record.state.withLock { $0.audio = stage }
                try feed(stage, from: audio, isLive: false, isBounded: isBounded)
            case .consumer, .receivers: break
            }
        }
        for stage in new {
            try feed(stage, from: audio, isLive: stage.encoder?.key.isLive ?? false, isBounded: isBounded)
        }
    }

    private func feed(
        _ stage: AudioStage, from audio: AudioPublisher, isLive: Bool, isBounded: Bool
    ) throws(CaptureError) {
        // Two seconds, in which the sink may be busy with pictures; less where sound and pictures are as fast as they can be,
        // so that they reach the sink together.
        let queue =
            isLive && !isHurried
            ? AudioPublisher.liveQueue
            : QueueSettings(
                capacity: isHurried ? 10 : 100, policy: .block, timeout: isBounded ? settings.diskTimeout : nil)
        let isFirst = state.withLock { state in
            state.audioStages.append(stage)
            defer { state.hasPictureClock = true }
            return !state.hasPictureClock
        }
        if isFirst, hasVideo {
            try video.add(
                PictureClock { [weak self] time in
                    for stage in self?.state.withLock({ $0.audioStages }) ?? [] { stage.advance(to: time) }
                }, name: "sound", queue: .init(capacity: 1, policy: .dropOldest))
        }
        stage.subscription = try audio.add(stage, name: stage.encoder?.key.encoder ?? "samples", queue: queue)
    }

    // MARK: Failures

    /// Ends an output that has failed as the sink of a sound encoder.
    private func fail(_ sink: String, _ error: any Error) {
        let record = state.withLock { $0.records }.first { "\($0.id.index)" == sink }
        if let record { fail(record, error) }
    }

    /// Ends the outputs of a sound encoder that has failed.
    private func fail(_ key: AudioStage.Key, _ error: any Error) {
        for record in state.withLock({ $0.records }) where record.audio?.encoder?.key == key { fail(record, error) }
    }

    /// Ends the sound of an output that takes nothing more.
    func disconnectAudio(_ record: OutputRecord) {
        guard let audio, let stage = record.audio else { return }
        guard let encoding = stage.encoder?.encoding else { return end(stage, at: audio) }
        for name in record.sinks { encoding.remove(name) }
        // Receivers may come later.
        let isUsed = state.withLock { state in
            state.records.contains { $0 !== record && $0.takesMore && $0.audio === stage }
        }
        if !encoding.isActive, !isUsed { end(stage, at: audio) }
    }

    private func end(_ stage: AudioStage, at audio: AudioPublisher) {
        state.withLock { state in state.audioStages.removeAll { $0 === stage } }
        if let subscription = stage.subscription { audio.remove(subscription) }
    }

    /// Ends what was made for outputs that could not be connected.
    func removeAudio(_ stages: [AudioStage]) {
        guard let audio else { return }
        for stage in stages { end(stage, at: audio) }
    }
}

extension OutputRecord {
    /// Hands the packets of a stage, and those of the sound, to a sink, which is begun once, with all tracks.
    func connect(_ sink: any PacketSink, name: String, to stage: EncoderStage?) {
        let encoder = audio?.encoder
        guard let stage, let encoder, let track = encoder.track else {
            (stage?.encoding.add ?? encoder?.encoding.add)?(sink, name)
            return
        }
        let joiner = TrackJoiner(sink, audio: track)
        encoder.encoding.add(joiner.sound, name: name)
        stage.encoding.add(joiner.video, name: name)
    }
}

extension MediaOutput {
    /// Whether there is nothing that it can do with sound alone.
    fileprivate var needsPictures: Bool {
        if case .frames = feed { true } else { audioFeed == nil }
    }
}

/// The pictures of a run without any: a capture that starts, and gives nothing.
final class NoVideoCapture: ForwardingVideoCapture {
    let forwardedCapture: SourceCapturer

    init() { forwardedCapture = SourceCapturer(NoFrames(), name: "no video") }

    private struct NoFrames: FrameSource {
        var settings: CaptureSettings { CaptureSettings(format: .i420(width: 2, height: 2)) }
        var pacing: FramePacing { .device }

        mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
            while !context.isStopping { _ = context.waitForInput(-1) }
            return nil
        }
    }
}
