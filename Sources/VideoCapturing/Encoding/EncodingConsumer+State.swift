extension EncodingConsumer {
    /// A sink at its encoder.
    final class Output {
        /// Unique at its consumer.
        let number: Int
        let name: String
        let sink: any PacketSink
        let splitting: (any SplittingSink)?
        var hasBegun = false
        /// The bitrate that it can take; nil for any. Guarded by the state's lock.
        var bitrateLimit: Int?
        /// The highest temporal layer that it gets.
        var layer = Int.max

        init(number: Int, name: String, sink: any PacketSink) {
            self.number = number
            self.name = name
            self.sink = sink
            splitting = sink as? any SplittingSink
        }
    }

    /// What its lock guards, and the decisions about it. No method waits or encodes.
    struct State {
        /// The thread that has the encoder and calls sinks; nil when none does.
        var worker: UInt?
        var outputs: [Output] = []
        var outputsMade = 0
        var isKeyFrameRequested = false
        /// Whether a frame has been encoded; the first one is a key frame anyway.
        var hasEncoded = false
        /// As configured, without the limits of sinks; nil where the encoder has none.
        var bitrate: Int?
        /// What the encoder was given last.
        var appliedBitrate: Int?
        /// Sinks to be removed when the worker is done.
        var removals: [String] = []
        var isFinishRequested = false
        /// Until when the last picture is shown; nil for its own duration.
        var end: MediaTime?
        var hasFinished = false
        var feedback: CaptureFeedback?
        /// Reported last.
        var wants = CaptureWants()
        var encoderWants = CaptureWants()
        /// Whether it works only while there are sinks; see ``serveReceivers(layerCount:)``.
        var isOnDemand = false
        /// Shares the bitrate among receivers; nil for other sinks, and where the encoder has no bitrate.
        var allocation: LayerAllocation?

        var isIdle: Bool { isOnDemand && outputs.isEmpty }
        /// Of an idle one: frames that others want, and next to none of them.
        var presentWants: CaptureWants {
            isIdle ? CaptureWants(maximumFrameRate: FrameRate(1, per: 3600), isPassive: true) : encoderWants
        }

        /// The bitrate to encode with. A sink without a limit, such as a file, keeps it where it was configured; of several
        /// limits the highest counts, so that the slowest sink drops frames and the others lose nothing.
        var targetBitrate: Int? {
            guard let bitrate, !outputs.isEmpty else { return bitrate }
            if let allocation { return min(bitrate, allocation.bitrate) }
            var highest = 0
            for output in outputs {
                guard let limit = output.bitrateLimit else { return bitrate }
                highest = max(highest, limit)
            }
            return min(bitrate, highest)
        }
    }
}
