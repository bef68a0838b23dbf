import TestTools
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// A receiver on loopback with a port for RTP and one for RTCP, and what has arrived at them.
final class TestPeer: Sendable {
    private struct Received {
        var packets: [[UInt8]] = []
        var reports: [[UInt8]] = []
        /// Where the last report came from.
        var sender = sockaddr_in()
        var isClosed = false
    }

    let port: Int
    let reportPort: Int
    private let media: Int32
    private let reports: Int32
    private let received = Locked(Received())

    /// - Parameters:
    ///   - port: the port of RTP; 0 for one that the system chooses.
    ///   - group: a multicast group to join on loopback.
    init(port: Int = 0, group: String? = nil) throws {
        media = try TestPeer.bound(port, group)
        reports = try TestPeer.bound(0, group)
        self.port = TestPeer.port(of: media)
        reportPort = TestPeer.port(of: reports)
        // The thread holds what it uses, and ends when the peer is closed.
        let (media, reports, received) = (media, reports, received)
        startThread { TestPeer.receive(media, reports, received) }
    }

    deinit { received.withLock { $0.isClosed = true } }

    /// The address of an output that sends here.
    func url(_ options: String = "", host: String = "127.0.0.1") -> String {
        "rtp://\(host):\(port)?rtcp=\(reportPort)" + (options.isEmpty ? "" : "&\(options)")
    }

    var packets: [[UInt8]] { received.withLock { $0.packets } }
    var reportsReceived: [[UInt8]] { received.withLock { $0.reports } }

    /// Sends to where reports come from; one must have come.
    func answer(_ bytes: [UInt8]) {
        var address = received.withLock { $0.sender }
        _ = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                sendto(reports, bytes, bytes.count, 0, address, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// The source of the packets that have arrived.
    var source: UInt32? {
        packets.first.map { $0[8..<12].reduce(0) { $0 << 8 | UInt32($1) } }
    }

    private static func bound(_ port: Int, _ group: String?) throws -> Int32 {
        let made = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = group == nil ? UInt32(0x7F00_0001).bigEndian : 0
        var size: Int32 = 4 << 20
        setsockopt(made, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        let isBound = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(made, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isBound else { throw NoConnection(code: errno) }
        guard let group else { return made }
        var membership = ip_mreq()
        inet_pton(AF_INET, group, &membership.imr_multiaddr)
        membership.imr_interface.s_addr = UInt32(0x7F00_0001).bigEndian
        let size2 = socklen_t(MemoryLayout<ip_mreq>.size)
        guard setsockopt(made, Int32(IPPROTO_IP), IP_ADD_MEMBERSHIP, &membership, size2) == 0 else {
            throw NoConnection(code: errno)
        }
        return made
    }

    private static func port(of socket: Int32) -> Int {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &size) }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    private static func receive(_ media: Int32, _ reports: Int32, _ received: Locked<Received>) {
        var buffer = [UInt8](repeating: 0, count: 65536)
        var descriptors = [media, reports].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while !received.withLock({ $0.isClosed }) {
            guard poll(&descriptors, 2, 50) > 0 else { continue }
            for (index, descriptor) in [media, reports].enumerated() where descriptors[index].revents != 0 {
                var address = sockaddr_in()
                var size = socklen_t(MemoryLayout<sockaddr_in>.size)
                let count = withUnsafeMutablePointer(to: &address) { address in
                    address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        recvfrom(descriptor, &buffer, buffer.count, 0, $0, &size)
                    }
                }
                guard count >= 0 else { continue }
                let bytes = Array(buffer[..<count])
                received.withLock { state in
                    if index == 0 {
                        state.packets.append(bytes)
                    } else {
                        state.reports.append(bytes)
                        state.sender = address
                    }
                }
            }
        }
        close(media)
        close(reports)
    }
}

/// Messages of a receiver.
enum Message {
    static func big(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
    static func pictureLoss(_ source: UInt32) -> [UInt8] { [0x81, 206, 0, 2, 0, 0, 0, 1] + big(source) }
    static func lost(_ source: UInt32, _ number: [UInt8]) -> [UInt8] {
        [0x81, 205, 0, 3, 0, 0, 0, 1] + big(source) + number + [0, 0]
    }
    /// An estimate of `thousands` times 1024 bits per second.
    static func estimate(_ thousands: UInt16) -> [UInt8] {
        [0x8F, 206, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0] + Array("REMB".utf8)
            + [1, 10 << 2, UInt8(thousands >> 8), UInt8(thousands & 255), 0, 0, 0, 1]
    }
}

/// Packets to send.
enum Sample {
    static let track = TrackDescription(id: 0, codec: .vp8, media: .video(.init(width: 64, height: 48)))

    static func packet(_ number: Int, size: Int = 3000, track: TrackID = 0) -> MediaPacket {
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &+ number) }
        return MediaPacket(
            data: bytes.withUnsafeBytes { PacketBuffer(copying: $0) }, track: track,
            timestamp: MediaTime(nanoseconds: 1_000_000_000 + Int64(number) * 33_333_333), isKeyFrame: number == 0)
    }
}
