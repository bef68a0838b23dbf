import CapturerTestKit
import MJPEGCapturer
import TestTools
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct ReconnectTests {
    @Test func waitsTwiceAsLongEachTime() {
        let policy = MJPEGCapturer.Configuration.ReconnectPolicy.standard
        let delays = (1...8).map { policy.delay(beforeAttempt: $0) }
        #expect(delays == [1, 2, 4, 8, 16, 30, 30, 30].map { .seconds($0) })
        #expect(MJPEGCapturer.Configuration.ReconnectPolicy.never.delay(beforeAttempt: 1) == nil)
    }

    /// Each connection gives three pictures and ends: in good order, by a reset, by its boundary.
    @Test(arguments: [0, 1, 2])
    func goesOnAfterALoss(_ way: Int) throws {
        let server = QuirkServer { request, connection in
            stream(to: connection, from: request.index * 3, count: 3)
            if way == 1 { connection.reset() }
            guard way == 2 else { return }
            connection.write("--frame--\r\n")
            connection.awaitEnd()
        }
        defer { server.stop() }
        let consumer = RecordingConsumer()
        let capture = MJPEGCapturer(url: server.url, configuration: .test())
        let (events, states) = (EventLog(), Locked<[CaptureState]>([]))
        capture.setEventHandler { [unowned capture] event in
            events.add("\(event)")
            states.withLock { $0.append(capture.state) }
        }
        capture.didStartLoading = { events.add("start") }
        capture.didFinishLoading = { events.add("finish") }
        capture.videoCaptureConsumer = consumer
        try capture.play()
        #expect(consumer.waitForFrames(12))
        capture.releaseCapture()
        let frames = consumer.frames
        // A reset may take what the kernel has not handed over yet.
        if way != 1 { #expect(frames.prefix(12).map(\.number) == Array(0..<12)) }
        #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
        #expect(capture.statistics.interruptions >= 3)
        #expect(capture.streamStatistics.reconnects >= 3)
        #expect(capture.streamStatistics.lastInterruption != nil)
        #expect(states.withLock { $0 }.contains(.interrupted(.deviceDisconnected)))
        #expect(Array(events.all.prefix(3)) == ["start", "finish", "The stream has begun, with pictures of 19x9."])
        #expect(events.all.contains("The stream is back."))
    }

    /// Some cameras call a snapshot a stream, and hang up after it: it is polled, and no longer an interruption each time.
    @Test(arguments: [true, false]) func aStreamOfOnePictureIsPolled(_ hasEnd: Bool) throws {
        let server = QuirkServer { request, connection in
            stream(to: connection, from: request.index, count: 1)
            if hasEnd { connection.write("--frame--\r\n") }
        }
        defer { server.stop() }
        let consumer = RecordingConsumer()
        let capture = MJPEGCapturer(url: server.url, configuration: .test())
        capture.videoCaptureConsumer = consumer
        try capture.play()
        #expect(consumer.waitForFrames(20))
        let state = capture.state
        capture.releaseCapture()
        #expect(consumer.frames.prefix(20).map(\.number) == Array(0..<20))
        #expect(capture.statistics.interruptions <= 2)
        #expect(capture.streamStatistics.polls >= 16)
        #expect(state == .running, "\(state)")
    }

    @Test func takesSilenceForALoss() throws {
        let server = QuirkServer { request, connection in
            stream(to: connection, from: request.index * 3, count: 3)
            connection.awaitEnd()
        }
        defer { server.stop() }
        let consumer = RecordingConsumer()
        let capture = MJPEGCapturer(url: server.url, configuration: .test { $0.stallTimeout = .milliseconds(1500) })
        capture.videoCaptureConsumer = consumer
        try capture.play()
        #expect(consumer.waitForFrames(4))
        capture.releaseCapture()
        #expect(consumer.frames.prefix(4).map(\.number) == Array(0..<4))
        #expect(capture.streamStatistics.lastInterruption?.contains("1.5 s") == true)
    }

    /// Pictures that cannot be decoded are none.
    @Test func takesDamageAloneForALoss() throws {
        var broken = picture(1)
        broken.removeSubrange((broken.count - 10)..<(broken.count - 2))
        let server = QuirkServer { [broken] request, connection in
            guard request.index == 0 else { return stream(to: connection, from: 1) }
            stream(to: connection, count: 1)
            while connection.write(Array(Quirk.usual()(1, broken).utf8) + broken + Array("\r\n".utf8)) { usleep(5000) }
        }
        defer { server.stop() }
        let consumer = RecordingConsumer()
        let capture = MJPEGCapturer(url: server.url, configuration: .test { $0.stallTimeout = .milliseconds(1500) })
        capture.videoCaptureConsumer = consumer
        try capture.play()
        #expect(consumer.waitForFrames(4))
        #expect(consumer.frames.prefix(4).map(\.number) == Array(0..<4))
        #expect(capture.streamStatistics.lastInterruption?.contains("damaged") == true)
        #expect(capture.statistics.interruptions == 1 && capture.statistics.framesDropped.corrupt > 10)
        capture.releaseCapture()
    }

    /// The waits are those of the policy, by the capture's clock; a success makes them begin anew.
    @Test func backsOff() throws {
        let server = QuirkServer { request, connection in
            // The first, and then each fourth, is a stream of one picture.
            guard request.index % 4 == 0 else {
                connection.write("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            }
            connection.write(streamHead)
            connection.write(part(request.index))
        }
        defer { server.stop() }
        let capture = MJPEGCapturer(
            url: server.url,
            configuration: .test {
                $0.reconnect = MJPEGCapturer.Configuration.ReconnectPolicy(steps: [
                    .init(delay: .seconds(100), attempts: 2), .init(delay: .seconds(7000), attempts: 1),
                ])
            }, clock: VirtualClock(.automatic))
        let log = EventLog()
        capture.setEventHandler { log.add("\($0)") }
        try capture.play()
        #expect(eventually { capture.streamStatistics.reconnects >= 2 })
        capture.releaseCapture()
        let waits = log.all.filter { $0.contains("Trying") }.prefix(7)
        let three = ["100 s (attempt 1)", "100 s (attempt 2)", "7000 s (attempt 3)", "7000 s (attempt 4)"].map {
            "Trying to connect again in \($0)."
        }
        #expect(Array(waits) == three + three.prefix(3))
        #expect(
            log.all.contains {
                $0.contains("Attempt 1 to connect again failed: The server can serve no more viewers now (503 Busy)")
            })
        #expect(log.all.contains("The stream is back after 4 attempts."))
    }

    @Test func endsWithoutAPolicy() throws {
        for isReset in [false, true] {
            let server = QuirkServer { _, connection in
                stream(to: connection, count: 3)
                if isReset {
                    connection.write("--frame\r\nContent-Length: 999\r\n\r\n\u{FF}")
                    usleep(300_000)
                    connection.reset()
                }
            }
            defer { server.stop() }
            let capture = MJPEGCapturer(url: server.url, configuration: .test { $0.reconnect = .never })
            try capture.play()
            #expect(eventually { !capture.isCaptureStarted })
            if case .stopped(.deviceLost(let error)) = capture.state {
                #expect(isReset && error.code == .deviceLost)
            } else {
                #expect(!isReset && capture.state == .stopped(.endOfStream))
            }
            capture.releaseCapture()
        }
    }

    /// A reset that comes while pictures wait is still one when they have been delivered.
    @Test func remembersAResetWhilePicturesWait() throws {
        let server = QuirkServer { _, connection in
            stream(to: connection, count: 3)
            usleep(100_000)
            connection.write(part(3) + part(4) + part(5))
            usleep(10_000)
            connection.reset()
        }
        defer { server.stop() }
        let consumer = SlowConsumer(delay: .milliseconds(20))
        let capture = MJPEGCapturer(url: server.url, configuration: .test { $0.reconnect = .never })
        capture.videoCaptureConsumer = consumer
        try capture.play()
        #expect(eventually { !capture.isCaptureStarted })
        guard case .stopped(.deviceLost) = capture.state else {
            Issue.record("\(capture.state)")
            return
        }
        capture.releaseCapture()
    }

    /// Many losses: memory and descriptors stay as they were.
    @Test func isSoundAfterManyLosses() throws {
        let server = QuirkServer { request, connection in
            switch request.index % 4 {
            case 0: stream(to: connection, count: 2, interval: .zero, padding: 100_000)
            case 1: connection.write("HTTP/1.1 404 Gone\r\nConnection: close\r\n\r\n")
            case 2:
                connection.write(streamHead)
                connection.write(Array(part(0, padding: 200_000).prefix(150_000)))
            default: stream(to: connection, count: 1, interval: .zero)
            }
        }
        defer { server.stop() }
        let capture = MJPEGCapturer(url: server.url, configuration: .test { $0.reconnect = .every(.milliseconds(1)) })
        try capture.play()
        #expect(eventually { server.requests.count > 100 })
        let (memory, descriptors) = (residentMemory(), openDescriptors())
        #expect(eventually(within: .seconds(60)) { server.requests.count > 800 })
        // A picture lost each time would be 100 MB. Other tests may run beside.
        #expect(residentMemory() - memory < 64 << 20)
        #expect(eventually { openDescriptors() <= descriptors + 4 })
        capture.releaseCapture()
    }
}

func openDescriptors() -> Int {
    guard let folder = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    return count
}
