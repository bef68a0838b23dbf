import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// Stands between a good capture and its consumer, and spoils the frames or their delivery.
final class FlawedInlet: VideoCaptureConsumer {
    private struct Contents {
        weak var outer: (any VideoCaptureConsumer)?
        /// Frames that came when the consumer had just gone.
        var unseen: UInt64 = 0
        var starts = 0
        var framesInStart = 0
        var frames: UInt64 = 0
        var lastTimestamp = MediaTime.zero
        var isMuted = false
        var deliveringThread: UInt?
        var starter: UInt = 0
    }

    /// The first frame of a start, in flight to the thread that starts.
    private struct Handover {
        var starters = 0
        var frame: VideoFrame?
        /// Whether a starter delivers it now.
        var isTaken = false
    }

    private let flaw: Flaw?
    private let contents = Locked(Contents())
    private let keepsThreads = Locked(false)
    private let handover = Locked(Handover())
    /// Whether the capture behind is started.
    private let isStarted: @Sendable () -> Bool
    private let changing = ChangingMemory()

    init(_ flaw: Flaw?, isStarted: @escaping @Sendable () -> Bool) {
        self.flaw = flaw
        self.isStarted = isStarted
    }

    var outer: (any VideoCaptureConsumer)? {
        get { contents.withLock { $0.outer } }
        set { contents.withLock { $0.outer = newValue } }
    }

    var unseen: UInt64 { contents.withLock { $0.unseen } }
    var isOnDeliveringThread: Bool { contents.withLock { $0.deliveringThread == CaptureThread.currentIdentifier } }
    func muteForGood() { contents.withLock { $0.isMuted = true } }
    func keepThreads() { keepsThreads.withLock { $0 = true } }

    /// From here to ``endHandover()`` the first frame is for the caller's thread.
    func beginHandover() { handover.withLock { $0.starters += 1 } }

    func endHandover() {
        handover.withLock { $0.starters -= 1 }
        handover.wakeAll()
    }

    /// Delivers the first frame of a start on the caller's thread, unless another one has had it.
    func deliverHeld() {
        while isStarted() {
            let limit = MonotonicClock().now.advanced(by: .milliseconds(5))
            let frame = handover.wait(until: limit) { handover -> VideoFrame? in
                guard !handover.isTaken, let frame = handover.frame else { return nil }
                handover.isTaken = true
                return frame
            }
            if let frame {
                outer?.consumeFrame(frame)
                handover.withLock { $0 = Handover(starters: $0.starters) }
                return handover.wakeAll()
            }
            if contents.withLock({ $0.framesInStart > 1 }) { return }
        }
    }

    /// Holds the first frame until a starting thread has delivered it.
    ///
    /// - Returns: false when none does: there is none, or the capture is being stopped, which waits for this thread.
    private func handOver(_ frame: VideoFrame) -> Bool {
        handover.withLock { $0.frame = frame }
        handover.wakeAll()
        while true {
            let mayGiveUp = !isStarted()
            let limit = MonotonicClock().now.advanced(by: .milliseconds(5))
            let isDelivered = handover.wait(until: limit) { handover -> Bool? in
                if handover.frame == nil { return true }
                guard !handover.isTaken, mayGiveUp || handover.starters == 0 else { return nil }
                handover.frame = nil
                return false
            }
            if let isDelivered { return isDelivered }
        }
    }

    func beginStart() {
        contents.withLock { contents in
            contents.starts += 1
            contents.framesInStart = 0
            if flaw == .restartGivesNothing, contents.starts > 1 { contents.isMuted = true }
        }
    }

