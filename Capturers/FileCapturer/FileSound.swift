public import AudioCapturing
import MediaContainers
import VideoCapturing

/// Reads the sound of a file and returns each stretch when it has been heard, as a microphone would; of a file that is read
/// as fast as possible, as far as the pictures have come.
///
/// Follows the pictures: their start, pauses, seeks and repetitions. Alone it goes by the clock, or as fast as it is taken.
struct FileSoundSource: AudioSource {
    private(set) var settings: AudioSettings
    var pacing: AudioPacing { isPaced ? .device : .unpaced }

    private let path: String
    private let readers: [FrameReaderFactory]
    private let playback: FileCapturer.Playback
    /// Nil for the sound alone.
    private let control: FileControl?
    private let clock: any CaptureClock
    private let wake: ManualResetEvent

    private var reader: (any SoundReader)?
    /// The place of the sound that is read.
    private var anchor: FileTimeline.Anchor?
    /// The samples that are read and not returned yet, from `next` on.
    private var samples: [Float] = []
    private var next = 0
    /// The file's time of the first of `samples`.
    private var position = Duration.zero
    private var playsDone = 0
    private var hasEnded = false
    /// Where the sound that was returned ends, without a clock; nil before the first.
    private var reached: MediaTime?

    private var isPaced: Bool { playback.pacing == .realTime }

    /// - Throws: `MediaFileError` when the file cannot be opened.
    /// - Returns: nil without sound.
    init?(
        path: String, readers: [FrameReaderFactory], playback: FileCapturer.Playback, control: FileControl?,
        clock: any CaptureClock
    ) throws {
        self.path = path
        self.readers = readers
        self.playback = playback
        self.control = control
        self.clock = clock
        wake = control?.soundWake ?? ManualResetEvent()
        guard let reader = try FileSoundSource.open(path, readers) else { return nil }
        self.reader = reader
        settings = AudioSettings(
            format: AudioFormat(
                .float32, ChannelLayout(count: reader.channelCount), sampleRate: reader.sampleRate), sourceName: path,
            followsPictures: control != nil)
    }

    private static func open(_ path: String, _ readers: [FrameReaderFactory]) throws -> (any SoundReader)? {
        let file = try InputFile(path: path)
        guard file.isSeekable else { return nil }
        for factory in readers {
            file.mark()
            defer { file.forgetMark() }
            let request = FrameReaderFactory.Request(path: path, file: file)
            if let reader = try factory.openSound(request) { return reader }
            try file.returnToMark()
        }
        return nil
    }

    // MARK: - Life

    mutating func open(_ context: AudioContext) throws {
        do {
            if reader == nil { reader = try FileSoundSource.open(path, readers) }
        } catch {
            throw FileSource.captureError(error, path: path)
        }
        guard reader != nil else {
            throw CaptureError(
                .formatUnsupported, operation: "open the sound", subject: path,
                message: "The file no longer has sound; choose one that has.")
        }
    }

    mutating func start(_ context: AudioContext) throws {
        context.setStopHandler { [wake] in wake.raise() }
        anchor = nil
        reached = nil
        playsDone = 0
        control?.setSoundRunning(true)
        if control == nil { try begin(FileTimeline.Anchor(file: playback.start, due: context.now, jumps: 0)) }
    }

    mutating func stop() { control?.setSoundRunning(false) }

    mutating func close() { reader = nil }

    // MARK: - Sound

    mutating func nextChunk(_ context: AudioContext) throws -> SourceAudio? {
        do {
            while true {
                // Before the place of the pictures is read, so that no change is missed.
                wake.reset()
                if context.isStopping { return nil }
                guard let place = try follow() else {
                    wake.wait()
                    continue
                }
                if !isPaced {
                    if let audio = try nextUnpaced(place, context) { return audio }
                    if hasEnded, control == nil { return nil }
                    continue
                }
                guard try fill() else {
                    guard try endPlay() else { return nil }
                    continue
                }
                let frames = min(settings.framesPerChunk, framesLeft)
                let begin = due(position, place)
                let end = begin.advanced(by: settings.format.duration(ofFrames: Int64(frames)))
                if clock.now < end {
                    clock.wait(until: end, or: wake)
                    continue
                }
                return try take(frames, begin, context)
            }
        } catch {
            throw FileSource.captureError(error, path: path)
        }
    }

