import MediaContainers
import StreamTransport
import VideoCapturing

/// Sends encoded video over TCP: to one receiver that it connects to, or to any number that connect to it.
///
/// ```swift
/// let output = try StreamOutput("tcp://0.0.0.0:9000?listen")      // or tcp://host:9000, with ?format=matroska
/// try output.open()
/// encoding.add(output, name: "tcp")
/// ```
/// **Formats.** H.264 as raw Annex B, each picture ended at once by the delimiter of the next; or H.264 in Matroska and
/// VP8 in WebM, with timestamps. See ``StreamOutput/Format``.
///
/// **Receivers.** Each begins with parameter sets and a key frame, which is requested of the encoder when it joins. One that
/// is too slow loses whole groups of pictures, which are counted, and delays neither the encoder nor another. One that takes
/// nothing for a while is disconnected. While no receiver takes what the encoder makes, the encoder is asked for a lower
/// bitrate, the one that the fastest of them takes, and slowly for a higher one again. Where Matroska's header no longer fits, since the encoder has changed the size, the
/// connection is ended, so that the receiver gets another header with the next one.
///
/// **Threads.** One thread sends to all receivers. Safe to use from any thread; the event handler is called on the sending
/// thread.
public final class StreamOutput: FeedbackSink {
    /// How it sends.
    public let configuration: StreamOutput.Configuration
    /// What it sends.
    public var format: StreamOutput.Format { hub.format }

    let hub: OutputHub

    /// Creates an output that is not connected yet.
    ///
    /// - Parameters:
    ///   - url: `tcp://host:port` to connect, `tcp://address:port?listen` to be connected to, at an address of this machine
    ///     (`0.0.0.0` or `[::]` for all that it has) and a port, 0 for one that the system chooses; `format=h264` or
    ///     `format=matroska` among the options.
    ///   - configuration: how to send.
    /// - Throws: `invalidConfiguration` for an address or a setting that is invalid.
    public init(
        _ url: String, configuration: StreamOutput.Configuration = StreamOutput.Configuration()
    ) throws(CaptureError) {
        try configuration.validate()
        let address = try StreamAddress(url, operation: "open the output")
        var format = configuration.format
        if format == nil, let name = address.format {
            format = StreamOutput.Format(name: name)
            guard format != nil else {
                throw CaptureError(
                    .invalidConfiguration, operation: "open the output", subject: url,
                    message: "There is no format \(name) to send; use format=h264 or format=matroska.")
            }
        }
        self.configuration = configuration
        hub = OutputHub(address, format: format ?? .annexB, configuration)
    }

    deinit { hub.end(at: .zero) }

    // MARK: Life

    /// Listens, or connects: waits for the first connection then.
    ///
    /// Without it ``begin(_:)`` listens, or begins to connect without waiting, so that a receiver that is started later is
    /// found.
    ///
    /// - Throws: `deviceBusy` for a port in use, `deviceNotFound` for an unknown host or when nothing listens there,
    ///   `stalled` without an answer, `permissionDenied`, `system`; `invalidState` when it is open or finished. It can be
    ///   tried again.
    public func open() throws(CaptureError) { try hub.open(isWaiting: true) }

    /// The port at which it listens; nil when it connects, or is not open.
    public var port: Int? { hub.port }

    /// Sets the handler that is called with the events of the output: on the sending thread, so it must return soon and
    /// must not finish the output.
    ///
    /// - Parameter handler: the handler; nil for none.
    public func setEventHandler(_ handler: (@Sendable (StreamOutput.Event) -> Void)?) {
        hub.state.withLock { $0.handler = handler }
    }

    /// What was counted, and the receivers at the moment.
    public var statistics: StreamOutput.Statistics { hub.statistics }

    // MARK: Packets

    public func connectFeedback(_ feedback: PacketFeedback?) {
        hub.state.withLock { $0.feedback = feedback }
        hub.wake.raise()
    }

    /// Takes the track; opens the output if need be.
    ///
    /// - Throws: `formatUnsupported` for a track that the format cannot carry, or several; and as ``open()``, when it
    ///   listens.
    public func begin(_ tracks: [TrackDescription]) throws {
        guard tracks.count == 1, let track = tracks.first else {
            throw refusal("One track of video is sent, and these are \(tracks.count) tracks.")
        }
        switch format {
        case .annexB:
            guard track.codec == .h264, case .video = track.media else {
                throw refusal(
                    "Annex B carries H.264 only, and this is \(track.codec); encode with H.264, or add "
                        + "format=matroska to the address for VP8.")
            }
        case .matroska:
            guard MatroskaStream.carries(track) else {
                throw refusal("Matroska is sent with H.264 or VP8, and this is \(track.codec).")
            }
        }
        hub.begin(track)
        try hub.open(isWaiting: false)
    }

    private func refusal(_ message: String) -> CaptureError {
        CaptureError(
            .formatUnsupported, operation: "begin the stream", subject: hub.address.displayName, message: message)
    }

    /// Queues a packet for each receiver. Never waits. An empty packet is ignored.
    ///
    /// - Throws: the error of the last attempt, when it connects and no further attempt is made.
    public func write(_ packet: MediaPacket) throws {
        guard packet.data.count > 0 else { return }
        try hub.write(packet)
    }

    /// Waits until all receivers have been sent what waits for them, for the timeout of the configuration at most, and
    /// disconnects them.
    public func finish() { hub.finish(within: configuration.finishTimeout) }
}
