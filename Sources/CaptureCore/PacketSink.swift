/// Takes encoded packets: a file, a server, a network sender.
///
/// `PacketSinkSuite` in `CapturerTestKit` checks the sentences that follow.
///
/// **Order.** begin → write* → finish. ``begin(_:)`` comes once, before the first packet, with every track that there
/// will be; ``finish()`` comes once, last, also after a failure of the others and without packets. A sink that has
/// finished takes no more: a later ``write(_:)`` throws or does nothing, a repeated ``finish()`` does nothing.
///
/// **Threads.** Calls come from any thread, one at a time.
///
/// **Packets.** Each names a track of ``begin(_:)``. Within a track, timestamps strictly increase and the first packet
/// is a key frame. Keep the value to keep the packet.
///
/// **Errors.** ``begin(_:)`` refuses with a typed error what the sink cannot carry, before it has written anything. What
/// a call throws ends the supply: the caller reports the error, calls ``finish()`` and sends no more. What was written
/// before remains whole.
public protocol PacketSink: AnyObject, Sendable {
    /// Takes the tracks that will be written.
    ///
    /// - Throws: a typed error with the code `formatUnsupported` for a codec, or a number of tracks, that cannot be
    ///   carried.
    func begin(_ tracks: [TrackDescription]) throws

    /// Takes one packet.
    func write(_ packet: MediaPacket) throws

    /// No packet will follow: writes what is still to be written, and closes.
    func finish() throws
}

/// A sink with requests to its encoder: a network output whose receivers join late or cannot keep up.
///
/// An `EncodingConsumer` connects it when it is added. Nothing else is needed.
public protocol FeedbackSink: PacketSink {
    /// Sets what the sink asks through; nil where nothing answers, and once it has been removed. Called before
    /// ``PacketSink/begin(_:)`` and after ``PacketSink/finish()``.
    func connectFeedback(_ feedback: PacketFeedback?)
}

/// A sink that ends one part of its output and begins the next, as files that follow each other do.
///
/// Its encoder asks it before each picture, so that the last picture of a part is shown until the next part begins.
package protocol SplittingSink: PacketSink {
    /// Whether the next part is to begin with the picture of this time, which is made a key frame then. True once for each
    /// part.
    func beginsPart(at time: MediaTime) -> Bool
}

/// The requests of a sink to its encoder. Safe to use from any thread.
public struct PacketFeedback: Sendable {
    private let onKeyFrame: @Sendable () -> Void
    private let onBitrate: @Sendable (Int?) -> Void
    private let onMaximumBitrate: @Sendable () -> Int?

    /// Creates a feedback.
    ///
    /// - Parameters:
    ///   - onKeyFrame: called for each request for a key frame.
    ///   - onBitrate: called with the bitrate that the sink can take, in bits per second, each time it changes; nil for
    ///     the encoder's configured bitrate.
    ///   - maximumBitrate: returns the bitrate that the encoder was configured for; see ``maximumBitrate``.
    public init(
        onKeyFrame: @escaping @Sendable () -> Void, onBitrate: @escaping @Sendable (Int?) -> Void,
        maximumBitrate: @escaping @Sendable () -> Int? = { nil }
    ) {
        self.onKeyFrame = onKeyFrame
        self.onBitrate = onBitrate
        onMaximumBitrate = maximumBitrate
    }

    /// Asks for a key frame as soon as possible.
    public func requestKeyFrame() { onKeyFrame() }

    /// Asks for a bitrate that the sink can take.
    ///
    /// The bitrate of an encoder with several sinks is lowered only if all of them ask for it, and then to the highest
    /// bitrate that any can take. So a slow sink never lowers the quality of another.
    ///
    /// - Parameter bitrate: in bits per second; above ``maximumBitrate`` it has no effect. Nil, the initial value, for the
    ///   encoder's configured bitrate.
    public func requestBitrate(_ bitrate: Int?) { onBitrate(bitrate) }

    /// The bitrate that the encoder was configured for, in bits per second; nil when it has none, or does not say.
    public var maximumBitrate: Int? { onMaximumBitrate() }
}