    /// The next stretch where no clock paces it: without a gap, since pictures wait for it, and not beyond them.
    ///
    /// - Returns: nil to be called again, after a wait; at the end of the sound alone.
    private mutating func nextUnpaced(_ place: FileTimeline.Anchor, _ context: AudioContext) throws -> SourceAudio? {
        var begin = reached ?? place.due
        var limit: Int64 = .max
        if let control {
            guard let time = control.reportSound(at: begin) else {
                wake.wait()
                return nil
            }
            limit = settings.format.frames(in: time - begin)
            guard limit > 0 else {
                // Less than a sample is missing.
                if begin < time { _ = control.reportSound(at: time) }
                wake.wait()
                return nil
            }
        }
        var silence: Int64 = 0
        if try fill() {
            // A millisecond of difference is rounding.
            let gap = settings.format.frames(in: due(position, place) - begin)
            if gap.magnitude <= settings.format.sampleRate.magnitude / 1000 { begin = due(position, place) }
            silence = begin == due(position, place) ? 0 : gap
        } else if control == nil {
            if try endPlay() { hasEnded = false }
            return nil
        } else {
            silence = limit
        }
        let longest = min(limit, Int64(settings.framesPerChunk))
        guard silence >= 0 else {
            // What overlaps is left out.
            let count = min(framesLeft, Int(-silence))
            next += count * settings.format.channels.count
            position += settings.format.duration(ofFrames: Int64(count))
            return nil
        }
        let frames = silence > 0 ? min(silence, longest) : min(longest, Int64(framesLeft))
        reached = begin.advanced(by: settings.format.duration(ofFrames: frames))
        guard silence > 0 else { return try take(Int(frames), begin, context) }
        return try context.makeAudio(settings.format, frameCapacity: Int(frames), timestamp: begin) { writer in
            writer.withSamples(as: Float.self) { memory in
                for index in 0..<Int(frames) * settings.format.channels.count { memory[index] = 0 }
            }
            return Int(frames)
        }
    }

    private var framesLeft: Int { (samples.count - next) / settings.format.channels.count }

    private func due(_ position: Duration, _ place: FileTimeline.Anchor) -> MediaTime {
        place.due.advanced(by: position - place.file)
    }

    /// The place of the sound: that of the pictures, once what is due before their jump has been given. Nil while they
    /// are paused, and before the first.
    private mutating func follow() throws -> FileTimeline.Anchor? {
        guard let control else { return anchor }
        guard let pictures = control.contents.withLock({ $0.anchor }) else { return nil }
        guard let own = anchor, own.jumps != pictures.jumps else {
            if anchor == nil { try begin(pictures) }
            anchor = pictures
            return pictures
        }
        // What the jump overtakes is not given.
        if !hasEnded, try fill() {
            let until = settings.format.frames(in: pictures.due - due(position, own))
            if until > 0 {
                if Int64(framesLeft) > until {
                    samples.removeLast((framesLeft - Int(until)) * settings.format.channels.count)
                }
                return own
            }
        }
        try begin(pictures)
        return pictures
    }

    private mutating func begin(_ place: FileTimeline.Anchor) throws {
        anchor = place
        samples.removeAll(keepingCapacity: true)
        next = 0
        hasEnded = false
        try reader?.seek(to: place.file)
    }

    /// Reads on where nothing is left; false at the end of the sound, or of the part that is played.
    private mutating func fill() throws -> Bool {
        guard framesLeft == 0 else { return true }
        guard !hasEnded, let reader else { return false }
        samples.removeAll(keepingCapacity: true)
        next = 0
        var (position, samples) = (position, samples)
        self.samples = []
        let hasMore = try reader.readSamples { read, time in
            position = time
            samples.append(contentsOf: read)
        }
        (self.position, self.samples) = (position, samples)
        if let end = playback.end {
            let until = max(0, settings.format.frames(in: end - position))
            if Int64(framesLeft) > until {
                self.samples.removeLast((framesLeft - Int(until)) * settings.format.channels.count)
            }
        }
        hasEnded = !hasMore || framesLeft == 0
        return !hasEnded
    }

    /// What follows the end: the pictures' next jump, or the next play; false when there is none.
    private mutating func endPlay() throws -> Bool {
        guard let place = anchor, control == nil else {
            wake.wait()
            return true
        }
        playsDone += 1
        guard playback.plays.map({ playsDone < $0 }) ?? true, position > place.file else { return false }
        try begin(FileTimeline.Anchor(file: playback.start, due: due(position, place), jumps: playsDone))
        return true
    }

    private mutating func take(_ frames: Int, _ begin: MediaTime, _ context: AudioContext) throws -> SourceAudio {
        let count = frames * settings.format.channels.count
        let audio = try context.makeAudio(settings.format, frameCapacity: frames, timestamp: begin) { writer in
            writer.withSamples(as: Float.self) { memory in
                for index in 0..<count { memory[index] = samples[next + index] }
            }
            return frames
        }
        next += count
        position += settings.format.duration(ofFrames: Int64(frames))
        return audio
    }
}

extension FileCapturer: SoundOwner {
    /// The sound of the file, for `MediaPublisher(video:audio:)`, as of a camera with a microphone. It follows the pictures:
    /// their start, pauses, seeks and repetitions, and is paced by the same clock.
    ///
    /// The file is opened to see whether it has sound, and a second time for its pictures.
    ///
    /// - Parameter isAlone: whether the sound is captured without the pictures, and goes by the clock alone.
    /// - Returns: nil for a file without sound, a pipe, and a playback that is not at the file's own speed, and for a file
    ///   that cannot be read, as `initCapture` says then.
    public func makeSound(isAlone: Bool) -> (any AudioCapture)? {
        guard playback.rate == 1, !InputFile.isPipe(path) else { return nil }
        guard
            let source = try? FileSoundSource(
                path: path, readers: readers, playback: playback, control: isAlone ? nil : control, clock: clock)
        else { return nil }
        control.contents.withLock { $0.isSoundTaken = true }
        return AudioSourceCapturer(source, name: "file", clock: clock)
    }
}
