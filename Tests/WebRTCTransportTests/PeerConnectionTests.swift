import CaptureCore
import Glibc
import TestTools
import Testing

@testable import WebRTCTransport

/// Two of our own connections, one on each side, over real sockets of loopback.
@Suite struct PeerConnectionTests {
    @Test(arguments: [true, false]) func mediaAndReportsArrive(_ offererIsServer: Bool) throws {
        let pair = try PeerPair()
        try pair.exchange(isServer: offererIsServer)
        #expect(pair.areReady, "\(pair.offering.received.withLock { $0.states })")
        let packets = (0..<20).map { PeerPair.packet(UInt16($0)) }
        pair.offering.send(packets)
        #expect(eventually { pair.answering.received.withLock { $0.media.count } == 20 })
        #expect(pair.answering.received.withLock { $0.media } == packets)
        PeerPair.report.withUnsafeBytes { pair.answering.peer.sendReport($0) }
        #expect(eventually { pair.offering.received.withLock { $0.reports } == [PeerPair.report] })
        let statistics = pair.offering.peer.statistics
        #expect(statistics.packetsSent == 20 && statistics.packetsUnsent == 0 && statistics.rejected == 0)
        // Each has a tag of 16 bytes by AES-GCM.
        #expect(statistics.bytesSent == 20 * (1100 + 16))
        #expect(statistics.path == "host, host")
    }

    /// Packets that the system refuses are no traffic.
    @Test func whatIsNotTakenIsNotCountedAsSent() throws {
        let pair = try PeerPair()
        var ports: [UInt16] = []
        try pair.exchange { answer in
            ports = answer.candidates.compactMap { $0.split(separator: " ").dropFirst(5).first.flatMap { UInt16($0) } }
        }
        #expect(pair.areReady)
        pair.answering.send((0..<3).map { PeerPair.packet($0) })
        for descriptor in datagramSockets(at: ports) { shutdown(descriptor, Int32(SHUT_WR)) }
        pair.answering.send((3..<23).map { PeerPair.packet($0) })
        let statistics = pair.answering.peer.statistics
        #expect(statistics.packetsSent == 3 && statistics.packetsUnsent == 20)
        #expect(statistics.bytesSent == 3 * (1100 + 16))
    }

