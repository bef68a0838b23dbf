#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A value behind a POSIX mutex, with a condition variable to wait for a change of it.
///
/// `Synchronization.Mutex` is not used: under contention ThreadSanitizer on Linux cannot see its
/// futex and reports races that are none. The condition variable waits on `CLOCK_MONOTONIC`.
///
/// `@unchecked Sendable`: the value is reached only while the mutex is held.
package final class Locked<Value: ~Copyable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value

    package init(_ value: consuming sending Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Runs `body` with the mutex held. Not recursive: `body` must not call anything that may lock again.
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }

    /// Blocks until `condition`, called with the mutex held, gives a result, and returns it; nil once
    /// `deadline` on `CLOCK_MONOTONIC` has passed. Call ``wakeAll()`` or ``wakeOne()`` after a change.
    package func wait<Result>(
        until deadline: MediaTime? = nil, for condition: (inout Value) -> Result?
    ) -> Result? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = condition(&value) { return result }
            guard let deadline else {
                pthread_cond_wait(changed, mutex)
                continue
            }
            var time = timespec()
            time.tv_sec = time_t(deadline.nanoseconds / 1_000_000_000)
            time.tv_nsec = Int(deadline.nanoseconds % 1_000_000_000)
            if pthread_cond_timedwait(changed, mutex, &time) == ETIMEDOUT {
                return condition(&value)
            }
        }
    }

    /// Lets every thread in ``wait(until:for:)`` look at the value again.
    package func wakeAll() { pthread_cond_broadcast(changed) }

    /// Lets one thread in ``wait(until:for:)`` look at the value again.
    package func wakeOne() { pthread_cond_signal(changed) }
}
