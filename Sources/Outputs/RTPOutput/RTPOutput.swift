import RTP
import StreamTransport
public import VideoCapturing

/// Sends encoded video, and sound where there is some, by RTP to one receiver or to a multicast group (RFC 3550).
///
/// ```swift
/// let output = try RTPOutput("rtp://127.0.0.1:5004?codec=h264")
/// try output.open()
/// encoding.add(output, name: "rtp")
/// print(output.sessionDescription)          // what ffmpeg, VLC, GStreamer open as a file
/// ```
/// **Carried** are VP8 (RFC 7741), H.264 (RFC 6184) and Opus (RFC 7587), the sound at ports of its own.
///
/// **Reports.** A sender report each second maps the timestamps to wall-clock time, so that sound and pictures are played
/// together. Receivers answer to the socket that sent it: lost packets that they ask for are sent again, at half of the
/// bitrate at most; a key frame that they ask for is requested of the encoder, one in 300 ms; and the bitrate that they
/// state is asked of the encoder.
///
/// **Losses.** Nothing is waited for: what the system does not take at once is lost, and counted. Whether a receiver is
/// there is not known; it may come and go.
///
/// **Threads.** Packets leave on the thread that writes them; another one sends reports and reads. Safe to use from any
/// thread.
public final class RTPOutput: FeedbackSink {
    /// How it sends.
    public let configuration: RTPOutput.Configuration
    let hub: RTPHub

    /// Creates an output that is not open yet.
    ///
    /// - Parameters:
    ///   - url: `rtp://host:port`, with options: `rtcp=PORT`, `codec=vp8` or `h264`, `pt=TYPE`, `audio=PORT`,
    ///     `audio-pt=TYPE`, `mtu=BYTES`, `ttl=ROUTERS`, `from=ADDRESS`, `local=PORT`, `sdp=FILE`.
    ///   - configuration: how to send, where the address does not say so.
    /// - Throws: `invalidConfiguration` for an address or a setting that is invalid.
    public init(
        _ url: String, configuration: RTPOutput.Configuration = RTPOutput.Configuration()
    ) throws(CaptureError) {
        func invalid(_ message: String) -> CaptureError {
            CaptureError(.invalidConfiguration, operation: "open the output", subject: url, message: message)
        }
        let example = "write it as in rtp://192.168.1.5:5004"
        guard url.lowercased().hasPrefix("rtp://") else { throw invalid("This is not an address of RTP; \(example).") }
        let parts = url.dropFirst(6).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let host: String
        let port: Int
        do throws(StreamAddress.AuthorityError) {
            (host, port) = try StreamAddress.hostAndPort(of: parts[0])
        } catch {
            throw invalid(error.message(scheme: "rtp", example: example))
        }
        guard !host.isEmpty, (1...65532).contains(port) else {
            throw invalid("RTP needs a host and a port from 1 to 65532; \(example).")
        }
        var configuration = configuration
        if parts.count > 1 { try configuration.apply(parts[1], of: url) }
        try configuration.validate()
        self.configuration = configuration
        hub = RTPHub(StreamAddress(host: host, port: port), configuration)
    }

    deinit { hub.stop() }

    // MARK: Life

    /// Opens the sockets. Without it ``begin(_:)`` does.
    ///
    /// - Throws: `deviceNotFound` for an unknown host, without a way to it, or for a local address that is none of this
    ///   machine's; `deviceBusy` for a local port in use; `stalled` when the name is not found in time; `invalidState` when it
    ///   is open or finished.
    public func open() throws(CaptureError) { try hub.open(isRepeatable: false) }

    /// What was counted.
    public var statistics: RTPOutput.Statistics { hub.statistics }

    /// The session description (RFC 8866) for receivers. That of H.264 has the parameter sets once the first packet was
    /// written; before that it does without.
    public var sessionDescription: String { hub.description }

    // MARK: Packets

    public func connectFeedback(_ feedback: PacketFeedback?) { hub.connect(feedback) }

    /// Takes the tracks: one of video, one of sound, or both; opens the output if need be.
    ///
    /// - Throws: `formatUnsupported` for a codec that is not carried, or two tracks of one kind; `system` when the
    ///   description cannot be written; and as ``open()``.
    public func begin(_ tracks: [TrackDescription]) throws {
        try hub.open(isRepeatable: true)
        try hub.begin(tracks)
    }

    /// Sends a packet. Never waits. An empty packet is ignored.
    ///
    /// - Throws: `formatUnsupported` for a track that was not begun, `invalidConfiguration` when the network takes no packets
    ///   of the size of the configuration, `permissionDenied` when the system allows none.
    public func write(_ packet: MediaPacket) throws { try hub.write(packet) }

    /// Tells receivers that the streams end, and closes.
    public func finish() { hub.stop() }
}
