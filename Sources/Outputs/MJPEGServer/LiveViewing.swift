/// Shows a server's capture to browsers in another way than MJPEG, on the server's own port: `WebRTCViewing` does so by WebRTC,
/// which takes a fraction of the bandwidth.
///
/// A viewing that is a `MediaOutput` too is the companion of its server at a publisher, and gets its packets from there. It is
/// apart from ``MJPEGServer``, so that a program for JPEG alone links no other library. Safe to use from any thread.
public protocol LiveViewing: AnyObject, Sendable {
    /// The number of viewers.
    var viewerCount: Int { get }

    /// What viewers are shown; zero, the default, where that is not counted.
    var statistics: LiveViewingStatistics { get }

    /// The maximum number of viewers; nil, the default, where it is not stated.
    var maximumViewerCount: Int? { get }

    /// The files and sockets that viewers may need at the most; 0, the default, for none.
    var descriptorCount: Int { get }

    /// Whether viewers get sound; false is the default.
    var hasSound: Bool { get }

    /// Answers the offer of a viewer (draft-ietf-wish-whep). May wait for a short time.
    ///
    /// - Parameters:
    ///   - offer: its session description, of 64 KiB at most.
    ///   - localAddress: the address of this machine at which the viewer has reached the server.
    ///   - client: the address of the viewer, or its network, for limits; nil for a program on this machine, which may be a
    ///     proxy.
    func answer(_ offer: String, localAddress: String, client: String?) -> LiveViewingAnswer

    /// Ends a session; false when there is none with this identifier.
    func end(_ identifier: String) -> Bool
}

extension LiveViewing {
    public var hasSound: Bool { false }
    public var statistics: LiveViewingStatistics { LiveViewingStatistics() }
    public var maximumViewerCount: Int? { nil }
    public var descriptorCount: Int { 0 }
}

/// What the viewers of a ``LiveViewing`` are shown.
public struct LiveViewingStatistics: Sendable, Hashable {
    /// Viewers that are connected now.
    public var viewers = 0
    /// Frames that were sent to all viewers since the start.
    public var framesSent: UInt64 = 0
    /// Bytes that were sent to all viewers since the start.
    public var bytesSent: UInt64 = 0

    /// Statistics that are all zero.
    public init() {}
}

/// The answer to a viewer's offer.
public enum LiveViewingAnswer: Sendable, Hashable {
    /// The session description, and the identifier by which to end the session: letters and digits that cannot be guessed.
    case accepted(identifier: String, sdp: String)
    /// There are as many viewers as are allowed; the sentence is for the user.
    case busy(String)
    /// The offer cannot be used; the sentence is for the user.
    case refused(String)
    /// The offer takes nothing that is shown, such as its codec; the sentence is for the user.
    case unacceptable(String)
}
