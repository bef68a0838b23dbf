import CaptureCore
import NIOCore
import NIOPosix

import struct StreamTransport.DatagramRuns

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Sends packets as datagrams to clients, and takes their reports, by two ports that all clients share. Used on the event
/// loop only.
///
/// A large frame leaves in bursts over some milliseconds, since routers and receivers lose long ones. Packets of one size
/// are handed to the kernel together where it can cut them (`UDP_SEGMENT`).
///
/// `@unchecked Sendable`: used on the loop alone.
final class DatagramSender: @unchecked Sendable {
    /// Packets that are sent in bursts.
    private struct Job {
        var packets: FramedPackets
        var targets: [Playback]
        /// The packets that were sent.
        var sent = 0
        var count: Int
    }

    /// The clients by the addresses from which they report.
    var playbacks: [SocketAddress: Playback] = [:]
    /// Packets that the kernel did not take.
    private(set) var unsent: UInt64 = 0

    private let loop: any EventLoop
    private let media: DatagramPort?
    private let reports: DatagramPort?
    private var jobs = CircularBuffer<Job>()
    private var waiting = 0
    private var isScheduled = false

    /// Up to which number of packets all leave at once.
    private static let burst = 32
    private static let interval = TimeAmount.milliseconds(2)

    /// - Parameters:
    ///   - loop: that of the server.
    ///   - media: the port for packets; nil where only groups get datagrams.
    ///   - reports: the port for reports.
    init(_ loop: any EventLoop, media: DatagramPort?, reports: DatagramPort?) {
        self.loop = loop
        self.media = media
        self.reports = reports
    }

    /// Nothing is sent from now on.
    func close() {
        jobs.removeAll()
        media?.close()
        reports?.close()
    }

    /// Sends packets to clients.
    func send(_ packets: FramedPackets, to targets: [Playback]) {
        let job = Job(packets: packets, targets: targets, count: packets.count)
        jobs.append(job)
        waiting += job.count
        if !isScheduled { pump() }
    }

    /// Sends a burst: all where there are few, otherwise a part that grows with what waits, so that nothing piles up.
    private func pump() {
        isScheduled = false
        var budget = waiting <= DatagramSender.burst ? waiting : DatagramSender.burst / 2 + waiting / 8
        while budget > 0, var job = jobs.first {
            let range = job.sent..<min(job.count, job.sent + budget)
            var groups: Set<ObjectIdentifier> = []
            for target in job.targets where target.connection != nil {
                let isFirst = target.multicast.map { groups.insert(ObjectIdentifier($0)).inserted } ?? true
                if isFirst {
                    send(job.packets, range, to: target)
                } else if range.upperBound == job.count {
                    target.record(job.packets, byAnother: true)
                }
            }
            budget -= range.count
            waiting -= range.count
            job.sent = range.upperBound
            if job.sent == job.count { jobs.removeFirst() } else { jobs[jobs.startIndex] = job }
        }
        guard !jobs.isEmpty else { return }
        isScheduled = true
        let bound = NIOLoopBound(self, eventLoop: loop)
        loop.scheduleTask(in: DatagramSender.interval) { bound.value.pump() }
    }

    private func send(_ packets: FramedPackets, _ range: Range<Int>, to target: Playback) {
        guard let address = target.destination(of: packets) else { return }
        if range.upperBound == packets.count { target.record(packets) }
        let port =
            packets.isReport ? target.multicast?.reports ?? reports : target.multicast?.media ?? media
        guard let port else { return }
        unsent += UInt64(port.send(packets, range, to: address))
    }
}

/// A port for datagrams, which sends without a queue: what the kernel does not take is lost.
///
/// `@unchecked Sendable`: used on the event loop alone.
final class DatagramPort: @unchecked Sendable {
    let number: Int
    private let descriptor: CInt
    private var runs = DatagramRuns()
    private var isOpen = true
    /// Whether it closes the socket, which otherwise NIO does.
    private let isOwner: Bool

    private init(_ descriptor: CInt, number: Int, isOwner: Bool = false) {
        self.descriptor = descriptor
        self.number = number
        self.isOwner = isOwner
    }

    deinit { if isOwner { systemClose(descriptor) } }

    /// Nothing is sent from now on; NIO closes the socket.
    func close() { isOpen = false }

    /// Sends the packets of a range. Returns the number that was not sent.
    func send(_ packets: FramedPackets, _ range: Range<Int>, to address: SocketAddress) -> Int {
        guard isOpen else { return range.count }
        return withUnsafeTemporaryAllocation(of: iovec.self, capacity: range.count) { datagrams in
            var index = 0
            packets.forEachPacket { packet in
                if range.contains(index) {
                    datagrams[index - range.lowerBound] = iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: packet.baseAddress), iov_len: packet.count)
                }
                index += 1
            }
            return range.count
                - address.withSockAddr {
                    runs.send(UnsafeBufferPointer(datagrams), by: descriptor, to: $0, length: $1).count
                }
        }
    }
}

