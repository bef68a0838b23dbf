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
    /// When the input's signal is to be looked at again; nil where there is none that could be lost.
    @exclusivity(unchecked) var nextSignalCheck: MediaTime?
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
        if hasSignal { nextSignalCheck = startedAt }
        timings = hasSignal ? SignalTimings(stream.node) : nil
    }

    /// The context's, which takes a lock each time that it is asked; it stays the same once there is one.
    func stopDescriptor(_ context: FrameContext) -> Int32 {
        if stopDescriptor < 0 { stopDescriptor = context.stopDescriptor }
        return stopDescriptor
    }
}
