import FrameProcessing
import MediaContainers
import VideoCapturing

/// Reads frames from a file's reader and returns each when it is due.
///
/// Waits itself, instead of the capture's pacing, so that a pause and a seek end the wait.
struct FileSource: FrameSource {
    /// A frame that is read but not returned yet.
    struct Pending {
        var buffer: PixelBuffer
        /// In the file's time.
        var position: Duration
        /// The number of damaged packets before it.
        var corruptBefore: UInt64
        var color: ColorDescription
        var pixelAspect: PixelAspect
        /// Whether it has passed the rate limiter and was scaled.
        var isAdmitted = false
    }

    private(set) var settings: CaptureSettings
    var pacing: FramePacing { .device }

    private let path: String
    private let opening: FileOpening
    let playback: FileCapturer.Playback
    let control: FileControl
    let clock: any CaptureClock
    private let processor = FrameProcessor()

    var reader: (any FrameReader)?
    var timeline: FileTimeline
    var pending: Pending?
    private var wants = CaptureWants()
    private var limiter = FrameRateLimiter()
    private var framesDue: UInt64 = 0
    var lastGiven: MediaTime?
    private var damagedSoFar: UInt64 = 0
    private var hasToldOfDiscontinuity = false
    /// The number of damaged packets before frames that were dropped.
    private var corruptBefore: UInt64 = 0
    /// The minimum position of frames: the one that is shown at the start began before it.
    var floor: Duration = .zero
    var picturesInPlay: UInt64 = 0
    var hasEnded = false
    /// What the sound was told of.
    var publishedAnchor: FileTimeline.Anchor?
    /// Started within the file, and no frame was returned since: if none is left, it restarts from the beginning.
    private var mayRestart = false

    init(
        path: String, opening: FileOpening, playback: FileCapturer.Playback, control: FileControl,
        clock: any CaptureClock
    ) {
        self.path = path
        self.opening = opening
        self.playback = playback
        self.control = control
        self.clock = clock
        timeline = FileTimeline(rate: playback.rate)
        // Unknown until the file is open.
        settings = CaptureSettings(format: opening.rawFormat ?? .i420(width: 0, height: 0), sourceName: path)
    }

    // MARK: - Life

    mutating func open(_ context: FrameContext) throws {
        try playback.validate()
        do {
            let reader = try opening.open(path, playback.frameRate, interruptDescriptor: context.stopDescriptor)
            try check(reader)
            damagedSoFar = 0
            self.reader = reader
            try goToStart(isNew: true)
            control.contents.withLock { contents in
                contents.format = reader.format
                contents.duration = reader.duration
                contents.canSeek = reader.canSeek
                contents.sourceDescription = reader.sourceDescription
                contents.hasSound = reader.hasSound
                contents.isInterlaced = reader.isInterlaced
                contents.position = playback.start
                contents.playsDone = 0
            }
            adoptFormat()
        } catch let error as MediaFileError where error.code == .interrupted {
            throw CaptureError(
                .invalidState, operation: "open the file", subject: path,
                message: "The capture was released while it waited for data; nothing has been read.")
        } catch {
            reader = nil
            throw FileSource.captureError(error, path: path)
        }
    }

    private func check(_ reader: any FrameReader) throws(CaptureError) {
        if playback.plays != 1, !reader.canRewind {
            throw FileCapturer.Playback.error(
                "A pipe can be played once only; save it as a file to loop it.", subject: path)
        }
        if let duration = reader.duration, duration > .zero, playback.start >= duration {
            throw FileCapturer.Playback.error(
                "The file ends at \(duration.seconds) s, before the start of \(playback.start.seconds) s; give an "
                    + "earlier one.", subject: path)
        }
    }

