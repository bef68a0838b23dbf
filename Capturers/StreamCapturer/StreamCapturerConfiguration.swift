import VideoCapturing

extension StreamCapturer {
    /// The configuration of a ``StreamCapturer``.
    public struct Configuration: Sendable, Hashable {
        /// The format of a TCP stream; nil for the one that the address names, or else the one that the first bytes show.
        public var format: StreamCapturer.Format?
        /// The timeout of a connection attempt, including name resolution.
        public var connectTimeout: Duration = .seconds(10)
        /// How long a stream may be silent before the connection counts as lost.
        public var stallTimeout: Duration = .seconds(10)
        /// The delays before the attempts to restore a lost connection; the last one is repeated. Empty for no attempt: the
        /// capture ends with the stream. When listening, another sender is waited for at once, and the delays do not count.
        public var reconnectDelays: [Duration] = [1, 2, 4, 8, 16, 30].map { .seconds($0) }
        /// The maximum number of bytes of one encoded picture; larger ones are skipped and counted.
        public var maximumPictureBytes = 8 << 20

        /// Whether a pause of the sender ends a picture of a raw stream, so that it is shown without waiting for the next; the
        /// pause is several times as long as those within pictures. Of no use with senders that end pictures by a delimiter.
        public var endsPicturesAtPauses = true

        /// Whether frames of two fields are deinterlaced: one field is kept, and the lines between are interpolated. Otherwise
        /// they are delivered as they are, with combs where something moves.
        public var deinterlaces = true

        /// Creates the default configuration.
        public init() {}

        /// Checks all values.
        ///
        /// - Throws: `invalidConfiguration` for a value that is out of range.
        public func validate() throws(CaptureError) {
            if connectTimeout <= .zero || stallTimeout <= .zero { throw error("Timeouts must be longer than nothing.") }
            if reconnectDelays.contains(where: { $0 < .zero }) { throw error("Delays must not be negative.") }
            if !(1024...1 << 30).contains(maximumPictureBytes) {
                throw error("A picture may have 1 KB to 1 GB; give a limit between.")
            }
        }

        private func error(_ message: String) -> CaptureError {
            CaptureError(.invalidConfiguration, operation: "configure the stream", message: message)
        }
    }
}

extension StreamCapturer {
    /// The format of a stream over TCP.
    public enum Format: String, Sendable, Hashable, CaseIterable {
        /// H.264 NAL units behind start codes (ITU-T H.264, annex B).
        case annexB = "h264"
        /// H.264 NAL units behind lengths of four bytes (ISO/IEC 14496-15).
        case lengthPrefixed = "avcc"
        /// Matroska or WebM.
        case matroska
        /// A transport stream (ITU-T H.222.0).
        case mpegTS = "mpegts"
        /// Flash Video.
        case flv

        /// The format of a name in an address.
        init?(name: String) {
            switch name {
            case "annexb": self = .annexB
            case "mkv", "webm": self = .matroska
            case "ts": self = .mpegTS
            default: self.init(rawValue: name)
            }
        }

        var probe: StreamProbe {
            switch self {
            case .annexB: .annexB
            case .lengthPrefixed: .lengthPrefixed
            case .matroska, .mpegTS, .flv: .container(rawValue)
            }
        }
    }
}
