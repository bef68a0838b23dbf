import AudioCapturing
import FrameProcessing
public import VideoCapturing

extension MediaPublisher {
    // MARK: Outputs

    /// Adds an output. Before ``open()`` it is only listed; later it is opened at once, and begins with the next frame, or
    /// with a key frame.
    ///
    /// - Parameters:
    ///   - output: held until it is removed.
    ///   - encoding: how to encode for it; nil for the publisher's ``Settings/encoding``.
    ///   - frames: what becomes of the frames for it: rate, size, text.
    /// - Returns: the identifier by which events name it.
    /// - Throws: `CodecError` when no encoder of the settings suits it, and what opening throws; it is not added then.
    @discardableResult
    public func add(
        _ output: any MediaOutput, encoding: EncodingSettings? = nil, frames: FrameSettings = FrameSettings()
    ) throws -> OutputID {
        let (id, records, isOpen) = state.withLock { state in
            let id = OutputID(index: state.records.count)
            var records = [OutputRecord(output, id: id, encoding: encoding, frames: frames)]
            if let companion = output.companion {
                records.append(
                    OutputRecord(
                        companion, id: OutputID(index: id.index + 1), encoding: encoding, frames: frames, owner: id))
            }
            state.records += records
            return (id, records, state.isOpen)
        }
        guard isOpen else { return id }
        do {
            try connect(records)
        } catch {
            for record in records {
                record.discard(from: video)
                _ = record.markFailed()
            }
            throw error
        }
        return id
    }

    /// Removes an output and completes it, while the others go on. What that throws comes as an event. Called from inside
    /// an output or the event handler, it does so once that call has returned.
    ///
    /// It waits for calls of the output that are running, and for its end: as long as the output's own limits let these
    /// take (``MediaOutput/setWriteTimeout(_:)``, or a timeout of its configuration), and without a limit for an output
    /// that has none, such as a file on a disk that does not answer.
    public func remove(_ id: OutputID) {
        for record in state.withLock({ $0.records.filter { $0.id == id || $0.owner == id } }) {
            disconnect(record) { [self] in complete(removed: record) }
        }
    }

    private func complete(removed record: OutputRecord) {
        record.close(at: nil, hasFrames: hasMedia, reportingTo: self)
        _ = record.markFailed()
    }

    /// Whether any output takes frames or packets.
    public var isActive: Bool {
        state.withLock { $0.records }.contains { $0.takesMore && !$0.output.isAuxiliary }
    }

    /// Opens outputs and connects them; encoders first, so that no file is created for settings that none takes.
    func connect(_ records: [OutputRecord]) throws {
        let count = state.withLock { $0.records.count { !$0.output.isAuxiliary } }
        if count > 1, !isStopRequested {
            for record in state.withLock({ $0.records }) { record.output.setWriteTimeout(settings.writeTimeout) }
        }
        guard let passing else { return try connect(records, count) }
        let (passed, framed) = try sort(records, passing: passing)
        try connect(framed, count)
        try connect(passed, passing: passing)
    }

    /// Opens outputs that get frames, or have an encoder, of `count` in all.
    private func connect(_ records: [OutputRecord], _ count: Int) throws {
        var newStages: [EncoderStage] = []
        for record in records {
            guard case .packets(let feed) = record.output.feed, hasVideo else { continue }
            if passesFeedback, let rate = feed.minimumFrameRate, video.minimumFrameRate.map({ $0 < rate }) ?? true {
                video.minimumFrameRate = rate
            }
            let stage = try makeStage(record, feed, &newStages)
            record.state.withLock { $0.stage = stage }
        }
        let newAudio = try makeAudioStages(records)
        var destinations: [(OutputRecord, OutputContext.Destination)] = []
        for record in records {
            var destination = try record.output.open(try context(of: record))
            record.state.withLock { $0.isOpen = true }
            if case .sink(let sink) = destination, count > 1, waitsForReader(record) {
                destination = .sink(decoupled(sink, of: record))
            }
            destinations.append((record, destination))
        }
        // Before they get frames, since they may fail with the first one.
        state.withLock { $0.stages += newStages }
        do {
            try connectAudio(destinations, newAudio, isBounded: count > 1)
            for stage in newStages {
                let outputs = records.filter { $0.stage === stage }.map(\.output)
                try subscribe(stage, isBounded: count > 1 && !outputs.contains(where: \.limitsOwnWaits))
            }
            for (record, destination) in destinations {
                switch (destination, record.output.feed) {
                // With sound it is connected already.
                case (.sink, _) where record.audio != nil, (.audioConsumer, _), (.receivers, _): break
                case (.sink(let sink), _): record.stage?.encoding.add(sink, name: "\(record.id.index)")
                case (.consumer(let consumer), .frames(let feed)):
                    try subscribe(consumer, feed, of: record, isBounded: count > 1 && !record.output.limitsOwnWaits)
                case (.consumer, .packets), (.consumer, .noVideo):
                    preconditionFailure("an output without frames has opened for them")
                }
            }
        } catch {
            for case let subscription? in newStages.map(\.subscription) { video.remove(subscription) }
            removeAudio(newAudio)
            state.withLock { state in state.stages.removeAll { stage in newStages.contains { $0 === stage } } }
            throw error
        }
    }

