#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What a camera's node is asked through: the system calls, one for one, so that a test can stand in for a driver
/// and answer any of them as it likes.
///
/// Every call is made on the thread that owns the node, but for the `VIDIOC_STREAMOFF` that ends a wait of that thread
/// (``DequeueWatchdog``). A result below zero is `-errno`.
protocol DeviceCalls: Sendable {
    /// Opens the node, not blocking and closed on exec; its descriptor.
    func open(_ path: String) -> Int32
    func close(_ descriptor: Int32)
    func ioctl(_ descriptor: Int32, _ request: UInt, _ argument: UnsafeMutableRawPointer) -> Int32
    /// Maps a buffer of the driver for reading; nil with the error's number.
    func map(
        _ descriptor: Int32, byteCount: Int, offset: UInt32
    ) -> (address: UnsafeMutableRawPointer?, error: Int32)
    /// Makes a mapping ordinary memory with the same content, so that it holds the device no longer.
    func detach(_ address: UnsafeMutableRawPointer, byteCount: Int)
    func unmap(_ address: UnsafeMutableRawPointer, byteCount: Int)
    /// Has `VIDIOC_DQBUF` wait for a frame, or answer `EAGAIN`, as when the node was opened; false when that cannot be had.
    func setWaiting(_ descriptor: Int32, _ isWaiting: Bool) -> Bool
    /// Waits until one of the descriptors is ready, at most `milliseconds`, -1 for as long as it takes.
    func poll(_ descriptors: UnsafeMutableBufferPointer<pollfd>, milliseconds: Int32) -> Int32
}

extension DeviceCalls {
    /// Waits until `descriptor` has one of `events` (`POLL…`), `stop` is readable, or the time is over.
    ///
    /// - Parameters:
    ///   - descriptor: a negative one is not waited for.
    ///   - stop: ends the wait; a negative one is not waited for.
    ///   - milliseconds: -1 for as long as it takes.
    /// - Returns: what `descriptor` has, errors included; zero when only the wait has ended, and all of `events` when
    ///   the system refused to say.
    func waitForInput(_ descriptor: Int32, events: Int16, stop: Int32, milliseconds: Int32) -> Int16 {
        withUnsafeTemporaryAllocation(of: pollfd.self, capacity: 2) { descriptors in
            descriptors.initializeElement(at: 0, to: pollfd(fd: descriptor, events: events, revents: 0))
            descriptors.initializeElement(at: 1, to: pollfd(fd: stop, events: Int16(POLLIN), revents: 0))
            let count = poll(descriptors, milliseconds: milliseconds)
            guard count >= 0 else {
                // Whether anything is ready is not known, so it is to be looked at.
                if milliseconds != 0 { waitInVain(stop, milliseconds: count == -EINTR ? 1 : 5) }
                return milliseconds == 0 ? 0 : events
            }
            return count > 0 ? descriptors[0].revents : 0
        }
    }

    /// The system has refused to wait (it has no memory left, or signals come one after the other): a pause, so that
    /// the caller, who tries again, does not spin.
    private func waitInVain(_ stop: Int32, milliseconds: Int32) {
        var descriptor = pollfd(fd: stop, events: Int16(POLLIN), revents: 0)
        guard systemPoll(&descriptor, 1, milliseconds) < 0 else { return }
        usleep(UInt32(milliseconds) * 1000)
    }

    func poll(_ descriptors: UnsafeMutableBufferPointer<pollfd>, milliseconds: Int32) -> Int32 {
        let count = systemPoll(descriptors.baseAddress, nfds_t(descriptors.count), milliseconds)
        return count < 0 ? -errno : count
    }
}

/// The name is taken by the protocol's function inside of it.
private func systemPoll(_ descriptors: UnsafeMutablePointer<pollfd>?, _ count: nfds_t, _ milliseconds: Int32) -> Int32 {
    poll(descriptors, count, milliseconds)
}
