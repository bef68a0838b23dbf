import NIOCore
import Testing
import VideoCapturing

@testable import MJPEGServer

/// Frames on the way past the event loop: they must reach few viewers while the loop does something else.
@Suite struct SendingAtOnceTests {
    /// A server whose loop can be held up.
    private final class Held {
        let broadcaster: Broadcaster
        let listener: Listener
        private let gate = ManualResetEvent()

        init() throws {
            var configuration = MJPEGServerConfiguration()
            configuration.threadCount = 1
            broadcaster = Broadcaster(configuration) { _ in }
            listener = try Listener(configuration, broadcaster: broadcaster, connections: Connections(limit: 100))
            try broadcaster.start(listener.service.hubs)
        }

        deinit {
            letGo()
            broadcaster.stop()
            listener.close()
        }

        func show(_ number: Int, padding: Int = 0) throws {
            broadcaster.consume(try jpegFrame(number, padding: padding))
        }

        /// Viewers who have seen the first frame.
        func viewers(_ count: Int) throws -> [StreamReader] {
            try show(1)
            return try (0..<count).map { _ in
                let reader = try StreamReader(listener.address.port ?? 0)
                #expect(try reader.next(from: 1).number == 1)
                return reader
            }
        }

        func holdLoop() {
            let isHeld = ManualResetEvent()
            listener.service.hubs[0].loop.execute { [gate] in
                isHeld.raise()
                gate.wait()
            }
            isHeld.wait()
        }

        func letGo() { gate.raise() }

        var skipped: UInt64 {
            broadcaster.state.withLock { $0.viewers.values.reduce(0) { $0 + $1.current.skipped } }
        }
    }

    @Test(arguments: [1, LoopPacking.fewConnections]) func fewViewersNeedNoLoop(_ count: Int) throws {
        let server = try Held()
        let readers = try server.viewers(count)
        server.holdLoop()
        for number in 2...9 {
            try server.show(number)
            for reader in readers { #expect(try reader.next().number == number) }
        }
    }

    @Test func manyViewersAreLeftToTheLoop() throws {
        let server = try Held()
        let readers = try server.viewers(LoopPacking.fewConnections + 1)
        server.holdLoop()
        try server.show(2)
        try server.show(3)
        server.letGo()
        for reader in readers { #expect(try reader.next().number == 3) }
        #expect(server.skipped == UInt64(readers.count))
    }

    /// More than the kernel takes at once: the loop sends the rest, and then the newest.
    @Test func theLoopSendsTheRest() throws {
        let server = try Held()
        let readers = try server.viewers(2)
        server.holdLoop()
        let padding = 8_000_000
        for number in 2...4 { try server.show(number, padding: padding) }
        server.letGo()
        for reader in readers {
            #expect(try reader.next().jpeg == numberedJPEG(2, padding: padding))
            #expect(try reader.next().jpeg == numberedJPEG(4, padding: padding))
        }
        #expect(server.skipped == UInt64(readers.count))
        try server.show(5)
        for reader in readers { #expect(try reader.next().number == 5) }
    }

    /// One who does not read keeps nothing from the others.
    @Test func aSlowViewerIsLeftToTheLoop() throws {
        let server = try Held()
        let readers = try server.viewers(2)
        for number in 2...40 {
            try server.show(number, padding: 1_000_000)
            #expect(try readers[0].next(from: number).number == number)
        }
        // What comes is whole, in order, and the newest in the end.
        var last = 1
        while last < 40 {
            let part = try readers[1].next()
            let number = try #require(part.number)
            #expect(number > last)
            #expect(part.jpeg == numberedJPEG(number, padding: 1_000_000))
            last = number
        }
    }

    /// While one viewer takes nothing, the loop has to come to each frame, and is at another when the next is sent at once.
    @Test func framesStayInOrder() throws {
        let server = try Held()
        let readers = try server.viewers(2)
        // More than the kernel takes for the one who does not read.
        for number in 2...20 {
            try server.show(number, padding: 1_000_000)
            _ = try readers[0].next(from: number)
        }
        let last = 30_000
        let publisher = try CaptureThread(name: "publisher") { [broadcaster = server.broadcaster] in
            for number in 21...last { if let frame = try? jpegFrame(number) { broadcaster.consume(frame) } }
        }
        var number = 20
        while number < last {
            let next = try #require(try readers[0].next().number)
            #expect(next > number)
            number = next
        }
        publisher.join()
    }

    @Test func descriptorsAreFreed() throws {
        let server = try Held()
        try server.show(1)
        let before = openDescriptorCount()
        for _ in 0..<20 {
            let readers = try server.viewers(3)
            withExtendedLifetime(readers) {}
        }
        #expect(eventually { openDescriptorCount() <= before })
    }
}
