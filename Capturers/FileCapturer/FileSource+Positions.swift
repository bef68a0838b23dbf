import MediaContainers
import VideoCapturing

// The beginning and end of each play, and seeking.
extension FileSource {
    /// Begins the next play, or ends.
    mutating func endPlay(isCut: Bool) throws {
        let nominal = reader?.format.estimatedFramesPerSecond
        let own = timeline.lastDuration(
            nominal: nominal, end: isCut ? playback.end : nil, stated: reader?.statedFrameLength)
        let end = (isCut ? playback.end : nil) ?? timeline.last.map { $0.file + own } ?? .zero
        let isLast = control.contents.withLock { contents in
            let isLast = playback.plays.map { contents.playsDone + 1 >= $0 } ?? false
            if isLast, picturesInPlay > 0 { contents.endOfLastFrame = timeline.end(after: own) }
            contents.position = isLast ? max(end, contents.duration.map { min($0, playback.end ?? $0) } ?? end) : end
            return isLast
        }
        guard !isLast, picturesInPlay > 0 else {
            hasEnded = true
            // Up to where the last picture is shown, which may be long.
            if let end = control.contents.withLock({ $0.endOfLastFrame }) { control.allowSound(until: end) }
            return
        }
        timeline.advance(by: own)
        try goToStart()
        control.contents.withLock { contents in
            contents.playsDone += 1
            contents.position = playback.start
        }
    }

    mutating func goToStart(isNew: Bool = false) throws {
        guard let reader else { return }
        hasEnded = false
        pending = nil
        picturesInPlay = 0
        floor = playback.start
        if playback.start > .zero {
            if reader.canSeek, try !find(playback.start, reader) { return }
        } else if !isNew {
            try reader.rewind()
        }
    }

    mutating func seek(to target: Duration) throws {
        guard let reader, reader.canSeek else { return }
        let latest = playback.end.map { $0 - .nanoseconds(1) } ?? target
        let target = max(playback.start, min(target, latest))
        defer { floor = target }
        pending = nil
        hasEnded = false
        control.contents.withLock { $0.endOfLastFrame = nil }
        guard try find(target, reader) else { return }
        // The first frame after a start has its time already.
        guard !timeline.isBeginning else { return }
        // A frame with a long duration does not delay the seek.
        var own = timeline.lastDuration(
            nominal: reader.format.estimatedFramesPerSecond, end: nil, stated: reader.statedFrameLength)
        if playback.pacing == .realTime {
            let longest = Duration.milliseconds(50)
            if timeline.scaled(own) > longest { own = .nanoseconds(Int64(Double(longest.nanoseconds) * playback.rate)) }
        }
        // Relative to the last frame that was returned: a pending one is dropped.
        timeline.begin(at: (lastGiven ?? clock.now).advanced(by: timeline.scaled(own)))
    }

    /// Goes to a place in the file; false when a stop has ended the search: then the next start begins with it.
    private func find(_ target: Duration, _ reader: any FrameReader) throws -> Bool {
        do {
            try reader.seek(to: target)
            return true
        } catch let error as MediaFileError where error.code == .interrupted {
            control.contents.withLock { if $0.seekTarget == nil { $0.seekTarget = target } }
            return false
        }
    }

    /// Waits for an order. In real time the timestamps include the pause, as of a camera.
    mutating func pause(_ context: FrameContext) {
        context.reportInterruption(.paused)
        let began = clock.now
        publishedAnchor = nil
        control.publish(nil)
        while !context.isStopping, control.contents.withLock({ $0.isPaused }) {
            control.wake.wait()
            control.wake.reset()
        }
        guard playback.pacing == .realTime else { return }
        let time = clock.now - began
        timeline.shift(by: time)
        control.contents.withLock { $0.endOfLastFrame = $0.endOfLastFrame?.advanced(by: time) }
    }
}
