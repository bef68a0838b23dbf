import CaptureCore
import StreamTransport
import TestTools
import Testing

@testable import WebRTCTransport

#if canImport(Glibc)
    import Glibc
#endif

/// The threads that send, and who is called on them.
@Suite struct SendPlaceTests {
    private final class Client: SendClient {
        struct Calls {
            var times: [MediaTime] = []
            var threads: Set<UInt> = []
            /// When it wants to be called again.
            var next: MediaTime?
        }
        let calls = Locked(Calls())

        func sendDue(at now: MediaTime, using batch: DatagramBatch) -> MediaTime? {
            calls.withLock { calls in
                calls.times.append(now)
                calls.threads.insert(UInt(pthread_self()))
                return calls.next.take()
            }
        }

        var count: Int { calls.withLock { $0.times.count } }
    }

    @Test func `It is called at first, at its time, and when it is woken`() throws {
        let (client, other) = (Client(), Client())
        let (place, others) = (try SendPlace(client), try SendPlace(other))
        #expect(eventually { client.count == 1 && other.count == 1 })
        let due = MonotonicClock().now.advanced(by: .milliseconds(50))
        client.calls.withLock { $0.next = due }
        place.wake()
        #expect(eventually { client.count == 3 })
        #expect(client.calls.withLock { $0.times[2] } >= due)
        #expect(other.count == 1)
        place.leave()
        place.wake()
        others.wake()
        #expect(eventually { other.count == 2 })
        #expect(client.count == 3)
        others.leave()
    }

    @Test func `Each processor sends for some, and each peer stays with one`() throws {
        let clients = (0..<4 * Machine.processorCount).map { _ in Client() }
        let places = try clients.map { try SendPlace($0) }
        for _ in 0..<20 {
            let before = clients.map(\.count)
            for place in places { place.wake() }
            #expect(eventually { zip(clients, before).allSatisfy { $0.count > $1 } })
        }
        #expect(clients.allSatisfy { $0.calls.withLock { $0.threads.count } == 1 })
        #expect(Set(clients.flatMap { $0.calls.withLock { $0.threads } }).count == Machine.processorCount)
        for place in places { place.leave() }
    }

    @Test func `No wake is lost`() throws {
        let client = Client()
        let place = try SendPlace(client)
        for _ in 0..<500 {
            let before = client.count
            place.wake()
            #expect(eventually { client.count > before })
        }
        place.leave()
    }
}
