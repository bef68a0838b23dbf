import VideoCapturing

/// A stream with what is watched while it runs. Belongs to the capture thread.
final class RunningStream {
    let stream: CaptureStream
    let maker: FrameMaker
    let plan: DeliveryPlan
    /// The rate that was negotiated.
    let rate: FrameRate?

    var stall: StallDetector
    var sequence = SequenceCounter()
    var damage = DamageReport()
    var rateCheck = RateCheck()
    /// When the input's signal is to be looked at again; nil where there is none that could be lost.
    var nextSignalCheck: MediaTime?
    /// The timings of the signal when the stream began.
    let timings: SignalTimings?
    /// How often in turn `poll` has said that something is wrong.
    var errorPolls = 0
    /// How often in turn `poll` has promised something, and the driver had nothing.
    var falsePromises = 0
    /// Whether a whole frame has come.
    var hasDelivered = false
    /// A wait has ended without a frame, and goes on.
    var isStillWaiting = true

    var node: DeviceNode { stream.node }

    init(stream: CaptureStream, maker: FrameMaker, decision: CameraModeDecision, startedAt: MediaTime) {
        self.stream = stream
        self.maker = maker
        plan = decision.plan
        rate = decision.negotiated.rate
        stall = StallDetector(streamStart: startedAt)
        let hasSignal = VideoInput.hasSignal(stream.node)
        if hasSignal { nextSignalCheck = startedAt }
        timings = hasSignal ? SignalTimings(stream.node) : nil
    }
}
