import Dispatch

#if canImport(Glibc)
    import Glibc
#endif

/// The least that handing something to another thread costs on this machine: a counter behind a POSIX mutex and a
/// condition variable, with room for 4, as the publisher's queues here.
///
/// `@unchecked Sendable`: the count is reached only while the mutex is held.
final class BareQueue: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var count = 0

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// What it costs to hand over one of `number` things.
    static func usage(handingOver number: Int) -> Usage {
        let queue = BareQueue()
        let start = Usage.now
        DispatchQueue(label: "bare producer").async {
            for _ in 0..<number { queue.change(by: 1, while: { $0 == 4 }) }
        }
        for _ in 0..<number { queue.change(by: -1, while: { $0 == 0 }) }
        return (Usage.now - start) / number
    }

    private func change(by step: Int, while mustWait: (Int) -> Bool) {
        pthread_mutex_lock(mutex)
        while mustWait(count) { pthread_cond_wait(changed, mutex) }
        count += step
        pthread_mutex_unlock(mutex)
        pthread_cond_signal(changed)
    }
}
