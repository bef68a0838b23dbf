import NIOCore
import ServerTransport
import Testing
import VideoCapturing

@testable import MJPEGServer

/// Frames between the thread that publishes them and an event loop that is busy.
@Suite struct LoopHubTests {
    /// A server with one event loop, which can be blocked.
    private final class Server {
        let broadcaster: Broadcaster
        let listener: Listener
        private let gate = ManualResetEvent()

        init() throws {
            var configuration = MJPEGServer.Configuration()
            configuration.threadCount = 1
            configuration.repeatInterval = nil
            broadcaster = Broadcaster(configuration) { _ in }
            listener = try Listener(configuration, broadcaster: broadcaster, connections: Connections(limit: 100))
            try broadcaster.start(listener.service.hubs)
        }

        deinit {
            unblockLoop()
            broadcaster.stop()
            listener.close()
        }

        func show(_ number: Int, padding: Int = 0) throws {
            broadcaster.consume(try jpegFrame(number, padding: padding))
        }

        /// Viewers that have received the first frame.
        func viewers(_ count: Int) throws -> [StreamReader] {
            try show(1)
            return try (0..<count).map { _ in
                let reader = try StreamReader(listener.address.port ?? 0)
                #expect(try reader.next(from: 1).number == 1)
                return reader
            }
        }

        func blockLoop() {
            let isBlocked = ManualResetEvent()
            listener.service.hubs[0].loop.execute { [gate] in
                isBlocked.raise()
                gate.wait()
            }
            isBlocked.wait()
        }

        func unblockLoop() { gate.raise() }

        var skipped: UInt64 {
            broadcaster.state.withLock { $0.viewers.values.reduce(0) { $0 + $1.current.skipped } }
        }
    }

    @Test func theNewestFrameReplacesThoseThatTheLoopHasNotTaken() throws {
        let server = try Server()
        let readers = try server.viewers(3)
        server.blockLoop()
        // No thread waits for the loop.
        for number in 2...5 { try server.show(number) }
        server.unblockLoop()
        for reader in readers { #expect(try reader.next().number == 5) }
        #expect(eventually { server.skipped == UInt64(3 * readers.count) })
        try server.show(6)
        for reader in readers { #expect(try reader.next().number == 6) }
    }

    @Test func aSlowViewerGetsWholeFramesInOrder() throws {
        let server = try Server()
        let readers = try server.viewers(2)
        // More than the kernel takes for the viewer that does not read.
        for number in 2...40 {
            try server.show(number, padding: 1_000_000)
            #expect(try readers[0].next(from: number).number == number)
        }
        var last = 1
        while last < 40 {
            let part = try readers[1].next()
            let number = try #require(part.number)
            #expect(number > last)
            #expect(part.jpeg == numberedJPEG(number, padding: 1_000_000))
            last = number
        }
    }
}
