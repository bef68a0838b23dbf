import StreamOutput
import TestTools
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// The output connects to a receiver.
@Suite(.serialized) struct ConnectTests {
    private func failure(
        opening url: String, _ change: (inout StreamOutput.Configuration) -> Void = { _ in }
    ) -> CaptureError? {
        var configuration = StreamOutput.Configuration()
        change(&configuration)
        do throws(CaptureError) {
            let output = try StreamOutput(url, configuration: configuration)
            defer { output.finish() }
            try output.open()
            return nil
        } catch {
            return error
        }
    }

    @Test func connectsAndSends() throws {
        let listener = try TestListener()
        let output = try StreamOutput("tcp://127.0.0.1:\(listener.port)")
        try output.open()
        #expect(output.port == nil)
        let receiver = TestReceiver(accepted: try listener.accept())
        let feed = try Feed(Clip.standard.get(), to: output)
        let packets = try feed.write(40)
        output.finish()
        expectSame(receiver.awaitEnd(), packets)
    }

    /// Without `open`, a receiver that is started later is found.
    @Test func waitsForAReceiverThatComesLater() throws {
        let port = try TestListener().port
        var configuration = StreamOutput.Configuration()
        configuration.reconnectDelays = [.milliseconds(10)]
        let output = try StreamOutput("tcp://127.0.0.1:\(port)", configuration: configuration)
        let events = Locked<[StreamOutput.Event]>([])
        output.setEventHandler { event in
            events.withLock { $0.append(event) }
        }
        let feed = try Feed(Clip.standard.get(), to: output)
        #expect(eventually { events.withLock { $0.count } >= 4 })
        try feed.write(5)
        let receiver = output.statistics.receivers.first
        #expect(receiver?.address == "127.0.0.1:\(port)" && output.statistics.connections == 0)
        let listener = try TestListener(port: port)
        let accepted = TestReceiver(accepted: try listener.accept())
        #expect(feed.awaitRequests(1))
        let packets = try feed.write(20)
        output.finish()
        expectSame(accepted.awaitEnd(), packets)
        guard case .attemptFailed(let reason, 1) = events.withLock({ $0[0] }) else {
            Issue.record("\(events.withLock { $0 })")
            return
        }
        #expect(reason.contains("Nothing listens there"))
    }