    private func subscribe(_ stage: EncoderStage, isBounded: Bool) throws(CaptureError) {
        let entry = ConvertingConsumer(
            converter(
                FrameConverter.Key(
                    encodedFormat, color: stage.color, squaresPixels: stage.key.squaresPixels, stage.key.frames)),
            to: stage.encoding, frameRate: stage.key.frames.frameRate, keepsSize: stage.isShared,
            passesFeedback: passesFeedback,
            onFailure: { [weak self, weak stage] error in if let stage { self?.fail(stage, error) } })
        stage.subscription = try video.add(
            entry, name: stage.name, queue: queue(stage.key.purpose, isBounded: isBounded))
    }

    private func subscribe(
        _ consumer: any VideoCaptureConsumer, _ feed: OutputContext.Feed.FrameFeed, of record: OutputRecord,
        isBounded: Bool
    ) throws(CaptureError) {
        let entry: any VideoCaptureConsumer =
            !feed.isConverted && record.frames == FrameSettings()
            ? consumer
            : ConvertingConsumer(
                converter(FrameConverter.Key(feed.pixelFormat, record.frames)), to: consumer,
                frameRate: record.frames.frameRate,
                passesFeedback: passesFeedback,
                onFailure: { [weak self, weak record] error in if let record { self?.fail(record, error) } })
        var queue = feed.queue ?? queue(.file, isBounded: isBounded)
        if state.withLock({ $0.records.count }) > 1, waitsForReader(record) {
            queue.blockTimeout = MediaPublisher.longestBlock
        }
        let subscription = try video.add(entry, name: record.output.kind, queue: queue)
        record.state.withLock { $0.subscription = subscription }
    }

    /// How long the reader of one output may delay the frames of all: less than a queue of 30 frames per second lasts.
    private static let longestBlock = Duration.milliseconds(100)

    /// Whether an open output may wait for the reader of a pipe while frames come in real time, which the others must get.
    private func waitsForReader(_ record: OutputRecord) -> Bool {
        settings.pacing == .realTime && record.output.path != nil && record.output.limitsOwnWaits
    }

    private func decoupled(_ sink: any PacketSink, of record: OutputRecord) -> any PacketSink {
        let name = record.output.name
        return DecoupledSink(sink, timeout: settings.writeTimeout) { [weak self] in
            self?.post(.warning("\(name): its reader is too slow, and groups of pictures are left out for it."))
        }
    }

