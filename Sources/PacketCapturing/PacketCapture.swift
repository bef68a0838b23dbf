/// A source of encoded media: what `VideoCapture` is for pictures, for cameras that encode, for streams and for files.
///
/// To write one, conform a small type to ``PacketSource`` and hand it to a ``PacketSourceCapturer``: thread, pacing, time,
/// numbers, losses, states, errors, restart and statistics come from there. Conform to this protocol directly only for
/// what a source cannot express. Either way, `PacketConformanceSuite` in `CapturerTestKit` checks every sentence that
/// follows.
///
/// **Order.** init → (start → stop)* → release. After release the capture is idle and may be initialized
/// again. A start before init, or after release, throws `invalidState`, and so does a stop before init.
/// Repeated calls of init, start, stop and release are harmless. Release while running stops first.
/// A capture can be restarted after it was stopped, or after it stopped on its own account, any number of times.
///
/// **Threads.** Every member may be used from any thread, except that init, start and release must not be
/// called from inside `consumePacket`. Packets are delivered one at a time, on the capture's own thread,
/// never on the main thread and never on the cooperative pool.
///
/// **Stop.** When ``stopCapture()`` has returned, no call of the consumer is running and none will come.
/// It may be called from inside `consumePacket`; there it takes effect once that call returns.
///
/// **Tracks.** The settings describe every track once the capture is initialized, before the first packet, with all that
/// a decoder needs besides the packets. Each packet names one of these tracks, and has at least one byte.
///
/// **Times.** Timestamps are of the monotonic clock. Within a track the decode times strictly increase, and go on
/// increasing over restarts. No packet is presented before it is decoded.
///
/// **Losses.** The packets of a track are numbered, and the numbers increase over restarts too; a gap is exactly as wide
/// as the number of packets lost. On a track of video the first packet after each start, and after each loss, is a key
/// frame. A packet of H.264 or H.265 is one access unit as a byte stream (annex B), with the parameter sets before each key
/// frame.
///
/// **States.** Every change is seen by every ``stateChanges()`` stream, in order, none left out. The first
/// error wins; a restart clears it.
public protocol PacketCapture: CaptureLifeCycle {
    /// Where packets go; held weakly. Set before start; a change while running takes effect with the next packet, or with
    /// the next key frame. Packets without a consumer are dropped and counted.
    var packetCaptureConsumer: (any PacketCaptureConsumer)? { get set }

    /// Acquires the device, stream or file and settles its tracks. Blocks until that is done, or until another thread
    /// releases the capture.
    ///
    /// - Throws: the error of opening, such as `deviceNotFound`, `deviceBusy`, `permissionDenied` or
    ///   `formatUnsupported`; the capture stays idle then.
    func initCapture() throws(CaptureError)

    /// Begins to deliver packets. Blocks until the source streams or has refused.
    ///
    /// - Throws: `invalidState` before init and after release; the error of the source.
    func startCapture() throws(CaptureError)

    /// Ends the delivery of packets and stops streaming.
    ///
    /// - Throws: `invalidState` before init; `stalled` when the source did not return within its limit (the
    ///   rule holds even then: no further call of the consumer will come).
    func stopCapture() throws(CaptureError)

    /// Stops if need be, and returns the device.
    func releaseCapture()

    /// Whether packets are being delivered or are about to be: starting, running or interrupted.
    var isCaptureStarted: Bool { get }

    /// The tracks and their source; complete after init.
    func captureSettings() -> PacketSettings

    /// Asks for a key frame on each track of video, as soon as possible.
    ///
    /// - Returns: whether the source can make one: a camera or a remote encoder may, a file never.
    @discardableResult
    func requestKeyFrame() -> Bool

    /// The state now.
    var state: CaptureState { get }

    /// A separate stream of all changes of state from now on. It ends when the capture is destroyed.
    func stateChanges() -> AsyncStream<CaptureState.Change>

    /// The counts since init.
    var statistics: PacketStatistics { get }
}

/// Takes the packets of a capture.
public protocol PacketCaptureConsumer: AnyObject, Sendable {
    /// Takes one packet. Called on the capture's thread, one call at a time; should return before the next packet is due.
    /// Keep the value to keep the packet.
    func consumePacket(_ packet: MediaPacket)
}

/// The tracks that a packet capture delivers, and the name of its source.
public struct PacketSettings: Sendable {
    /// The tracks, each with a unique identifier; before init those that are known.
    public var tracks: [TrackDescription]
    /// The name of the source, for people: a file, a camera, an address.
    public var sourceName: String?
    /// The largest step of a track's times that is a pause, where the source has a separate time scale: after a larger one the
    /// times go on without it. Nil, the default, for any.
    public var largestStep: Duration?

    /// Settings. A name and a password in a URL (`//user:password@`) are masked in the source's name.
    ///
    /// - Parameters:
    ///   - tracks: the tracks, each with a unique identifier.
    ///   - sourceName: the name of the source, for people.
    public init(tracks: [TrackDescription] = [], sourceName: String? = nil) {
        self.tracks = tracks
        self.sourceName = sourceName.map(maskingUserInfo)
    }

    /// The track that leads: the first one of video, or else the first one. Outputs that come later begin with a key frame
    /// of it, and limits count its packets.
    public var leadingTrack: TrackDescription? { tracks.first(where: \.isVideo) ?? tracks.first }
}

extension TrackDescription {
    /// Whether the packets decode to pictures.
    package var isVideo: Bool {
        if case .video = media { true } else { false }
    }
}