    mutating func start(_ context: FrameContext) throws {
        // Waits are for this source's event, which a stop must raise as well.
        context.setStopHandler { [control] in control.wake.raise() }
        mayRestart = !hasEnded && picturesInPlay > 0 && reader?.canRewind == true
        if hasEnded, let reader, reader.canRewind {
            do { try goToStart() } catch { throw FileSource.captureError(error, path: path) }
        }
        limiter = FrameRateLimiter()
        pending?.isAdmitted = false
        publishedAnchor = nil
        control.publish(nil)
        let now = context.now
        timeline.begin(at: now.increasing(after: lastGiven))
        control.contents.withLock { contents in
            contents.pace = nil
            contents.endOfLastFrame = nil
            contents.soundLimit = nil
            if picturesInPlay == 0, !hasEnded { contents.playsDone = 0 }
        }
    }

    mutating func pushBack(_ frame: SourceFrame) {
        pending = Pending(
            buffer: frame.buffer, position: timeline.last?.file ?? .zero, corruptBefore: frame.corruptBefore,
            color: frame.color, pixelAspect: frame.pixelAspect)
    }

    mutating func close() {
        pending = nil
        reader = nil
        hasEnded = false
    }

    mutating func adapt(to wants: CaptureWants) {
        self.wants = wants
        adoptFormat()
    }

    private mutating func adoptFormat() {
        guard let reader else { return }
        let size = wants.adaptedSize(width: reader.format.imageWidth, height: reader.format.imageHeight)
        settings.format = reader.format.resized(width: size.width, height: size.height)
        let rate = reader.format.estimatedFramesPerSecond.flatMap(playback.scaled)
        settings.format.estimatedFramesPerSecond = rate.map { min($0, wants.maximumFrameRate ?? $0) }
    }

    // MARK: - Frames

    mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        do {
            let frame = try awaitFrame(context)
            if frame == nil, hasEnded { countRest(context) }
            return frame
        } catch {
            hasEnded = true
            countRest(context)
            throw FileSource.captureError(error, path: path)
        }
    }

    /// Counts the damage after the last frame.
    private mutating func countRest(_ context: FrameContext) {
        context.countLosses(corrupt: corruptBefore &+ takeDamaged())
        corruptBefore = 0
    }

    /// The number of damaged packets since the last call.
    private mutating func takeDamaged() -> UInt64 {
        let damaged = reader?.damagedPackets ?? 0
        defer { damagedSoFar = damaged }
        return damaged - min(damaged, damagedSoFar)
    }

    private mutating func awaitFrame(_ context: FrameContext) throws -> SourceFrame? {
        while true {
            // Before the orders are read, so that none is missed.
            control.wake.reset()
            if context.isStopping { return nil }
            let orders = control.contents.withLock { contents in
                (isPaused: contents.isPaused, seek: contents.isPaused ? nil : contents.seekTarget.take())
            }
            if orders.isPaused {
                pause(context)
                continue
            }
            if let target = orders.seek {
                try seek(to: target)
                if context.isStopping { continue }
            }
            if pending == nil {
                if hasEnded {
                    if awaitEnd() { continue }
                    return nil
                }
                pending = try readPicture(context)
                guard pending != nil else { continue }
            }
            let due = timeline.place(pending!.position)
            publishAnchor()
            guard try pending!.isAdmitted || admit(due) else { continue }
            if playback.pacing == .realTime, clock.now < due {
                clock.wait(until: due, or: control.wake)
                continue
            }
            // Where no clock holds them together, neither runs ahead of the other.
            if playback.pacing == .asFastAsPossible, !control.allowSound(until: due) {
                control.wake.wait()
                continue
            }
            return give(due)
        }
    }

    /// Waits while the last frame is shown; false once that is over.
    private func awaitEnd() -> Bool {
        guard playback.pacing == .realTime, let end = control.contents.withLock({ $0.endOfLastFrame }), clock.now < end
        else { return false }
        clock.wait(until: end, or: control.wake)
        return true
    }

    /// Tells the sound of a jump.
    private mutating func publishAnchor() {
        guard timeline.anchor != publishedAnchor else { return }
        publishedAnchor = timeline.anchor
        control.publish(publishedAnchor)
    }

    /// Drops a frame that exceeds the wanted rate, and scales one that is too large.
    private mutating func admit(_ due: MediaTime) throws -> Bool {
        framesDue &+= 1
        guard limiter.shouldPass(due, sequenceNumber: framesDue, at: wants.maximumFrameRate) else {
            corruptBefore &+= pending!.corruptBefore
            pending = nil
            return false
        }
        pending!.isAdmitted = true
        let buffer = pending!.buffer
        let size = wants.adaptedSize(width: buffer.width, height: buffer.height)
        if size != (buffer.width, buffer.height) {
            let scaled = try processor.apply(
                FrameTransform(size: PixelSize(width: size.width, height: size.height)), to: buffer,
                color: pending!.color)
            pending!.buffer = scaled.buffer
            pending!.color = scaled.color
        }
        return true
    }

    private mutating func give(_ due: MediaTime) -> SourceFrame {
        var frame = SourceFrame(pending!.buffer, timestamp: due)
        frame.corruptBefore = pending!.corruptBefore &+ corruptBefore
        corruptBefore = 0
        frame.color = pending!.color
        frame.pixelAspect = pending!.pixelAspect
        if let reader { frame.orientation = reader.orientation }
        lastGiven = max(lastGiven ?? due, due)
        if playback.pacing == .asFastAsPossible {
            let own = timeline.lastDuration(
                nominal: reader?.format.estimatedFramesPerSecond, end: nil, stated: reader?.statedFrameLength)
            control.allowSound(until: due.advanced(by: timeline.scaled(own)))
        }
        let (position, now) = (pending!.position, clock.now)
        control.contents.withLock { [start = playback.start] contents in
            contents.position = position
            if contents.pace == nil { contents.pace = (now, position - start, contents.playsDone) }
        }
        pending = nil
        mayRestart = false
        return frame
    }

    /// Nil when there are no more, or the wait was ended.
    private mutating func readPicture(_ context: FrameContext) throws -> Pending? {
        guard let reader else { return nil }
        // Also after the search for the start of the next play.
        while !context.isStopping {
            let next: (buffer: PixelBuffer, timestamp: Duration)?
            do {
                next = try reader.nextFrame()
            } catch let error as MediaFileError where error.code == .interrupted {
                if context.isStopping { return nil }
                throw error
            }
            let isPastEnd = playback.end.map { end in next.map { $0.timestamp >= end } ?? false } ?? false
            guard let next, !isPastEnd else {
                if mayRestart {
                    mayRestart = false
                    try goToStart()
                    continue
                }
                try endPlay(isCut: isPastEnd)
                if hasEnded { return nil }
                continue
            }
            picturesInPlay += 1
            if reader.discontinuities > 0 { tellOfDiscontinuity(at: next.timestamp) }
            // In a pipe, which cannot seek.
            if next.timestamp < floor, !reader.canSeek { continue }
            return Pending(
                buffer: try restored(next.buffer, reader), position: max(next.timestamp, floor),
                corruptBefore: takeDamaged(), color: reader.color, pixelAspect: reader.pixelAspect)
        }
        return nil
    }

    /// The picture as it was seen: without the combs of two fields, and mirrored where the file says so. No consumer knows
    /// of either.
    private func restored(_ buffer: PixelBuffer, _ reader: any FrameReader) throws -> PixelBuffer {
        let whole = reader.isInterlaced && playback.deinterlaces ? try processor.deinterlace(buffer) : buffer
        guard reader.isMirrored else { return whole }
        return try processor.apply(
            FrameTransform(mirrors: true), to: whole, color: reader.color, orientation: reader.orientation
        ).buffer
    }

    private mutating func tellOfDiscontinuity(at time: Duration) {
        guard !hasToldOfDiscontinuity else { return }
        hasToldOfDiscontinuity = true
        control.notice.withLock { $0 }(
            "\(path): its times go back or jump at \(Double((time.seconds * 10).rounded()) / 10) s, as where recordings were "
                + "joined; the pictures go on there without a gap.")
    }
}
