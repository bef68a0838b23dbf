#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A value behind a POSIX mutex, with a condition variable to wait for a change of it.
///
/// `Synchronization.Mutex` is not used: under contention ThreadSanitizer on Linux cannot see its
/// futex and reports false races. The condition variable waits on `CLOCK_MONOTONIC`.
///
/// `@unchecked Sendable`: the value is reached only while the mutex is held.
///
/// The generic parts are inlinable: other modules would look for the types at run time at each call otherwise, which
/// costs more than the lock. They get to see the bodies only where the class is `@usableFromInline` as well.
@usableFromInline package final class Locked<Value: ~Copyable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    /// The mutex is what keeps accesses apart; to have Swift check it as well would double the cost of a lock.
    @usableFromInline @exclusivity(unchecked) package var value: Value

    /// - Parameter value: not an empty one, `()`: it would have the address of the object, which others read to get to
    ///   the mutex, and ThreadSanitizer would report that.
    package init(_ value: consuming sending Value) {
        assert(MemoryLayout<Value>.size > 0)
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
    @inlinable @inline(__always) package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body(&value)
    }

    /// Blocks until `condition`, called with the mutex held, gives a result, and returns it; nil once
    /// `deadline` on `CLOCK_MONOTONIC` has passed. Call ``wakeAll()`` or ``wakeOne()`` after a change.
    @inlinable @inline(__always) package func wait<Result>(
        until deadline: MediaTime? = nil, for condition: (inout Value) -> Result?
    ) -> Result? {
        lock()
        defer { unlock() }
        while true {
            if let result = condition(&value) { return result }
            guard sleep(until: deadline) else { return condition(&value) }
        }
    }

    /// Lets every thread in ``wait(until:for:)`` look at the value again.
    package func wakeAll() { pthread_cond_broadcast(changed) }

    /// Lets one thread in ``wait(until:for:)`` look at the value again.
    package func wakeOne() { pthread_cond_signal(changed) }

    @usableFromInline package func lock() { pthread_mutex_lock(mutex) }

    @usableFromInline package func unlock() { pthread_mutex_unlock(mutex) }

    /// Gives the mutex up until the thread is woken; false when `deadline` has passed.
    @usableFromInline package func sleep(until deadline: MediaTime?) -> Bool {
        guard let deadline else {
            pthread_cond_wait(changed, mutex)
            return true
        }
        var time = timespec()
        time.tv_sec = time_t(deadline.nanoseconds / 1_000_000_000)
        time.tv_nsec = Int(deadline.nanoseconds % 1_000_000_000)
        return pthread_cond_timedwait(changed, mutex, &time) != ETIMEDOUT
    }
}
