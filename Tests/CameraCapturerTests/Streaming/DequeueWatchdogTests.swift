import Synchronization
import TestTools
import Testing
import V4L2Support
import VideoCapturing

@testable import CameraCapturer

@Suite struct DequeueWatchdogTests {
    /// A watchdog whose `VIDIOC_STREAMOFF` is noted.
    private final class Watched: Sendable {
        let calls = Locked<[MediaTime]>([])
        let refusals: Locked<Int>
        let watchdog: DequeueWatchdog
        let began = MonotonicClock().now

        init(limit: Duration, refusals count: Int = 0) throws {
            refusals = Locked(count)
            watchdog = try DequeueWatchdog(deadline: began.advanced(by: limit), limit: limit) { [calls, refusals] in
                calls.withLock { $0.append(MonotonicClock().now) }
                return refusals.withLock { left in
                    left -= 1
                    return left < 0
                }
            }
        }

        var count: Int { calls.withLock { $0.count } }

        func awaitCalls(_ count: Int = 1) -> Bool { eventually { self.count >= count } }
    }

    @Test func endsAWaitThatLastsTooLong() throws {
        let watched = try Watched(limit: .milliseconds(100))
        watched.watchdog.beginWait()
        #expect(watched.awaitCalls())
        #expect(watched.calls.withLock { $0[0] } - watched.began >= .milliseconds(100))
        #expect(watched.watchdog.hasFoundStall)
        watched.watchdog.end()
        #expect(watched.count == 1)
    }

    @Test func leavesAConsumerItsTime() throws {
        // On a busy machine a wait may itself last longer than the limit, but not in all attempts.
        let leavesIt = try (1...20).contains { _ in
            let watched = try Watched(limit: .milliseconds(20))
            defer { watched.watchdog.end() }
            watched.watchdog.beginWait()
            watched.watchdog.endWait()
            pause(.milliseconds(300))
            guard watched.count == 0 else { return false }
            // Also where the next wait has only just begun when the limit is found to be over.
            for _ in 0..<20 {
                watched.watchdog.beginWait()
                watched.watchdog.recordFrame(at: MonotonicClock().now, limitNanoseconds: 20_000_000)
                watched.watchdog.endWait()
                pause(.milliseconds(15))
            }
            return watched.count == 0 && !watched.watchdog.hasFoundStall
        }
        #expect(leavesIt)
    }

    @Test func countsFromTheLastFrame() throws {
        // As above.
        let counts = try (1...20).contains { _ in
            let watched = try Watched(limit: .milliseconds(200))
            defer { watched.watchdog.end() }
            for _ in 0..<30 {
                watched.watchdog.beginWait()
                pause(.milliseconds(20))
                watched.watchdog.recordFrame(at: MonotonicClock().now, limitNanoseconds: 200_000_000)
                watched.watchdog.endWait()
            }
            let last = MonotonicClock().now
            guard watched.count == 0 else { return false }
            watched.watchdog.beginWait()
            #expect(watched.awaitCalls())
            return watched.calls.withLock { $0[0] } - last >= .milliseconds(180)
        }
        #expect(counts)
    }

    @Test(arguments: [false, true])
    func endsAWaitAtTheStop(isWaiting: Bool) throws {
        let watched = try Watched(limit: .seconds(60))
        if isWaiting { watched.watchdog.beginWait() }
        watched.watchdog.stop()
        #expect(watched.awaitCalls())
        #expect(!watched.watchdog.hasFoundStall)
        watched.watchdog.end()
    }

    /// A wait that a refusal would leave without an end.
    @Test func asksAgainWhatIsRefused() throws {
        let watched = try Watched(limit: .seconds(60), refusals: 2)
        watched.watchdog.stop()
        #expect(watched.awaitCalls(3))
        watched.watchdog.end()
        #expect(watched.count == 3)
    }

    @Test func asksNoMoreAfterTheEnd() throws {
        let watched = try Watched(limit: .milliseconds(10), refusals: .max)
        watched.watchdog.beginWait()
        #expect(watched.awaitCalls())
        watched.watchdog.end()
        let count = watched.count
        watched.watchdog.stop()
        pause(.milliseconds(100))
        #expect(watched.count == count)
    }

    @Test func endsWithoutAnyWait() throws {
        let watched = try Watched(limit: .milliseconds(10))
        watched.watchdog.end()
        #expect(watched.count == 0)
    }
}