    /// Each connection is ended by the receiver at another byte; each next one begins with a key frame.
    @Test func reconnects() throws {
        let listener = try TestListener()
        var configuration = StreamOutput.Configuration()
        configuration.reconnectDelays = [.zero]
        let output = try StreamOutput("tcp://127.0.0.1:\(listener.port)", configuration: configuration)
        try output.open()
        let feed = try Feed(Clip.standard.get(), to: output)
        let before = openSockets(port: listener.port)
        for round in 0..<100 {
            let socket = try listener.accept()
            let limit = 1 + round * 37
            var received: [UInt8] = []
            var block = [UInt8](repeating: 0, count: limit)
            var wait = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            while received.count < limit {
                try feed.write(1)
                guard poll(&wait, 1, 5) > 0 else { continue }
                let count = recv(socket, &block, limit - received.count, 0)
                try #require(count > 0)
                received += block[..<count]
            }
            let kinds = nalUnits(received).compactMap { $0.first.map { $0 & 0x1F } }
            #expect(kinds.prefix(1) == [7] || received.count < 11)
            if round % 2 == 0 { setLinger(socket) }
            close(socket)
            let count = UInt64(round + 1)
            #expect(
                eventually {
                    _ = try? feed.write(1)
                    return output.statistics.reconnects == count
                })
        }
        #expect(eventually { openSockets(port: listener.port) <= before })
        output.finish()
    }

    @Test func withoutAFurtherAttemptItFails() throws {
        let listener = try TestListener()
        var configuration = StreamOutput.Configuration()
        configuration.reconnectDelays = []
        let output = try StreamOutput("tcp://127.0.0.1:\(listener.port)", configuration: configuration)
        try output.open()
        let feed = try Feed(Clip.standard.get(), to: output)
        close(try listener.accept())
        var failure: (any Error)?
        #expect(
            eventually {
                do {
                    try feed.write(1)
                    return false
                } catch {
                    failure = error
                    return true
                }
            })
        #expect((failure as? CaptureError)?.code == .deviceLost)
        output.finish()
    }

    @Test func aRefusedConnectionIsReported() throws {
        let port = try TestListener().port
        let error = failure(opening: "tcp://127.0.0.1:\(port)")
        #expect(error?.code == .deviceNotFound && error?.systemError == ECONNREFUSED)
        #expect(error?.subject == "127.0.0.1:\(port)")
    }

    @Test func anUnknownHostIsReported() {
        let error = failure(opening: "tcp://no-such-host.invalid:9000")
        #expect(error?.code == .deviceNotFound)
        #expect(error?.message.contains("no-such-host.invalid") == true)
    }

    /// A backlog that is full answers no more.
    @Test func aHostThatDoesNotAnswerIsReported() throws {
        let listener = try TestListener(backlog: 0)
        let fillers = listener.fill()
        defer { for filler in fillers { close(filler) } }
        let error = failure(opening: "tcp://127.0.0.1:\(listener.port)") { $0.connectTimeout = .milliseconds(300) }
        #expect(error?.code == .stalled && error?.message.contains("did not answer") == true)
        // The end does not wait for the timeout.
        let output = try StreamOutput("tcp://127.0.0.1:\(listener.port)")
        let feed = try Feed(Clip.standard.get(), to: output)
        try feed.write(1)
        let start = MonotonicClock().now
        output.finish()
        #expect(MonotonicClock().now - start < .seconds(8))
    }

    @Test func aPortInUseIsReported() throws {
        let first = try StreamOutput("tcp://127.0.0.1:0?listen")
        try first.open()
        let port = try #require(first.port)
        let error = failure(opening: "tcp://127.0.0.1:\(port)?listen=1")
        #expect(error?.code == .deviceBusy && error?.systemError == EADDRINUSE)
        #expect(error?.message.contains("\(port)") == true)
        first.finish()
        // It is free at once.
        #expect(failure(opening: "tcp://127.0.0.1:\(port)?listen") == nil)
    }

    @Test func anAddressOfAnotherMachineIsReported() {
        let error = failure(opening: "tcp://192.0.2.1:0?listen")
        #expect(error?.code == .deviceNotFound && error?.systemError == EADDRNOTAVAIL)
    }

    @Test func opensOnce() throws {
        let output = try StreamOutput("tcp://[::1]:0?listen")
        do throws(CaptureError) { try output.open() } catch {
            // A machine without IPv6.
            #expect(error.systemError == EADDRNOTAVAIL || error.systemError == EAFNOSUPPORT)
            return
        }
        #expect(throws: CaptureError.self) { try output.open() }
        output.finish()
        #expect(throws: CaptureError.self) { try output.open() }
    }

    @Test(arguments: [
        "udp://127.0.0.1:9000", "tcp://127.0.0.1", "tcp://:9000", "tcp://127.0.0.1:port", "tcp://127.0.0.1:70000",
        "tcp://127.0.0.1:0", "tcp://::1:9000", "tcp://a:1?lsten", "tcp://a:1?format=avi", "tcp://a:1?format=",
        "tcp://user@a:1", "tcp://a:1/path", "tcp://", "", "tcp://a:-1", "tcp://a:１",
    ])
    func invalidAddressesAreReported(_ url: String) {
        let error = failure(opening: url)
        #expect(error?.code == .invalidConfiguration, "\(url): \(String(describing: error))")
        #expect(error?.message.isEmpty == false)
    }

    @Test func invalidSettingsAreReported() {
        for change: @Sendable (inout StreamOutput.Configuration) -> Void in [
            { $0.maximumReceivers = 0 }, { $0.maximumWaitingBytes = 0 }, { $0.maximumDelay = .zero },
            { $0.connectTimeout = .zero }, { $0.stallTimeout = .seconds(-1) }, { $0.finishTimeout = .seconds(-1) },
            { $0.reconnectDelays = [.seconds(-1)] },
        ] {
            #expect(failure(opening: "tcp://127.0.0.1:0?listen", change)?.code == .invalidConfiguration)
        }
    }
}