    /// The sockets of this process that have one of these ports.
    private func datagramSockets(at ports: [UInt16]) -> [Int32] {
        (0..<1024).filter { descriptor in
            var kind: Int32 = 0
            var kindSize = socklen_t(MemoryLayout<Int32>.size)
            guard getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &kindSize) == 0,
                kind == Int32(SOCK_DGRAM.rawValue)
            else { return false }
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
            }
            return result == 0 && address.sin_family == sa_family_t(AF_INET)
                && ports.contains(UInt16(bigEndian: address.sin_port))
        }
    }

    /// A certificate that the description does not state: nothing is sent, and both know why.
    @Test func aWrongFingerprintEndsIt() throws {
        let pair = try PeerPair()
        try pair.exchange { answer in
            let wrong = String(
                answer.fingerprints[0].value.map { $0 == "A" ? "B" : "A" == $0 ? "A" : $0 == ":" ? ":" : "0" })
            answer.fingerprints = [Fingerprint(algorithm: "sha-256", value: wrong)!]
        }
        let reason = try #require(pair.offering.reasonOfEnd)
        #expect(reason.code == .permissionDenied && reason.message.contains("certificate"), "\(reason)")
        pair.offering.send([PeerPair.packet(1)])
        #expect(pair.offering.peer.statistics.packetsSent == 0)
        #expect(pair.answering.reasonOfEnd?.code == .deviceLost)
        #expect(pair.answering.received.withLock { $0.media.isEmpty })
    }

    /// A peer with a password that differs is never connected to, and the wait for it ends.
    @Test func aWrongPasswordIsNoWayIn() throws {
        let pair = try PeerPair(timeout: .seconds(2))
        try pair.exchange { $0.password = String(repeating: "x", count: 22) }
        #expect(pair.offering.reasonOfEnd?.code == .stalled)
        #expect(!pair.offering.received.withLock { $0.states }.contains(.ready))
    }

    /// As media servers that make no checks of their own state their address (RFC 8839, 5.1).
    @Test func aCandidateMayHaveAName() throws {
        let pair = try PeerPair(resolvesNames: true)
        try pair.exchange(isLite: true) { answer in
            answer.candidates = answer.candidates.map { $0.replacing(" 127.0.0.1 ", with: " localhost ") }
        }
        #expect(pair.areReady, "\(pair.offering.received.withLock { $0.states })")
        #expect(pair.offering.peer.statistics.hiddenCandidates == 0)
    }

    @Test func aNameThatIsNotKnownIsSaid() throws {
        let pair = try PeerPair(timeout: .seconds(1), resolvesNames: true)
        try pair.exchange(isLite: true) { answer in
            answer.candidates = answer.candidates.map { $0.replacing(" 127.0.0.1 ", with: " no-such-name.invalid ") }
        }
        let reason = try #require(pair.offering.reasonOfEnd)
        #expect(reason.message.contains("1 of the 1 that it has stated are names"), "\(reason)")
    }

    /// GLib ends the process when it gets no descriptor.
    @Test func aConnectionNeedsDescriptors() throws {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        // The thread that connects has what it needs.
        _ = try PeerPair()
        var before = rlimit()
        getrlimit(resource, &before)
        var few = before
        few.rlim_cur = rlim_t(DescriptorUsage().open + 10)
        setrlimit(resource, &few)
        defer { setrlimit(resource, &before) }
        let error = #expect(throws: CaptureError.self) { _ = try PeerPair() }
        #expect(error?.code == .system && error?.message.contains("ulimit -n") == true)
    }

    @Test func theEndReachesTheOtherSide() throws {
        let pair = try PeerPair()
        try pair.exchange()
        #expect(pair.areReady)
        // BYE of the sender.
        let goodbye: [UInt8] = [0x81, 203, 0, 1, 1, 2, 3, 4]
        pair.offering.peer.close(goodbyes: [goodbye])
        #expect(pair.answering.reasonOfEnd?.code == .deviceLost)
        #expect(pair.answering.received.withLock { $0.reports } == [goodbye])
        #expect(pair.offering.received.withLock { $0.states.last } == .closed(nil))
        // It takes nothing more, and can be closed again.
        pair.offering.send([PeerPair.packet(2)])
        pair.offering.peer.close()
        #expect(pair.offering.peer.statistics.packetsSent == 0)
    }

    /// However many reports a peer sends in a second, a limited number is read.
    @Test func aFloodOfReportsIsDropped() throws {
        let pair = try PeerPair()
        try pair.exchange()
        #expect(pair.areReady)
        for _ in 0..<5000 { PeerPair.report.withUnsafeBytes { pair.answering.peer.sendReport($0) } }
        #expect(eventually { pair.offering.peer.statistics.reportsDropped > 0 })
        let statistics = pair.offering.peer.statistics
        #expect(statistics.reportsReceived >= 200)
        #expect(statistics.reportsReceived == UInt64(pair.offering.received.withLock { $0.reports.count }))
        #expect(pair.offering.peer.state == .ready)
    }

    /// New credentials while media flows: nothing is encrypted again, and media goes on.
    @Test func iceRestarts() throws {
        let pair = try PeerPair()
        try pair.exchange()
        #expect(pair.areReady)
        func restart(_ side: PeerPair.Side) throws -> PeerConnection.Parameters {
            let parameters = Locked<PeerConnection.Parameters?>(nil)
            side.peer.restart { new in parameters.withLock { $0 = new } }
            #expect(eventually { parameters.withLock { $0 } != nil })
            return try #require(parameters.withLock { $0 })
        }
        let (offer, answer) = (try restart(pair.offering), try restart(pair.answering))
        pair.answering.peer.connect(to: offer, isServer: false)
        pair.offering.peer.connect(to: answer, isServer: true)
        var number: UInt16 = 0
        #expect(
            eventually {
                number += 1
                pair.offering.send([PeerPair.packet(number)])
                return pair.answering.received.withLock { $0.media.count } >= 100
            })
        #expect(pair.offering.peer.state == .ready && pair.answering.peer.state == .ready)
    }

    @Test func manyPeersShareTheThreads() throws {
        let pairs = try (0..<10).map { _ in try PeerPair() }
        for pair in pairs { try pair.exchange() }
        for (index, pair) in pairs.enumerated() {
            #expect(pair.areReady)
            pair.offering.send([PeerPair.packet(UInt16(index))])
            #expect(eventually { pair.answering.received.withLock { $0.media } == [PeerPair.packet(UInt16(index))] })
        }
    }

    /// Without a network there is a reason, not a wait.
    @Test func anAddressOfAnotherMachineIsRefused() throws {
        let peer = try PeerConnection(
            PeerConnection.Configuration(isControlling: true, localAddresses: ["nonsense"]), PeerConnection.Handlers())
        peer.gather()
        #expect(throws: CaptureError.self) { _ = try peer.waitUntilGathered(for: .seconds(20)) }
        peer.close()
    }
}
