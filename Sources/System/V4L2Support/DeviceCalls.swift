#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The system calls to a V4L2 node, one for one, so that a test can simulate a driver.
///
/// Every call is made on the thread that owns the node, except the `VIDIOC_STREAMOFF` that ends a wait of that thread. A result below zero is `-errno`.
package protocol DeviceCalls: Sendable {
    /// Opens the node, non-blocking and closed on exec. Returns its descriptor.
    func open(_ path: String) -> Int32
    func close(_ descriptor: Int32)
    func ioctl(_ descriptor: Int32, _ request: UInt, _ argument: UnsafeMutableRawPointer) -> Int32
    /// Maps a buffer of the driver, for reading unless `isWritable`. Returns nil with the `errno` on failure.
    func map(
        _ descriptor: Int32, byteCount: Int, offset: UInt32, isWritable: Bool
    ) -> (address: UnsafeMutableRawPointer?, error: Int32)
    /// Replaces a mapping by ordinary memory with the same content, so that it no longer holds the device.
    func detach(_ address: UnsafeMutableRawPointer, byteCount: Int)
    func unmap(_ address: UnsafeMutableRawPointer, byteCount: Int)
    /// Makes `VIDIOC_DQBUF` block until there is a frame, or return `EAGAIN`, which is the default; false on failure.
    func setWaiting(_ descriptor: Int32, _ isWaiting: Bool) -> Bool
    /// Waits until one of the descriptors is ready, at most `milliseconds`, -1 for indefinitely.
    func poll(_ descriptors: UnsafeMutableBufferPointer<pollfd>, milliseconds: Int32) -> Int32
}

extension DeviceCalls {
    /// Waits until `descriptor` has one of `events` (`POLL…`), `stop` is readable, or the time has passed.
    ///
    /// - Parameters:
    ///   - descriptor: ignored if negative.
    ///   - stop: ends the wait; ignored if negative.
    ///   - milliseconds: the maximum time, -1 for indefinitely.
    /// - Returns: the events of `descriptor`, errors included; zero when only the wait has ended, and all of `events`
    ///   when `poll` has failed.
    package func waitForInput(_ descriptor: Int32, events: Int16, stop: Int32, milliseconds: Int32) -> Int16 {
        withUnsafeTemporaryAllocation(of: pollfd.self, capacity: 2) { descriptors in
            descriptors.initializeElement(at: 0, to: pollfd(fd: descriptor, events: events, revents: 0))
            descriptors.initializeElement(at: 1, to: pollfd(fd: stop, events: Int16(POLLIN), revents: 0))
            let count = poll(descriptors, milliseconds: milliseconds)
            guard count >= 0 else {
                // Whether anything is ready is not known, so the caller must check.
                if milliseconds != 0 { pauseAfterFailure(stop, milliseconds: count == -EINTR ? 1 : 5) }
                return milliseconds == 0 ? 0 : events
            }
            return count > 0 ? descriptors[0].revents : 0
        }
    }

    /// Pauses after `poll` has failed (out of memory, or a burst of signals), so that the caller, which tries again,
    /// does not spin.
    private func pauseAfterFailure(_ stop: Int32, milliseconds: Int32) {
        var descriptor = pollfd(fd: stop, events: Int16(POLLIN), revents: 0)
        guard systemPoll(&descriptor, 1, milliseconds) < 0 else { return }
        usleep(UInt32(milliseconds) * 1000)
    }

    package func poll(_ descriptors: UnsafeMutableBufferPointer<pollfd>, milliseconds: Int32) -> Int32 {
        let count = systemPoll(descriptors.baseAddress, nfds_t(descriptors.count), milliseconds)
        return count < 0 ? -errno : count
    }
}

/// Inside the protocol the name `poll` refers to its own function.
private func systemPoll(_ descriptors: UnsafeMutablePointer<pollfd>?, _ count: nfds_t, _ milliseconds: Int32) -> Int32 {
    poll(descriptors, count, milliseconds)
}
