/// Sees to a minimum rate: a thread that sends the last frame again when none has come for an interval.
final class FrameRepeater: Sendable {
    private let wake = ManualResetEvent()
    private let thread: CaptureThread

    init(interval: Duration, clock: any CaptureClock, fanOut: FrameFanOut) throws(CaptureError) {
        thread = try CaptureThread(name: "repeat") { [wake, weak fanOut] in
            while !wake.isRaised {
                guard let last = fanOut?.repeatLastFrame(ifOlderThan: interval) else {
                    // Nothing was sent yet.
                    guard fanOut != nil else { break }
                    clock.wait(until: clock.now.advanced(by: interval), or: wake)
                    continue
                }
                clock.wait(until: last.advanced(by: interval), or: wake)
            }
        }
    }

    /// Ends the thread. When it returns, no repeat is being sent and none will be.
    func stop() {
        wake.raise()
        thread.join()
    }
}
