import VideoCapturing

/// The state that a ``FileCapturer`` shares with its source: orders in one direction, the position in the other.
final class FileControl: Sendable {
    struct Contents {
        var isPaused = false
        /// The position to seek to before the next frame.
        var seekTarget: Duration?

        /// The format of the open file.
        var format: VideoFormat?
        var duration: Duration?
        var canSeek: Bool?
        var sourceDescription = ""
        var hasSound = false
        /// Whether its first frame has two fields.
        var isInterlaced = false
        /// Whether the sound was asked for.
        var isSoundTaken = false

        /// The file's time of the last frame returned.
        var position: Duration = .zero
        /// How often the file has been played to its end since it began.
        var playsDone = 0
        /// When the last frame of the last play ends; nil before that is known.
        var endOfLastFrame: MediaTime?
        /// Where the pictures are, for the sound that follows them; nil before the first one and while paused.
        var anchor: FileTimeline.Anchor?

        /// Whether the sound is captured; as fast as possible, pictures wait for it.
        var isSoundRunning = false
        /// How far the sound has come, and how far it may come: to where the pictures are; both nil before the first picture.
        var soundReached: MediaTime?
        var soundLimit: MediaTime?

        /// The time and position of the first frame, to measure the pace.
        var pace: (since: MediaTime, position: Duration, playsDone: Int)?
    }

    let contents = Locked(Contents())
    /// Takes sentences for the user, on any thread.
    let notice = Locked<@Sendable (String) -> Void>({ _ in })
    /// Raised for each order; ends the source's waits.
    let wake = ManualResetEvent()
    /// Raised when the pictures jump; ends the waits of the sound.
    let soundWake = ManualResetEvent()

    /// Tells the sound where the pictures are.
    func publish(_ anchor: FileTimeline.Anchor?) {
        contents.withLock { $0.anchor = anchor }
        soundWake.raise()
    }

    /// Lets the sound go on to a time, up to which there are pictures.
    ///
    /// - Returns: whether the sound has come as far, or is not captured.
    @discardableResult
    func allowSound(until time: MediaTime) -> Bool {
        let (isNew, isThere) = contents.withLock { contents in
            let isNew = contents.soundLimit.map { $0 < time } ?? true
            if isNew { contents.soundLimit = time }
            return (isNew, !contents.isSoundRunning || contents.soundReached.map { $0 >= time } ?? false)
        }
        if isNew { soundWake.raise() }
        return isThere
    }

    /// Tells the pictures how far the sound has come.
    ///
    /// - Returns: how far it may come; nil before the first picture.
    func reportSound(at time: MediaTime) -> MediaTime? {
        let limit = contents.withLock { contents in
            contents.soundReached = time
            return contents.soundLimit
        }
        wake.raise()
        return limit
    }

    func setSoundRunning(_ isRunning: Bool) {
        contents.withLock { contents in
            contents.isSoundRunning = isRunning
            contents.soundReached = nil
        }
        wake.raise()
    }

    func order(_ change: (inout Contents) -> Void) {
        contents.withLock { change(&$0) }
        wake.raise()
    }

    func progress(_ playback: FileCapturer.Playback, now: MediaTime) -> PlaybackProgress {
        let contents = contents.withLock { $0 }
        let position = max(.zero, contents.position - playback.start)
        guard let end = playback.end.map({ min($0, contents.duration ?? $0) }) ?? contents.duration else {
            return PlaybackProgress(position: position)
        }
        let duration = max(.zero, end - playback.start)
        var progress = PlaybackProgress(position: min(position, duration), duration: duration)
        guard let plays = playback.plays else { return progress }
        // In floating point, which does not overflow whatever duration a file states.
        let playsLeft = max(0, Double(plays) - 1 - Double(contents.playsDone))
        let left = (duration - progress.position).seconds + duration.seconds * playsLeft
        switch playback.pacing {
        case .realTime: progress.timeLeft = Duration(clampingNanoseconds: left / playback.rate * 1e9)
        case .asFastAsPossible:
            guard let pace = contents.pace else { break }
            let playsSince = Double(contents.playsDone - pace.playsDone)
            let done = (progress.position - pace.position).seconds + duration.seconds * playsSince
            let elapsed = (now - pace.since).seconds
            guard done > 0, elapsed > 0 else { break }
            progress.timeLeft = Duration(clampingNanoseconds: left / done * elapsed * 1e9)
        }
        return progress
    }
}
