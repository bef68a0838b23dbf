import CaptureCore

extension RTPSender {
    /// How an ``RTPSender`` sends.
    package struct Configuration: Sendable, Hashable {
        /// How the frames are carried.
        package var format: RTPFormat
        /// The payload type, 0 to 127.
        package var payloadType: UInt8
        /// The source.
        package var ssrc = UInt32.random(in: 1 ... .max)
        /// The reaction to a packet that a receiver lacks.
        package var resending = Resending.none
        /// The header extensions that were agreed on.
        package var extensions = RTPExtensionIDs()
        /// The value of the extension mid, 1 to 16 characters: on key frames, the first packets and retransmissions.
        package var mid: String?
        /// The canonical name, the same for all streams of a session.
        package var cname = RTPSender.Configuration.randomName()
        /// The maximum size of a packet with what a transport adds, in bytes of UDP payload; 200 to 9000.
        package var maximumPacketSize = 1200
        /// The bytes that a transport adds to each packet: 16 for AES-GCM, 10 for AES-CM with SHA-1.
        package var trailerSize = 0
        /// The maximum bitrate in bits per second, of which retransmissions get half.
        package var maximumBitrate = 2_500_000
        /// The values with which the stream begins.
        package var start = Start()

        /// The default configuration for a format.
        package init(format: RTPFormat, payloadType: UInt8) {
            self.format = format
            self.payloadType = payloadType
        }

        /// A canonical name that says nothing of user or machine (RFC 7022): 96 random bits.
        package static func randomName() -> String {
            let digits = Array("0123456789abcdefghijklmnopqrstuv")
            return String((0..<20).map { _ in digits.randomElement() ?? "0" })
        }
    }

    /// The reaction to a packet that a receiver lacks.
    package enum Resending: Sendable, Hashable {
        /// Nothing.
        case none
        /// The same packet is sent again, as plain RTP does it.
        case plain
        /// In a separate stream (RFC 4588), with its payload type and source.
        case rtx(payloadType: UInt8, ssrc: UInt32)
    }

    /// The values with which a stream begins; random, but for tests.
    package struct Start: Sendable, Hashable {
        /// Below 2¹⁵, so that no receiver that joins late misses the first overflow (RFC 3711, 3.3.1).
        package var sequenceNumber = UInt16.random(in: 0..<0x8000)
        /// That of the retransmissions.
        package var resendNumber = UInt16.random(in: 0..<0x8000)
        /// The RTP timestamp of the monotonic clock's epoch.
        package var timestamp = UInt32.random(in: 0 ... .max)
        /// The picture id of VP8, of 15 bits.
        package var pictureID = UInt16.random(in: 0..<0x8000)

        /// Random values.
        package init() {}
    }

    /// The statistics of a stream.
    package struct Statistics: Sendable, Hashable {
        /// Frames, key frames among them.
        package var frames: UInt64 = 0
        package var keyFrames: UInt64 = 0
        /// Frames of sound that are larger than a packet, and were left out.
        package var oversizedFrames: UInt64 = 0
        /// Packets that were sent for the first time, their bytes, and those without headers.
        package var packets: UInt64 = 0
        package var bytes: UInt64 = 0
        package var payloadBytes: UInt64 = 0
        /// Requests for lost packets, and the packets that they named.
        package var nacks: UInt64 = 0
        package var packetsAsked: UInt64 = 0
        /// Packets that were sent again, and their bytes.
        package var packetsResent: UInt64 = 0
        package var bytesResent: UInt64 = 0
        /// Packets that were not sent again, since half of the target rate was used up.
        package var resendsWithheld: UInt64 = 0
        /// Packets that were sent only to see whether the link takes more.
        package var paddingPackets: UInt64 = 0
        /// Requests for a key frame, PLI and FIR.
        package var keyFrameRequests: UInt64 = 0
        /// Reports of the receiver.
        package var reports: UInt64 = 0
        /// Of the last report: the fraction of packets that were lost since the one before, 0 to 1.
        package var fractionLost = 0.0
        /// Of the last report: the packets that were lost since the beginning.
        package var packetsLost = 0
        /// Of the last report: the jitter between arrivals.
        package var jitter: Duration?
        /// The last round trip.
        package var roundTripTime: Duration?

        /// All zero.
        package init() {}
    }
}
