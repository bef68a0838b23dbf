import NIOCore
import ServerTransport
import Testing
import VideoCapturing

@testable import MJPEGServer

/// The limits of what clients may take, as values.
@Suite struct LimitTests {
    private func time(_ seconds: Int) -> MediaTime { MediaTime(nanoseconds: Int64(seconds) * 1_000_000_000) }

    // MARK: Peers

    private func peer(_ address: String) throws -> Peer { Peer(try SocketAddress(ipAddress: address, port: 1)) }

    @Test func peersAreToldApartByTheirNetwork() throws {
        for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] { #expect(try peer(address) == .local) }
        #expect(Peer(nil) == .local)
        #expect(Peer(try SocketAddress(unixDomainSocketPath: "/x")) == .local)
        #expect(try peer("192.168.1.5") == .ipv4(0xC0A8_0105))
        #expect(try peer("::ffff:192.168.1.5") == .ipv4(0xC0A8_0105))
        #expect(try peer("2001:db8:1:2::3") == peer("2001:db8:1:2:ffff::4"))
        #expect(try peer("2001:db8:1:2::3") != peer("2001:db8:1:3::3"))
        #expect(try peer("::") != .local)
    }

    // MARK: Connections

    @Test func oneAddressDoesNotTakeAllConnections() {
        let connections = Connections(limit: 10, limitPerPeer: 3)
        let greedy = Peer.ipv4(1)
        for _ in 0..<3 { #expect(connections.enter(greedy) == .served) }
        // A few are told why.
        for _ in 0..<4 { #expect(connections.enter(greedy) == .refused(limit: 3, isOfAddress: true)) }
        for _ in 0..<100 { #expect(connections.enter(greedy) == .dropped) }
        #expect(connections.current.open == 7)
        #expect(connections.enter(.ipv4(2)) == .served)
        // Programs on the same machine, and proxies, are not limited so.
        for _ in 0..<2 { #expect(connections.enter(.local) == .served) }
        #expect(connections.enter(.local) == .refused(limit: 10, isOfAddress: false))
        for _ in 0..<5 { connections.leave(greedy) }
        #expect(connections.enter(greedy) == .served)
    }

    // MARK: Descriptors

    @Test func connectionsAreAsManyAsThereAreDescriptors() throws {
        let roomy = DescriptorLimit(limit: 65_536, open: 10)
        #expect(try roomy.connections(atMost: 1024, threadCount: 2) == 1024)
        // The usual limit leaves something for files and cameras.
        let usual = DescriptorLimit(limit: 1024, open: 17)
        #expect(try usual.connections(atMost: 1024, threadCount: 2) == 1024 - 17 - 7 - 128)
        #expect(try usual.connections(atMost: 100, threadCount: 2) == 100)
        let small = DescriptorLimit(limit: 64, open: 17)
        #expect(try small.connections(atMost: 1024, threadCount: 2) == 20)
        // Viewers in another way need some, and leave half of them to connections.
        #expect(try roomy.connections(atMost: 65_536, threadCount: 2, besides: 300) == 65_536 - 17 - 128 - 300)
        #expect(try small.connections(atMost: 1024, threadCount: 2, besides: 60) == 20)
        for limit in [0, 12, 17, 24, 30] {
            let error = #expect(throws: CaptureError.self) {
                try DescriptorLimit(limit: limit, open: 17).connections(atMost: 1024, threadCount: 2)
            }
            #expect(error?.code == .system)
            #expect(error?.description.contains("ulimit -n") == true)
        }
        #expect(DescriptorLimit().limit > 0)
        #expect(DescriptorLimit().open == openDescriptorCount())
    }

    // MARK: Passwords

    @Test func wrongPasswordsCostTime() {
        var throttle = LoginThrottle(freeAttempts: 2)
        let peer = Peer.ipv4(1)
        var now = time(0)
        var delays: [Duration?] = []
        for _ in 0..<10 {
            throttle.recordFailure(of: peer, at: now)
            let delay = throttle.delay(for: peer, at: now)
            delays.append(delay)
            now = now.advanced(by: delay ?? .zero)
            #expect(throttle.delay(for: peer, at: now) == nil)
        }
        #expect(delays == [nil, nil] + [1, 2, 4, 8, 16, 32, 32, 32].map { Duration.seconds($0) })
        #expect(throttle.delay(for: .ipv4(2), at: now) == nil)
        // In the end all is forgotten.
        now = now.advanced(by: LoginThrottle.memory + .seconds(1))
        throttle.recordFailure(of: peer, at: now)
        #expect(throttle.delay(for: peer, at: now) == nil)
    }

    @Test func theMemoryForWrongPasswordsIsLimited() {
        var throttle = LoginThrottle(freeAttempts: 0)
        for index in 0..<LoginThrottle.capacity + 100 {
            throttle.recordFailure(of: .ipv4(UInt32(index)), at: MediaTime(nanoseconds: Int64(index)))
        }
        #expect(throttle.count == LoginThrottle.capacity)
        let now = MediaTime(nanoseconds: 10_000)
        #expect(throttle.delay(for: .ipv4(99), at: now) == nil)
        #expect(throttle.delay(for: .ipv4(100), at: now) != nil)
    }

    @Test func aCountOfANonceIsGoodOnce() {
        var table = NonceTable(lifetime: .seconds(300))
        func use(_ count: UInt32, nonce: Int = 1, at now: Int = 10) -> Bool {
            table.use(time(nonce), count: count, at: time(now))
        }
        // Requests on several connections overtake each other.
        #expect([1, 3, 2].map { use($0) } == [true, true, true])
        #expect([1, 2, 3, 0].map { use($0) } == [false, false, false, false])
        #expect([100, 40, 40, 36, 99].map { use($0) } == [true, true, false, false, true])
        #expect([1000, 100, .max, .max].map { use($0) } == [true, false, true, false])
        #expect(use(1, nonce: 2))
        // Too old, or of the future.
        #expect(!use(2, nonce: 2, at: 303))
        #expect(!use(1, nonce: 11))
    }

    @Test func theMemoryForNoncesIsLimited() {
        var table = NonceTable(lifetime: .seconds(300))
        func use(_ nonce: Int, _ count: UInt32) -> Bool {
            table.use(MediaTime(nanoseconds: Int64(nonce)), count: count, at: time(1))
        }
        for nonce in 1...NonceTable.capacity + 10 { #expect(use(nonce, 1)) }
        #expect(table.count == NonceTable.capacity)
        // What was forgotten may have been used.
        #expect(!use(10, 2))
        #expect(use(11, 2))
    }

    // MARK: Waiting bytes

    @Test func aFrameIsCountedOnce() throws {
        let waiting = WaitingBytes(limit: 1000)
        var pool = FramePartPool()
        let part = numberedJPEG(1, padding: 900).withUnsafeBytes { pool.makePart($0, FrameInformation()) }
        for _ in 0..<100 { waiting.hold(part) }
        #expect(waiting.count == part.storageByteCount)
        for _ in 0..<99 { waiting.release(part) }
        #expect(waiting.count == part.storageByteCount)
        #expect(waiting.isExceeded)
        waiting.release(part)
        #expect(waiting.count == 0)
    }

    /// Viewers who don't read, each in the middle of another frame.
    @Test(arguments: ["/stream", "/stream?extra_headers=1"]) func slowViewersDoNotFillTheMemory(_ target: String) throws
    {
        let limit = 20_000_000
        let test = try TestServer {
            $0.limits.waitingBytes = limit
            $0.sendBufferSize = 4096
        }
        let frame = 2_000_000
        var readers: [StreamReader] = []
        // Each holds a frame of its own: more than its kernel takes.
        for number in 1...30 {
            readers.append(try StreamReader(test.port, target, receiveBuffer: 4096))
            try test.show(number, padding: frame)
            #expect(eventually { test.statistics.bytesWaiting > 0 })
            // The newest comes on top; memory is taken in powers of two.
            #expect(eventually { test.statistics.bytesWaiting <= limit + 2 * frame })
        }
        #expect(eventually { test.statistics.slowClientsDisconnected > 0 })
        #expect(eventually { test.statistics.viewers.count < 30 })
        // Those who came last are served still.
        #expect(try readers[29].next(from: 29).jpeg.count > frame)
        readers = []
        #expect(eventually { test.statistics.bytesWaiting == 0 })
        #expect(eventually { test.statistics.connections == 0 })
    }

    @Test func slowSnapshotsDoNotFillTheMemory() throws {
        let limit = 20_000_000
        let test = try TestServer {
            $0.limits.waitingBytes = limit
            $0.sendBufferSize = 4096
        }
        var clients: [Client] = []
        for number in 1...30 {
            try test.show(number, padding: 2_000_000)
            let client = try Client(test.port, receiveBuffer: 4096)
            client.get("/snapshot")
            _ = try client.readHead()
            clients.append(client)
        }
        // The newest one is counted before the slowest is disconnected.
        #expect(eventually { test.statistics.bytesWaiting <= limit })
        #expect(eventually { test.statistics.slowClientsDisconnected > 15 })
        // What the kernel takes at once is served all the same.
        #expect(try Client.fetch("/state", port: test.port).status == 200)
        clients = []
        #expect(eventually { test.statistics.bytesWaiting == 0 })
    }
}
