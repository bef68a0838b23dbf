import VideoCapturing

extension StreamOutput {
    /// How a ``StreamOutput`` sends.
    public struct Configuration: Sendable, Hashable {
        /// The format; nil for the one that the address names, or else ``StreamOutput/Format/annexB``.
        public var format: StreamOutput.Format?
        /// The maximum number of receivers at a time; further ones are turned away.
        public var maximumReceivers = 64
        /// The maximum number of encoded bytes that wait for one receiver.
        public var maximumWaitingBytes = 8 << 20
        /// How long a packet may wait for a receiver before that loses groups of pictures.
        public var maximumDelay: Duration = .seconds(2)
        /// The timeout of a connection attempt, including name resolution.
        public var connectTimeout: Duration = .seconds(10)
        /// How long a receiver may take nothing before its connection is closed.
        public var stallTimeout: Duration = .seconds(10)
        /// The delays before the attempts to restore a lost connection, when connecting; the last one is repeated. Empty for
        /// no attempt.
        public var reconnectDelays: [Duration] = [.milliseconds(500), .seconds(1), .seconds(2), .seconds(5)]
        /// How long the end waits for receivers to take what is still to be sent.
        public var finishTimeout: Duration = .seconds(2)

        /// Creates the default configuration.
        public init() {}

        /// Checks all values.
        ///
        /// - Throws: `invalidConfiguration` for a value that is out of range.
        public func validate() throws(CaptureError) {
            if !(1...10_000).contains(maximumReceivers) { throw error("Give 1 to 10000 as the maximum of receivers.") }
            if maximumWaitingBytes < 1 { throw error("At least one byte must be allowed to wait.") }
            if [maximumDelay, connectTimeout, stallTimeout].contains(where: { $0 <= .zero }) {
                throw error("The longest delay and the timeouts must be longer than nothing.")
            }
            if finishTimeout < .zero || reconnectDelays.contains(where: { $0 < .zero }) {
                throw error("Delays must not be negative.")
            }
        }

        private func error(_ message: String) -> CaptureError {
            CaptureError(.invalidConfiguration, operation: "configure the stream", message: message)
        }
    }
}

extension StreamOutput {
    /// What a ``StreamOutput`` sends.
    public enum Format: String, Sendable, Hashable, CaseIterable {
        /// H.264 NAL units behind start codes (ITU-T H.264, annex B). Each picture ends with the access unit delimiter of the
        /// next, so that a receiver need not wait for that to show it. Without timestamps.
        case annexB = "h264"
        /// WebM for VP8, Matroska for H.264, as a live stream with timestamps.
        case matroska

        /// The format of a name: `h264` or `annexb`, `matroska`, `mkv` or `webm`.
        init?(name: String) {
            switch name {
            case "h264", "annexb": self = .annexB
            case "matroska", "mkv", "webm": self = .matroska
            default: return nil
            }
        }
    }
}