extension DatagramPort {
    /// Opens two successive ports, an even one and the next, at the address at which a server listens.
    ///
    /// - Parameters:
    ///   - address: of the server.
    ///   - first: the even port; nil for any.
    ///   - group: whose event loop reads.
    ///   - handler: makes what takes the datagrams of a port.
    /// - Throws: `IOError` where the ports are in use or may not be used.
    static func openPair(
        at address: SocketAddress, first: Int?, group: any EventLoopGroup,
        handler: @escaping @Sendable (_ isReports: Bool) -> any ChannelHandler & Sendable
    ) throws -> (media: DatagramPort, reports: DatagramPort) {
        let (even, odd) = try bindPair(at: address, first: first)
        func open(_ bound: Bound, isReports: Bool) throws -> DatagramPort {
            // NIO closes the socket with the channel, and at once where it takes none.
            _ = try DatagramBootstrap(group: group)
                .channelInitializer { $0.pipeline.addHandler(handler(isReports)) }
                .withBoundSocket(bound.descriptor).wait()
            return DatagramPort(bound.descriptor, number: bound.number)
        }
        let media: DatagramPort
        do {
            media = try open(even, isReports: false)
        } catch {
            systemClose(odd.descriptor)
            throw error
        }
        return (media, try open(odd, isReports: true))
    }

    /// Opens two ports from which packets go to a group. Nothing is read.
    ///
    /// - Throws: `IOError` where the address is no longer one of this machine.
    static func openPair(
        at address: SocketAddress, timeToLive: Int
    ) throws -> (media: DatagramPort, reports: DatagramPort) {
        func own(_ bound: Bound) -> DatagramPort {
            var hops = CInt(timeToLive)
            setsockopt(
                bound.descriptor, CInt(IPPROTO_IP), IP_MULTICAST_TTL, &hops, socklen_t(MemoryLayout<CInt>.size))
            return DatagramPort(bound.descriptor, number: bound.number, isOwner: true)
        }
        let (even, odd) = try bindPair(at: address, first: nil)
        return (own(even), own(odd))
    }

    private typealias Bound = (descriptor: CInt, number: Int)

    private static func bindPair(at address: SocketAddress, first: Int?) throws -> (Bound, Bound) {
        var attempts = 0
        while true {
            attempts += 1
            let even = try bind(address, port: first ?? 0)
            do {
                guard even.number % 2 == 0 else { throw IOError(errnoCode: EADDRINUSE, reason: "bind") }
                return (even, try bind(address, port: even.number + 1))
            } catch {
                systemClose(even.descriptor)
                guard first == nil, attempts < 100 else { throw error }
            }
        }
    }

    private static func bind(_ address: SocketAddress, port: Int) throws -> Bound {
        var address = address
        address.port = port
        let kind = CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(address.protocol == .inet6 ? AF_INET6 : AF_INET, kind, 0)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        // A key frame for many clients is a burst, which the kernel takes as a whole.
        var size: CInt = 1 << 21
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        let isBound = address.withSockAddr { systemBind(descriptor, $0, $1) == 0 }
        var name = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let isNamed = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) == 0 }
        }
        guard isBound, isNamed else {
            let code = errno
            systemClose(descriptor)
            throw IOError(errnoCode: code, reason: "bind")
        }
        // The port is at the same place of IPv4 and IPv6.
        let number = withUnsafeBytes(of: name) { UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self)) }
        return (descriptor, Int(number))
    }
}

private func systemClose(_ descriptor: CInt) { close(descriptor) }

private func systemBind(_ descriptor: CInt, _ name: UnsafePointer<sockaddr>, _ length: Int) -> CInt {
    bind(descriptor, name, socklen_t(length))
}

/// Takes the datagrams of clients: reports, and anything else that opens a way through their routers.
final class DatagramHandler: ChannelInboundHandler, Sendable {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let hub: MediaHub
    private let isReports: Bool

    init(_ hub: MediaHub, isReports: Bool) {
        self.hub = hub
        self.isReports = isReports
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        guard let playback = hub.datagrams?.playbacks[envelope.remoteAddress] else { return }
        guard isReports else {
            playback.lastSign = MonotonicClock().now
            return
        }
        envelope.data.withUnsafeReadableBytes { hub.takeReport($0, of: playback) }
    }

    /// Such as that nothing listens at a client's port.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
