public import AudioCapturing

extension OpusEncoder {
    /// How to encode.
    public struct Configuration: Sendable, Hashable {
        /// What the sound is, which decides how libopus encodes.
        public enum Application: String, Sendable, Hashable, CaseIterable {
            /// Anything, as true to the original as possible.
            case audio
            /// Speech that must be intelligible at a low bitrate; costs twice the processor time.
            case voice
            /// Anything, with a delay of 2.5 ms in place of 6.5 ms, and slightly less quality.
            case lowDelay
        }

        /// How the bitrate is kept.
        public enum RateControl: String, Sendable, Hashable, CaseIterable {
            /// Packets are as large as their sound needs: for files.
            case variable
            /// As ``variable``, within bounds that let a network of that bitrate carry each packet in time.
            case constrained
            /// Packets of equal size.
            case constant
        }

        /// The samples that will come; nil to take it from the first chunk. Where it is stated, the track is described
        /// before any sound.
        public var format: AudioFormat?
        /// Bits per second; nil for 128,000 in stereo and 64,000 in mono.
        public var bitrate: Int?
        /// What the sound is.
        public var application: Application
        /// How the bitrate is kept.
        public var rateControl: RateControl
        /// The length of a packet: 2.5, 5, 10, 20, 40 or 60 ms.
        public var packetDuration: Duration
        /// How much processor time to spend, 0 to 10: 9 takes 7 ms per second of stereo on a desktop, 5 takes 4.
        public var complexity: Int
        /// The share of packets, in percent, that a network is expected to lose; speech is then sent so that a lost packet
        /// can be restored from the next. 0 for files.
        public var expectedPacketLoss: Int

        /// A configuration; see the properties.
        public init(
            format: AudioFormat? = nil, bitrate: Int? = nil, application: Application = .audio,
            rateControl: RateControl = .variable, packetDuration: Duration = .milliseconds(20), complexity: Int = 9,
            expectedPacketLoss: Int = 0
        ) {
            self.format = format
            self.bitrate = bitrate
            self.application = application
            self.rateControl = rateControl
            self.packetDuration = packetDuration
            self.complexity = complexity
            self.expectedPacketLoss = expectedPacketLoss
        }

        /// Throws `invalidConfiguration` for what libopus would refuse, or silently change.
        func validate() throws(CodecError) {
            func refuse(_ message: String) -> CodecError {
                CodecError(.invalidConfiguration, operation: "configure the encoder", subject: "Opus", message: message)
            }
            if let bitrate, !(6000...510_000).contains(bitrate) {
                throw refuse("A bitrate of \(bitrate) is out of range; use 6000 to 510000 bits per second.")
            }
            guard (0...10).contains(complexity) else {
                throw refuse("The complexity is 0 to 10, not \(complexity).")
            }
            guard (0...100).contains(expectedPacketLoss) else {
                throw refuse("The expected packet loss is 0 to 100 percent, not \(expectedPacketLoss).")
            }
            guard [2500, 5000, 10_000, 20_000, 40_000, 60_000].contains(packetDuration.nanoseconds / 1000),
                packetDuration.nanoseconds % 1000 == 0
            else {
                throw refuse(
                    "A packet is 2.5, 5, 10, 20, 40 or 60 ms long, not \(packetDuration.seconds * 1000) ms.")
            }
        }
    }
}