    func consumeFrame(_ frame: VideoFrame) {
        let (consumer, starts, number, isMuted) = contents.withLock { contents in
            contents.deliveringThread = CaptureThread.currentIdentifier
            contents.frames += 1
            contents.framesInStart += 1
            if contents.outer == nil { contents.unseen += 1 }
            return (contents.outer, contents.starts, contents.framesInStart, contents.isMuted)
        }
        defer { contents.withLock { $0.deliveringThread = nil } }
        guard let consumer, !isMuted else { return }
        let spoiled = spoil(frame, starts: starts)
        switch flaw {
        case .deliversOnStarter where number == 1:
            if !handOver(spoiled) { consumer.consumeFrame(spoiled) }
        case .overlapsCalls where number % 4 == 0:
            onThread { consumer.consumeFrame(spoiled) }
        case .deliversOnMainThread:
            onAnotherThread { body in
                Task { @MainActor in body() }
            } perform: {
                consumer.consumeFrame(spoiled)
            }
        case .deliversInTask:
            onAnotherThread { body in
                Task.detached { body() }
            } perform: {
                consumer.consumeFrame(spoiled)
            }
        case .changesThreads where number % 2 == 0:
            onAnotherThread {
                onThread($0)
            } perform: {
                consumer.consumeFrame(spoiled)
            }
        case .threadStays where keepsThreads.withLock({ $0 }):
            onAnotherThread { body in
                onThread {
                    body()
                    sleep(3)
                }
            } perform: {
                consumer.consumeFrame(spoiled)
            }
        case .ratesDoubleAfterManyStarts where starts > 10:
            var second = spoiled
            second.timestamp = spoiled.timestamp.advanced(by: .microseconds(2500))
            second.sequenceNumber = spoiled.sequenceNumber * 2 + 1
            consumer.consumeFrame(spoiled)
            consumer.consumeFrame(second)
        default:
            consumer.consumeFrame(spoiled)
        }
    }

    /// Blocks this thread until `perform` has been done where `send` sends it.
    private func onAnotherThread(
        _ send: (@escaping @Sendable () -> Void) -> Void, perform: @escaping @Sendable () -> Void
    ) {
        let isDone = Locked(false)
        send {
            perform()
            isDone.withLock { $0 = true }
            isDone.wakeAll()
        }
        _ = isDone.wait { $0 ? () : nil }
    }

    private func spoil(_ frame: VideoFrame, starts: Int) -> VideoFrame {
        var frame = frame
        switch flaw {
        case .usesWallClock:
            var time = timespec()
            clock_gettime(CLOCK_REALTIME, &time)
            frame.timestamp = MediaTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
        case .repeatsTimestamps:
            frame.timestamp = contents.withLock { contents in
                if contents.frames % 3 != 0 { contents.lastTimestamp = frame.timestamp }
                return contents.lastTimestamp
            }
        case .timestampsBeginAnew: frame.timestamp = frame.timestamp.advanced(by: .seconds(-starts))
        case .sequenceBeginsAnew:
            frame.sequenceNumber = contents.withLock { UInt64($0.framesInStart) }
        case .hidesGaps: frame.sequenceNumber *= 2
        case .wrongRate: frame.estimatedFrameRate = 1
        case .limitedRGB: frame.color = .bt601
        case .unreadableRows: frame.buffer = unreadable(like: frame.buffer) ?? frame.buffer
        case .changesKeptFrames: frame.buffer = changing.next(like: frame.buffer) ?? frame.buffer
        default: break
        }
        return frame
    }

    private func unreadable(like buffer: PixelBuffer) -> PixelBuffer? {
        guard let page = mmap(nil, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) else { return nil }
        let address = UInt(bitPattern: page)
        return try? wrap(page, like: buffer) { munmap(UnsafeMutableRawPointer(bitPattern: address)!, 65536) }
    }
}

/// One piece of memory for every frame, as in captures that hand out a buffer they go on writing to.
private final class ChangingMemory: Sendable {
    private let memory = UInt(bitPattern: malloc(65536))
    private let count = Locked<UInt8>(0)

    deinit { free(UnsafeMutableRawPointer(bitPattern: memory)) }

    func next(like buffer: PixelBuffer) -> PixelBuffer? {
        let memory = UnsafeMutableRawPointer(bitPattern: memory)!
        let value = count.withLock { count in
            count &+= 1
            return count
        }
        memset(memory, Int32(value), 65536)
        // Frames may outlive the capture, so each holds the memory.
        return try? wrap(memory, like: buffer) { withExtendedLifetime(self) {} }
    }
}

private func wrap(
    _ memory: UnsafeMutableRawPointer, like buffer: PixelBuffer, release: @escaping @Sendable () -> Void
) throws -> PixelBuffer {
    var offset = 0
    let planes = buffer.planes.mapPlanes { plane in
        defer { offset += plane.byteCount }
        return PixelBuffer.PlaneMemory(
            base: memory + offset, byteCount: plane.byteCount, bytesPerRow: plane.bytesPerRow)
    }
    return try PixelBuffer(
        wrapping: planes, as: buffer.pixelFormat, width: buffer.width, height: buffer.height, release: release)
}