    /// - Parameter passedTracks: those that are passed on to it.
    func context(
        of record: OutputRecord, passing passedTracks: [TrackDescription] = []
    ) throws(OptionError) -> OutputContext {
        let source = capture.captureSettings()
        var context = OutputContext(
            format: try record.frames.format(of: source.format, settings.orientation),
            audioFormat: record.audio == nil ? nil : audioFormat, sourceName: source.sourceName,
            orientation: record.frames.changesPictures ? .up : settings.orientation,
            pacing: settings.pacing, maximumDuration: settings.maximumDuration, adjustable: capture.adjustable,
            isStopRequested: { [weak self] in self?.isStopRequested ?? true },
            fail: { [weak self, weak record] error in
                if let record { self?.fail(record, error, isReported: true) }
            },
            warn: { [weak self] in self?.post(.warning($0)) },
            complete: { [weak self, weak record] in if let record { self?.complete(record) } },
            requestStill: { [weak self] in self?.takeStill() })
        context.retriesPeers = settings.retriesPeers
        context.recording = recording
        context.encoder = record.stage.map { ($0.codec, $0.bitrate) }
        context.passedTracks = passedTracks
        context.areFramesDecoded = passing != nil
        context.addReceiver = { [weak record] sink, name in
            guard let record, record.takesMore else { return false }
            let name = "\(record.id.index) \(name)"
            if let receivers = record.receivers { return receivers.add(sink, name: name) }
            guard let stage = record.stage else { return false }
            record.state.withLock { _ = $0.sinks.insert(name) }
            record.connect(sink, name: name, to: stage)
            return record.takesMore
        }
        context.removeReceiver = { [weak record] name in
            guard let record else { return }
            let name = "\(record.id.index) \(name)"
            record.receivers?.remove(name)
            guard record.state.withLock({ $0.sinks.remove(name) }) != nil else { return }
            record.stage?.encoding.remove(name, waits: false)
            record.audio?.encoder?.encoding.remove(name)
        }
        return context
    }

    // MARK: Encoders

    /// The stage that an output can share, or a new one.
    private func makeStage(
        _ record: OutputRecord, _ feed: OutputContext.Feed.PacketFeed, _ new: inout [EncoderStage]
    ) throws -> EncoderStage {
        var encoding = record.encoding ?? settings.encoding
        if feed.servesReceivers, !makes(feed.codecs, encoding) {
            encoding = EncodingSettings(bitrate: encoding.bitrate)
        }
        if let limit = feed.maximumBitrate, encoding.options[EncoderQuality.constantOption] == nil {
            encoding.bitrate = min(limit, encoding.bitrate ?? limit)
        }
        var format = try record.frames.format(of: capture.captureSettings().format, settings.orientation)
        let size = PixelSize(width: format.imageWidth, height: format.imageHeight)
        let entry = try encoder(encoding, for: record.output, feed, size)
        if encoding.encoder != nil { try check(encoding.options, of: entry, feed) }
        format.pixelFormat = encodedFormat ?? format.pixelFormat
        let squaresPixels = !format.pixelAspect.isSquare && !feed.pixelAspectCodecs.contains(entry.codec)
        if squaresPixels {
            let shown = size.squared(format.pixelAspect)
            format.pixelAspect = .square
            format = format.resized(width: shown.width, height: shown.height)
        }
        let key = EncoderStage.Key(
            encoder: entry.name, settings: encoding, frames: record.frames, purpose: feed.purpose,
            squaresPixels: squaresPixels)
        let present = state.withLock { $0.stages } + new
        if !feed.needsOwnEncoder,
            let stage = present.first(where: { $0.key == key && $0.isShared && !$0.isStalled && !$0.isRetired })
        {
            return stage
        }
        let request = EncoderEntry.Request(
            format: format, frameRate: format.estimatedFramesPerSecond ?? 30, contentHint: capture.videoContentHint,
            purpose: feed.purpose, settings: encoding)
        let number = state.withLock { state in
            defer { state.stagesMade += 1 }
            return state.stagesMade
        }
        let onFailure: @Sendable (EncodingConsumer.Failure) -> Void = { [weak self] in self?.handle($0, ofStage: number)
        }
        let onNotice: @Sendable (String) -> Void = { [weak self] in self?.post(.warning($0)) }
        let consumer: EncodingConsumer
        if feed.needsOwnEncoder {
            let encoder = try AdaptiveEncoder(entry, request)
            let layerCount = encoder.layerCount
            consumer = EncodingConsumer(encoder, onFailure: onFailure, onNotice: onNotice)
            if feed.servesReceivers { consumer.serveReceivers(layerCount: layerCount) }
        } else {
            consumer = EncodingConsumer(try entry.makeEncoder(request), onFailure: onFailure, onNotice: onNotice)
        }
        let stage = EncoderStage(
            number, key, entry, request, isShared: !feed.needsOwnEncoder, encoding: consumer)
        new.append(stage)
        return stage
    }

