/// Reports values to any number of asynchronous streams, in one order.
///
/// Safe to use from any thread, also with a lock held: a separate task calls the streams, and values arrive soon after
/// ``send(_:)``. Cancelling a task holds a lock of that task while its cancellation handlers run, and a stream takes the same
/// lock to wake the task up. If its caller held a lock that such a handler takes, each would wait for the other forever.
package final class ObserverStreams<Element: Sendable>: Sendable {
    private typealias Continuation = AsyncStream<Element>.Continuation

    private struct Contents {
        var observers: [UInt64: Continuation] = [:]
        var lastIdentifier: UInt64 = 0
        /// Values that no stream has yet, and the streams that get them; nil ends these.
        var waiting: [(element: Element?, observers: [UInt64: Continuation])] = []
        var isReporting = false
        var hasEnded = false
    }

    private let contents = Locked(Contents())

    package init() {}

    deinit {
        let observers = contents.withLock { $0.observers }
        guard !observers.isEmpty else { return }
        Task.detached(priority: .high) { for observer in observers.values { observer.finish() } }
    }

    /// A new stream of all values from now on. It ends with ``finish()``, and when this object is destroyed.
    ///
    /// - Parameters:
    ///   - policy: which values are kept for a slow reader.
    ///   - first: a value for this stream alone, before all others.
    package func stream(
        bufferingPolicy policy: AsyncStream<Element>.Continuation.BufferingPolicy = .unbounded,
        beginningWith first: Element? = nil
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream<Element>.makeStream(bufferingPolicy: policy)
        // No task waits for this stream yet.
        if let first { continuation.yield(first) }
        let identifier = contents.withLock { contents -> UInt64? in
            guard !contents.hasEnded else { return nil }
            contents.lastIdentifier += 1
            contents.observers[contents.lastIdentifier] = continuation
            return contents.lastIdentifier
        }
        guard let identifier else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            // Released after the lock, since its end may run code of others.
            _ = self?.contents.withLock { $0.observers.removeValue(forKey: identifier) }
        }
        return stream
    }

    /// Reports a value to the streams that there are now.
    package func send(_ element: Element) { report(element) }

    /// Ends all streams, those to come as well.
    package func finish() { report(nil) }

    private func report(_ element: Element?) {
        let mustStart = contents.withLock { contents in
            let observers = contents.observers
            if element == nil {
                contents.hasEnded = true
                contents.observers = [:]
            }
            guard !observers.isEmpty else { return false }
            contents.waiting.append((element, observers))
            defer { contents.isReporting = true }
            return !contents.isReporting
        }
        // Above the tasks of a program, which may block all threads of their priority.
        if mustStart { Task.detached(priority: .high) { self.reportWaiting() } }
    }

    private func reportWaiting() {
        while let (element, observers) = nextReport() {
            for observer in observers.values {
                if let element { observer.yield(element) } else { observer.finish() }
            }
        }
    }

    private func nextReport() -> (element: Element?, observers: [UInt64: Continuation])? {
        contents.withLock { contents in
            guard contents.waiting.isEmpty else { return contents.waiting.removeFirst() }
            contents.isReporting = false
            return nil
        }
    }
}
