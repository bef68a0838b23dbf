import VideoCapturing

/// A stream with what is watched while it runs. Belongs to the capture thread; not checked for overlapping
/// accesses, as in ``CaptureStream``.
final class RunningStream {
    let stream: CaptureStream
    let maker: FrameMaker
    let check: BufferCheck
    let plan: DeliveryPlan
    /// The rate that was negotiated.
    let rate: FrameRate?
    /// From when on a frame that waits is stale, in nanoseconds: twice the interval of the rate, 50 ms at least.
    let freshness: Int64

    @exclusivity(unchecked) var stall: StallDetector
    @exclusivity(unchecked) var sequence = SequenceCounter()
    @exclusivity(unchecked) var damage = DamageReport()
    @exclusivity(unchecked) var rateCheck = RateCheck()
    /// When the driver is to be asked again what `poll` does not tell: how the input's signal is, where there is one that
    /// could be lost, and, where nobody polls, whether there are events. Nil when there is nothing to ask.
    @exclusivity(unchecked) var nextLook: MediaTime?
    /// The timings of the signal when the stream began.
    let timings: SignalTimings?
    /// How often in turn `poll` has said that something is wrong.
    @exclusivity(unchecked) var errorPolls = 0
    /// How often in turn `poll` has promised something, and the driver had nothing.
    @exclusivity(unchecked) var falsePromises = 0
    /// Whether a whole frame has come.
    @exclusivity(unchecked) var hasDelivered = false
    /// A wait has ended without a frame, and goes on.
    @exclusivity(unchecked) var isStillWaiting = true

    /// Watches over waits in `VIDIOC_DQBUF`; nil while frames are waited for by `poll`.
    @exclusivity(unchecked) private(set) var watchdog: DequeueWatchdog?
    /// Whether it is yet to be tried to wait in `VIDIOC_DQBUF`.
    @exclusivity(unchecked) private(set) var mayWaitInDequeue: Bool

    @exclusivity(unchecked) private var stopDescriptor: Int32 = -1

    var node: DeviceNode { stream.node }

    init(stream: CaptureStream, maker: FrameMaker, decision: CameraModeDecision, startedAt: MediaTime) {
        self.stream = stream
        self.maker = maker
        check = BufferCheck(stream.format, pixelFormat: maker.pixelFormat)
        plan = decision.plan
        rate = decision.negotiated.rate
        freshness = max((rate?.frameInterval ?? .milliseconds(33)) * 2, .milliseconds(50)).nanoseconds
        stall = StallDetector(streamStart: startedAt)
        let hasSignal = VideoInput.hasSignal(stream.node)
        if hasSignal { nextLook = startedAt }
        timings = hasSignal ? SignalTimings(stream.node) : nil
        // Of a change of the signal an event tells, and that at once.
        mayWaitInDequeue = !hasSignal && stream.node.capabilities.endsWaits
    }

    deinit { end() }

    /// Lets `VIDIOC_DQBUF` wait from now on, if that can be had; else `poll` goes on to wait.
    ///
    /// A stop that was asked for before is to be looked at again after it.
    func waitInDequeue(_ context: FrameContext) {
        mayWaitInDequeue = false
        guard stream.setWaiting(true) else { return }
        do throws(CaptureError) {
            let watchdog = try DequeueWatchdog(
                deadline: stall.deadline, limit: stall.limit, streamOff: stream.switchingOff)
            context.setStopHandler { [weak watchdog] in watchdog?.stop() }
            self.watchdog = watchdog
            nextLook = .zero
        } catch {
            stream.setWaiting(false)
        }
    }

    /// Lets `poll` wait again, for the rest of the stream.
    func waitInPoll() {
        guard let watchdog else { return }
        watchdog.end()
        self.watchdog = nil
        stream.setWaiting(false)
        nextLook = nil
        isStillWaiting = true
    }

    /// Ends the stream and what watches it.
    func end() {
        waitInPoll()
        stream.release()
    }

    /// The context's, which takes a lock each time that it is asked; it stays the same once there is one.
    func stopDescriptor(_ context: FrameContext) -> Int32 {
        if stopDescriptor < 0 { stopDescriptor = context.stopDescriptor }
        return stopDescriptor
    }
}