    /// Whether the encoder that the settings choose, if any, makes one of these codecs; true for one that is not known.
    private func makes(_ codecs: [Codec], _ encoding: EncodingSettings) -> Bool {
        let chosen = settings.encoders.first { $0.name == encoding.encoder }?.codec ?? encoding.codec
        return chosen.map { codecs.contains($0) } ?? true
    }

    /// Throws for an option that the encoder has not, since it would have no effect.
    private func check(
        _ options: OptionValues, of entry: EncoderEntry, _ feed: OutputContext.Feed.PacketFeed
    ) throws(OptionError) {
        guard let name = options.names.first(where: { name in !entry.options.contains { $0.name == name } }) else {
            return
        }
        let others = settings.encoders.filter { encoder in
            feed.codecs.contains(encoder.codec) && encoder.options.contains { $0.name == name }
        }.map(\.name)
        let advice = others.isEmpty ? "" : ", or choose one of \(others.joined(separator: ", "))"
        throw OptionError(
            name, options[name], "the encoder \(entry.name) has no such setting; leave it out\(advice).")
    }

    /// The encoder that the settings name, or the first one that suits the output and takes the size.
    private func encoder(
        _ encoding: EncodingSettings, for output: any MediaOutput, _ feed: OutputContext.Feed.PacketFeed,
        _ size: PixelSize
    ) throws -> EncoderEntry {
        let taken = feed.codecs.map(\.rawValue).joined(separator: ", ")
        if let name = encoding.encoder {
            let names = settings.encoders.map(\.name)
            guard let entry = settings.encoders.first(where: { $0.name == name }) else {
                let guess = nearestName(to: name, in: names).map { " Did you mean \($0)?" } ?? ""
                throw OptionError(
                    "encoder", name, "unknown.\(guess) Choose one of \(names.joined(separator: ", ")).")
            }
            guard feed.codecs.contains(entry.codec) else {
                throw OptionError(
                    "encoder", name, "makes \(entry.codec), and \(output.name) takes \(taken); choose another encoder.")
            }
            return entry
        }
        for codec in encoding.codec.map({ [$0] }) ?? feed.codecs where feed.codecs.contains(codec) {
            let entries = settings.encoders.filter { $0.codec == codec }
            guard let first = entries.first else { continue }
            // Not all are of use on each machine.
            return first.acceptsSize(size)
                ? first : entries.dropFirst().first { $0.acceptsSize(size) && $0.problem() == nil } ?? first
        }
        guard let codec = encoding.codec, !feed.codecs.contains(codec) else {
            throw OptionError(
                "codec", encoding.codec?.rawValue,
                "\(output.name) takes \(taken), for which this program has no encoder; choose another output, or add an encoder to "
                    + "Settings(encoders:), such as .\(feed.codecs.first == .h264 ? "openH264 of H264Codec" : "vp8 of VP8Codec")."
            )
        }
        throw OptionError("codec", codec.rawValue, "\(output.name) takes \(taken); choose one of these.")
    }

    /// The pixel format for encoders: NV12 and I420 are encoded as they are.
    private var encodedFormat: PixelFormat? {
        let format = capture.captureSettings().format.pixelFormat
        return format == .nv12 || format == .i420 ? format : .i420
    }

    /// A source that is read as fast as possible leaves no time to refine a frame.
    private var passesFeedback: Bool {
        switch settings.pacing {
        case .realTime, .playback(isPaced: true): true
        case .playback(isPaced: false), .onDemand: false
        }
    }

    private func converter(_ key: FrameConverter.Key) -> FrameConverter {
        state.withLock { state in
            if let converter = state.converters[key] {
                converter.addUser()
                return converter
            }
            let converter = FrameConverter(key, reach: capacity + 4)
            state.converters[key] = converter
            return converter
        }
    }

    /// A source with its own rate needs room for an output that is slow at times, and a threaded decoder for frames that
    /// arrive in bursts; a frame that is produced on demand would only drop out of the processor's cache while it waits.
    private var capacity: Int { settings.pacing == .onDemand ? 1 : 4 }

    private func queue(_ purpose: EncodingSettings.Purpose, isBounded: Bool) -> VideoPublisher.QueueSettings {
        // A live viewer gets the newest frame.
        guard purpose == .file else { return .init(capacity: 2, policy: .dropOldest) }
        return .init(capacity: capacity, policy: .block, timeout: isBounded ? settings.diskTimeout : nil)
    }
}
