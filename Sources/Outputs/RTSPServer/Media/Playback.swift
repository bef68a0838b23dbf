import CaptureCore
import NIOCore
import RTP

/// Where the packets of a session on a connection go. Used on the event loop only.
protocol PlaybackConnection: AnyObject {
    /// Whether the kernel has taken everything so far.
    var isWritable: Bool { get }
    func send(_ bytes: ByteBuffer)
    /// Called once, before the first packet, with the beginnings of the tracks that are known.
    func willBegin(_ starts: [Int: TrackStart])
    /// Ends the connection, with a sentence for the user.
    func disconnect(_ reason: String)
}

/// One client to which packets are sent. Used on the event loop only.
final class Playback {
    let transports: [Int: TrackTransport]
    /// The client's address for people.
    let client: String
    /// The group to which its packets go, with those of others; nil where they go to it alone.
    let multicast: MulticastGroup?
    /// The client's host; nil on a connection without one, where datagrams have no destination.
    let host: SocketAddress?
    private(set) weak var connection: (any PlaybackConnection)?
    var queue: PlaybackQueue
    var parser = RTCPParser()
    /// When the client last asked for anything, or reported; datagrams end without.
    var lastSign: MediaTime
    /// When the client has last asked for a key frame since it has lost some.
    var lastRecovery = MediaTime(nanoseconds: .min)
    /// Since when the kernel takes nothing; nil while it does.
    private(set) var blockedSince: MediaTime?
    private(set) var bytesSent: UInt64 = 0
    private(set) var framesSent: UInt64 = 0
    var hasWarned = false
    /// Whether the client knows where its tracks begin.
    private(set) var isAnnounced = false
    private var isDraining = false

    init(
        _ transports: [Int: TrackTransport], client: String, host: SocketAddress?, multicast: MulticastGroup? = nil,
        connection: any PlaybackConnection, limits: PlaybackQueue.Limits, now: MediaTime
    ) {
        self.transports = transports
        self.client = client
        self.host = host
        self.multicast = multicast
        self.connection = connection
        queue = PlaybackQueue(limits)
        lastSign = now
    }

    /// Whether the packets go on the connection.
    var isInterleaved: Bool { transports.values.contains(where: \.isInterleaved) }

    /// Whether it gets packets of the track.
    func takes(_ track: Int) -> Bool { transports[track] != nil }

    /// The address for datagrams of a track; nil where they go on the connection.
    func destination(of item: FramedPackets) -> SocketAddress? {
        func at(_ address: SocketAddress?, _ port: UInt16, _ reportPort: UInt16) -> SocketAddress? {
            guard var address else { return nil }
            address.port = Int(item.isReport ? reportPort : port)
            return address
        }
        return switch transports[item.track] {
        case .datagrams(let port, let reportPort): at(host, port, reportPort)
        case .multicast(let port, let reportPort): at(multicast?.address, port, reportPort)
        case .interleaved, nil: nil
        }
    }

    /// The addresses from which the client reports.
    var sources: [SocketAddress] {
        transports.values.flatMap { transport -> [SocketAddress] in
            guard case .datagrams(let port, let reportPort) = transport, let host else { return [] }
            return [port, reportPort].map { port in
                var address = host
                address.port = Int(port)
                return address
            }
        }
    }

    /// Sends the client the beginnings of its tracks; once.
    func announce(_ starts: @autoclosure () -> [Int: TrackStart]) {
        guard !isAnnounced else { return }
        isAnnounced = true
        connection?.willBegin(starts())
    }

    /// Sends what waits, as far as the kernel takes it.
    func drain(at now: MediaTime) {
        // Sending makes the connection writable again, which calls this method.
        guard let connection, !isDraining else { return }
        isDraining = true
        defer { isDraining = false }
        while connection.isWritable, let item = queue.pop() {
            guard case .interleaved(let channels)? = transports[item.track] else { continue }
            record(item)
            connection.send(item.bytes(on: channels))
        }
        blockedSince = connection.isWritable ? nil : blockedSince ?? now
    }

    /// Counts packets that were sent; those that another client's datagrams have carried without their bytes.
    func record(_ item: FramedPackets, byAnother: Bool = false) {
        if !byAnother { bytesSent += UInt64(item.bytes.readableBytes) }
        if !item.isReport { framesSent += 1 }
    }
}
