import Foundation
import Testing
import VideoCapturing

@Suite struct CaptureThreadTests {
    private final class Held: Sendable {
        private let isGone: Locked<Bool>
        init(_ isGone: Locked<Bool>) { self.isGone = isGone }
        deinit {
            usleep(20_000)
            isGone.withLock { $0 = true }
        }
    }

    /// What a thread works on, such as a camera, is closed when it is let go of: who has waited for the thread may
    /// open it again.
    @Test func isWaitedForUntilAllIsLetGoOf() throws {
        let isGone = Locked(false)
        var held: Held? = Held(isGone)
        let thread = try CaptureThread(name: "a test") { [held] in _ = held }
        held = nil
        thread.join()
        #expect(isGone.withLock { $0 })
        // Once more, after its end.
        thread.join()
    }

    @Test func hasANameAndANumberOfItsOwn() throws {
        let found = Locked<(name: String?, number: UInt)>((nil, 0))
        try CaptureThread(name: "capture-threads-are-named") {
            let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
            found.withLock { $0 = (name, CaptureThread.currentIdentifier) }
        }.join()
        #expect(found.withLock { $0.name } == "capture-threads\n")
        #expect(found.withLock { $0.number } != CaptureThread.currentIdentifier)
    }
}
