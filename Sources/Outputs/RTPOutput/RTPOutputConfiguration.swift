import StreamTransport
public import VideoCapturing

extension RTPOutput {
    /// How an ``RTPOutput`` sends.
    public struct Configuration: Sendable, Hashable {
        /// The codec of the video, `vp8` or `h264`: one, since the description of the session states it.
        public var codec = Codec.vp8
        /// The payload type of the video, 0 to 127.
        public var payloadType = 96
        /// The payload type of the sound, 0 to 127.
        public var audioPayloadType = 111
        /// The port to which the reports on the video are sent, and from which requests come; nil for the one above that of
        /// the video, which may also be the same.
        public var reportPort: Int?
        /// The port to which the sound is sent, with its reports one above; nil for the one two above that of the video.
        public var audioPort: Int?
        /// The maximum size of a packet in bytes, without the headers of IP and UDP.
        public var maximumPacketSize = 1200
        /// The number of routers that multicast packets may pass, 1 to 255.
        public var timeToLive = 1
        /// The address of this machine from which is sent, and which for multicast chooses the interface; nil for the one
        /// that the system chooses.
        public var localAddress: String?
        /// The port of this machine from which the video is sent, its reports from the one above and the sound from the two
        /// above that; nil for ports that the system chooses.
        public var localPort: Int?
        /// The file to which the session description is written; nil for none.
        public var descriptionFile: String?
        /// The shortest time between two key frames that receivers ask for.
        public var keyFrameInterval: Duration = .milliseconds(300)
        /// How long an estimate of the bitrate by a receiver counts.
        public var estimateTimeout: Duration = .seconds(10)

        /// The default configuration.
        public init() {}

        /// Checks all values.
        ///
        /// - Throws: `invalidConfiguration` for a value that is out of range.
        public func validate() throws(CaptureError) {
            if codec != .vp8, codec != .h264 { throw error("RTP carries the video as vp8 or h264, not \(codec).") }
            let types = [payloadType, audioPayloadType]
            // RFC 5761, 4: those between are taken by RTCP where both share a port.
            if types.contains(where: { !(0...63).contains($0) && !(96...127).contains($0) }) || types[0] == types[1] {
                throw error("Payload types are two numbers of 0 to 63 or 96 to 127; 96 and 111 are usual.")
            }
            if let port = [reportPort, audioPort, localPort].compactMap(\.self).first(where: {
                !(1...65534).contains($0)
            }) {
                throw error("\(port) is not a port from 1 to 65534.")
            }
            if !(200...9000).contains(maximumPacketSize) {
                throw error("Packets have 200 to 9000 bytes; 1200 pass every network.")
            }
            if !(1...255).contains(timeToLive) { throw error("The routers that are passed are 1 to 255.") }
            if keyFrameInterval < .zero || estimateTimeout <= .zero {
                throw error("Times must not be negative, and an estimate must count for a while.")
            }
        }

        private func error(_ message: String) -> CaptureError {
            CaptureError(.invalidConfiguration, operation: "configure RTP", message: message)
        }
    }
}

extension RTPOutput.Configuration {
    /// The names of the options in an address.
    private static let names = ["rtcp", "codec", "pt", "audio", "audio-pt", "mtu", "ttl", "from", "local", "sdp"]

    /// Takes the options of an address, `name=value&…`.
    mutating func apply(_ query: Substring, of url: String) throws(CaptureError) {
        func invalid(_ message: String) -> CaptureError {
            CaptureError(.invalidConfiguration, operation: "open the output", subject: url, message: message)
        }
        for option in query.split(separator: "&") {
            let pair = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard RTPOutput.Configuration.names.contains(pair[0]) else {
                let names = RTPOutput.Configuration.names
                let guess = nearestName(to: pair[0], in: names).map { " Did you mean \($0)?" } ?? ""
                throw invalid("The option \(option) is not known.\(guess) There are \(names.joined(separator: ", ")).")
            }
            guard pair.count > 1, !pair[1].isEmpty else { throw invalid("The option \(pair[0]) needs a value.") }
            let value = pair[1]
            switch pair[0] {
            case "codec": codec = Codec(rawValue: value)
            case "from": localAddress = value
            case "sdp": descriptionFile = value
            case let name:
                guard let number = Int(value) else { throw invalid("The option \(name) is a number, not \(value).") }
                switch name {
                case "rtcp": reportPort = number
                case "pt": payloadType = number
                case "audio": audioPort = number
                case "audio-pt": audioPayloadType = number
                case "mtu": maximumPacketSize = number
                case "ttl": timeToLive = number
                default: localPort = number
                }
            }
        }
    }
}

extension RTPOutput {
    /// Statistics of an ``RTPOutput`` since it was opened.
    public struct Statistics: Sendable, Hashable {
        /// Packets that were sent for the first time, of video and sound.
        public var packets: UInt64 = 0
        /// Bytes of RTP that were sent, retransmissions included.
        public var bytes: UInt64 = 0
        /// Packets that the system did not take, since it had no room or no way to the receiver.
        public var packetsUnsent: UInt64 = 0
        /// Packets that were sent again, since a receiver lacked them.
        public var packetsResent: UInt64 = 0
        /// Packets that receivers reported missing.
        public var packetsAsked: UInt64 = 0
        /// Requests of receivers for a key frame.
        public var keyFrameRequests: UInt64 = 0
        /// Of these, those that were passed on to the encoder: one in ``Configuration/keyFrameInterval``.
        public var keyFramesAsked: UInt64 = 0
        /// Reports of receivers.
        public var reports: UInt64 = 0
        /// Reports that were sent.
        public var reportsSent: UInt64 = 0
        /// The fraction of the video's packets that were lost before the last report, 0 to 1.
        public var fractionLost = 0.0
        /// The last round trip; nil before a receiver has answered a report.
        public var roundTripTime: Duration?
        /// The bitrate that a receiver can take, in bits per second; nil when none says so.
        public var bitrateLimit: Int?
        /// Messages that were damaged, or too many, and were not obeyed.
        public var messagesIgnored: UInt64 = 0
        /// Whether the last packets were refused, since nothing listens at the receiver's port.
        public var isRefused = false

        /// Statistics with all counters zero.
        public init() {}
    }
}
