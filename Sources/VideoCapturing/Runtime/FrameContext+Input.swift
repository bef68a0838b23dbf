extension FrameContext {
    /// What has ended a wait for input.
    public enum InputWait: Sendable, Hashable {
        /// There is something to read, or the descriptor has ended or failed, which a read tells.
        ///
        /// In rare cases (the system has no memory left to wait with) there is nothing yet: let reads not block
        /// (`O_NONBLOCK`, `MSG_DONTWAIT`), and wait again after `EAGAIN`.
        case ready
        /// Nothing has come within the limit.
        case timedOut
        /// The capture is being stopped: return from ``FrameSource/nextFrame(_:)``, with nil or a frame. What there is
        /// to read stays for the next start.
        case stopping
    }

    /// Sleeps until a device, a socket or a pipe has something to read, or the capture is being stopped. For sources
    /// with ``FramePacing/device``; goes on after signals, and allocates nothing.
    ///
    /// ```swift
    /// mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
    ///     guard context.waitForInput(device) == .ready else { return nil }
    ///     return try context.makeFrame(settings.format) { pixels in … }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - descriptor: an open descriptor; a negative one is not waited for.
    ///   - limit: how long at most, by the machine's clock whatever clock the capture has, to the millisecond; nil for
    ///     as long as it takes.
    public func waitForInput(_ descriptor: Int32, atMost limit: Duration? = nil) -> InputWait {
        let deadline = limit.map { MonotonicClock().now.advanced(by: $0) }
        while !isStopping {
            let stop = stopDescriptor
            var end = deadline
            if stop < 0 {
                // None is left for the stop, so that it must be looked for.
                let look = MonotonicClock().now.advanced(by: .milliseconds(50))
                end = min(look, deadline ?? look)
            }
            let found = pollInput(descriptor, interruptedBy: stop, until: end)
            if found.contains(.interrupted) { break }
            if !found.isEmpty { return .ready }
            if let deadline, MonotonicClock().now >= deadline { return .timedOut }
        }
        return .stopping
    }
}
