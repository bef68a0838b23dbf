/// The delivery of a queue's frames to its consumer, on the consumer's thread or inline.
extension FrameQueue {
    /// What a consumer's thread is to do next.
    enum Turn {
        case deliver(VideoFrame)
        /// No frame has come for the repeat interval.
        case repeatLast
        /// The last frame will no longer be repeated.
        case forgetLast
        case end
    }

    /// Takes a frame out, or finds it time to show the last one again; blocks until there is something to do. The
    /// queue is not at rest until ``endDelivery()`` is called. For a single consumer thread.
    ///
    /// - Parameter last: when the last frame was shown, on `CLOCK_MONOTONIC`; nil without a frame to repeat.
    func nextTurn(lastShown last: MediaTime?) -> Turn {
        var interval: Duration?
        while true {
            var mustWake = false
            let deadline = interval.flatMap { last?.advanced(by: $0) }
            let turn: Turn?? = contents.wait(until: deadline) { contents -> Turn?? in
                guard contents.inlineThread == nil else {
                    contents.isRestAwaited = true
                    return nil
                }
                if let frame = takeFirst(&contents, mustWake: &mustWake) {
                    contents.isDelivering = true
                    contents.mayRepeat = !contents.isStopping
                    return .deliver(frame)
                }
                if contents.isClosed { return .end }
                if last != nil {
                    guard contents.activeRepeatInterval != nil else { return .forgetLast }
                    if contents.activeRepeatInterval != interval {
                        interval = contents.activeRepeatInterval
                        // Waits again, until the new time.
                        return .some(nil)
                    }
                    if let deadline, MonotonicClock().now >= deadline {
                        contents.isDelivering = true
                        return .repeatLast
                    }
                }
                contents.waitingConsumers = 1
                return nil
            }
            if mustWake { contents.wakeAll() }
            if let turn = turn ?? nil { return turn }
        }
    }

    /// The consumer has returned. Whether it wants to see its frame again when no other comes.
    func endDelivery() -> Bool {
        let (isKept, isAwaited) = contents.withLock { contents in
            contents.isDelivering = false
            recordProgress(&contents)
            defer { contents.isRestAwaited = false }
            return (contents.activeRepeatInterval != nil, contents.isRestAwaited)
        }
        // A producer that waits for room gets none by this, so it is left to sleep.
        if isAwaited { contents.wakeAll() }
        return isKept
    }

    /// Begins to hand a frame over past the queue, on the thread that pushes. ``endInlineDelivery(of:isTaken:)`` must
    /// follow.
    ///
    /// - Parameter frame: gets the damage that is owed to it.
    /// - Returns: false, and nothing is begun, when the frame must go into the queue: others wait there, one is being
    ///   delivered, or the consumer's thread must see it for a repeat.
    func beginInlineDelivery(of frame: inout VideoFrame) -> Bool {
        contents.withLock { contents in
            guard contents.count == 0, !contents.isDelivering, !contents.isClosed, !contents.mayHaveRepeated else {
                return false
            }
            contents.received += 1
            contents.accumulator.flush(into: &frame)
            contents.isDelivering = true
            contents.inlineThread = CaptureThread.currentIdentifier
            return true
        }
    }

    /// Ends that; a frame that was not taken is put into the queue.
    func endInlineDelivery(of frame: VideoFrame, isTaken: Bool) {
        let mustWake = contents.withLock { contents in
            contents.isDelivering = false
            contents.inlineThread = nil
            if !isTaken { contents.append(frame) }
            defer { contents.isRestAwaited = false }
            return contents.isRestAwaited || !isTaken
        }
        // The consumer's thread, which waits for a frame, is left to sleep.
        if mustWake { contents.wakeAll() }
    }

    /// Whether the caller is inside an immediate delivery.
    var isDeliveringInlineHere: Bool {
        contents.withLock { $0.inlineThread == CaptureThread.currentIdentifier }
    }

    /// Sets after how long without a frame the consumer wants the last one again; nil for never. Counts from the
    /// next frame on when there was none before.
    func setRepeatInterval(_ interval: Duration?) {
        contents.withLock { contents in
            contents.repeatInterval = interval
            if interval != nil { contents.mayHaveRepeated = true }
        }
        contents.wakeAll()
    }

    /// Blocks until no frame waits and none is being delivered. False, with the waiting frames dropped, when the
    /// consumer makes no progress for the timeout.
    ///
    /// - Parameter start: when the wait has begun, perhaps for another queue.
    func awaitRest(since start: MediaTime) -> Bool {
        var limit: Limit? = (start, MediaTime(nanoseconds: .max))
        let isAtRest = waitWithLimit(&limit) { contents, limit -> Bool? in
            guard contents.isDelivering || contents.count > 0 else { return true }
            guard !isStalled(&contents, &limit) else { return false }
            contents.isRestAwaited = true
            return nil
        }
        if !isAtRest { discardWaitingFrames() }
        return isAtRest
    }
}
