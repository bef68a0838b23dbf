import VideoCapturing

/// Notes what is said of each frame, and keeps the last ones if told to. Safe to use from any thread.
final class FrameProbe: VideoCaptureConsumer {
    struct Note {
        var timestamp: MediaTime
        var sequenceNumber: UInt64
        var arrival: MediaTime
        var delay: Duration?
        /// What ``FakeCamera`` writes at the beginning of a picture: its number.
        var number: UInt32
    }

    struct Contents {
        var notes: [Note] = []
        var kept: [VideoFrame] = []
        /// How many frames to keep, the newest.
        var keeps = 0
        /// How long to take for each frame.
        var delay = Duration.zero
    }

    private let contents = Locked(Contents())

    func set(_ change: (inout Contents) -> Void) { contents.withLock { change(&$0) } }
    var notes: [Note] { contents.withLock { $0.notes } }
    var count: Int { contents.withLock { $0.notes.count } }
    var kept: [VideoFrame] { contents.withLock { $0.kept } }

    func consumeFrame(_ frame: VideoFrame) {
        let number = frame.buffer.withRow(0, ofPlane: 0) { $0.loadUnaligned(as: UInt32.self) }
        let note = Note(
            timestamp: frame.timestamp, sequenceNumber: frame.sequenceNumber, arrival: MonotonicClock().now,
            delay: frame.estimatedCaptureDelay, number: number)
        let (delay, gone) = contents.withLock { contents in
            contents.notes.append(note)
            var gone: VideoFrame?
            if contents.keeps > 0 {
                if contents.kept.count >= contents.keeps { gone = contents.kept.removeFirst() }
                contents.kept.append(frame)
            }
            return (contents.delay, gone)
        }
        contents.wakeAll()
        withExtendedLifetime(gone) {}
        if delay > .zero { pause(delay) }
    }

    /// Blocks until `count` more frames have come; false when `limit` has passed before.
    func waitForMore(_ count: Int, within limit: Duration = .seconds(60)) -> Bool {
        let goal = self.count + count
        return wait(within: limit) { $0.notes.count >= goal }
    }

    func wait(within limit: Duration, until condition: (Contents) -> Bool) -> Bool {
        contents.wait(until: MonotonicClock().now.advanced(by: limit)) { condition($0) ? () : nil } != nil
    }

    /// What is wrong with the order of the frames; nil when nothing is.
    var disorder: String? {
        let notes = notes
        for (last, next) in zip(notes, notes.dropFirst()) {
            if next.timestamp <= last.timestamp { return "the time goes from \(last.timestamp) to \(next.timestamp)" }
            if next.sequenceNumber <= last.sequenceNumber {
                return "the number goes from \(last.sequenceNumber) to \(next.sequenceNumber)"
            }
        }
        return nil
    }
}
