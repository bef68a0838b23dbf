import CapturerTestKit
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct WaitForInputTests {
    /// A pipe for the life of a test.
    private final class Pipe: Sendable {
        let input: Int32
        private let output: Locked<Int32>

        init() throws {
            var ends: [Int32] = [-1, -1]
            try #require(pipe(&ends) == 0)
            (input, output) = (ends[0], Locked(ends[1]))
        }

        deinit {
            endOutput()
            close(input)
        }

        func send() { output.withLock { _ = write($0, "x", 1) } }

        func take() {
            var byte: UInt8 = 0
            _ = read(input, &byte, 1)
        }

        func endOutput() {
            output.withLock { descriptor in
                if descriptor >= 0 { close(descriptor) }
                descriptor = -1
            }
        }
    }

    /// What `body` returns, called where a source waits.
    private func inASource<Result: Sendable>(
        clock: any CaptureClock = MonotonicClock(), _ body: @escaping @Sendable (FrameContext) -> Result,
        beside: (SourceCapturer) -> Void = { _ in }
    ) throws -> Result {
        let result = Locked<Result?>(nil)
        var source = ScriptedSource(pacing: .device)
        source.onFrame = { context, _, _ in
            let found = body(context)
            result.withLock { $0 = found }
            result.wakeAll()
            return false
        }
        let capture = SourceCapturer(source, clock: clock)
        defer { capture.releaseCapture() }
        try capture.initCapture()
        try capture.startCapture()
        beside(capture)
        return try #require(
            result.wait(until: MonotonicClock().now.advanced(by: .seconds(60))) { $0 }, "The wait has not ended.")
    }

    @Test func endsWhenThereIsInput() throws {
        let pipe = try Pipe()
        let found = try inASource { context in
            pipe.send()
            let first = context.waitForInput(pipe.input)
            pipe.take()
            return [first, context.waitForInput(pipe.input, atMost: .zero)]
        }
        #expect(found == [.ready, .timedOut])
    }

    @Test func endsWhenInputComesLater() throws {
        let pipe = try Pipe()
        let found = try inASource {
            $0.waitForInput(pipe.input)
        } beside: { _ in
            usleep(20_000)
            pipe.send()
        }
        #expect(found == .ready)
    }

    @Test func endsWhenTheOtherSideGoes() throws {
        let pipe = try Pipe()
        let found = try inASource { context in
            pipe.endOutput()
            return context.waitForInput(pipe.input)
        }
        #expect(found == .ready)
    }

    @Test(arguments: [-1, 0, 1, 30]) func lastsNoLongerThanTheLimit(milliseconds: Int) throws {
        let pipe = try Pipe()
        let begin = MonotonicClock().now
        let found = try inASource { $0.waitForInput(pipe.input, atMost: .milliseconds(milliseconds)) }
        #expect(found == .timedOut)
        #expect(MonotonicClock().now - begin >= .milliseconds(milliseconds))
    }

    /// A limit that no clock holds is none.
    @Test func maySayForEver() throws {
        let pipe = try Pipe()
        let found = try inASource {
            $0.waitForInput(pipe.input, atMost: .seconds(Int64.max))
        } beside: { _ in
            usleep(20_000)
            pipe.send()
        }
        #expect(found == .ready)
    }

    @Test(arguments: [nil, Duration.seconds(3600)]) func endsWithTheCapture(limit: Duration?) throws {
        let pipe = try Pipe()
        let found = try inASource { context in
            let first = context.waitForInput(pipe.input, atMost: limit)
            pipe.send()
            // What has come since stays for the next start.
            return [first, context.waitForInput(pipe.input, atMost: limit)]
        } beside: { capture in
            usleep(20_000)
            try? capture.stopCapture()
        }
        #expect(found == [.cancelled, .cancelled])
    }

    /// The limit is the machine's time: a test's clock, which stands still, does not make it last for ever.
    @Test func countsTheTimeOfTheMachine() throws {
        let pipe = try Pipe()
        let found = try inASource(clock: VirtualClock()) { $0.waitForInput(pipe.input, atMost: .milliseconds(5)) }
        #expect(found == .timedOut)
    }

    @Test func goesOnAfterSignals() throws {
        let pipe = try Pipe()
        let before = signal(SIGUSR2) { _ in }
        defer { signal(SIGUSR2, before) }
        let waiter = Locked<pthread_t?>(nil)
        let begin = MonotonicClock().now
        let found = try inASource { context in
            waiter.withLock { $0 = pthread_self() }
            waiter.wakeAll()
            return context.waitForInput(pipe.input, atMost: .milliseconds(60))
        } beside: { _ in
            guard let thread = waiter.wait(for: { $0 }) else { return }
            for _ in 0..<5 {
                usleep(5000)
                pthread_kill(thread, SIGUSR2)
            }
        }
        #expect(found == .timedOut)
        #expect(MonotonicClock().now - begin >= .milliseconds(60))
    }
}
