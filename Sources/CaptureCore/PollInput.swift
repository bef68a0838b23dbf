#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What ``pollInput(_:interruptedBy:until:)`` has found; nothing when the time was over.
package struct PolledInput: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// There is something to read, or the descriptor has ended or failed, which a read reports.
    package static let ready = PolledInput(rawValue: 1)
    /// The descriptor that ends waits can be read.
    package static let interrupted = PolledInput(rawValue: 2)
    /// The system would not say (it has no memory left, or the process no descriptors). A few milliseconds have passed,
    /// so that a caller who tries again does not spin.
    package static let unknown = PolledInput(rawValue: 4)
}

/// Sleeps until `descriptor` or `interrupt` can be read, or `deadline` has passed; goes on after signals. Without an
/// allocation, since sources wait so for every frame. (`poll(2)`)
///
/// - Parameters:
///   - descriptor: a negative one is not waited for, and neither is a negative `interrupt`.
///   - deadline: on `CLOCK_MONOTONIC`; nil for indefinitely.
package func pollInput(_ descriptor: Int32, interruptedBy interrupt: Int32, until deadline: MediaTime?) -> PolledInput {
    pollDescriptor(descriptor, for: Int16(POLLIN), interruptedBy: interrupt, until: deadline)
}

/// As ``pollInput(_:interruptedBy:until:)``, until `descriptor` can be written, or a connection has been made or failed.
package func pollOutput(
    _ descriptor: Int32, interruptedBy interrupt: Int32, until deadline: MediaTime?
) -> PolledInput {
    pollDescriptor(descriptor, for: Int16(POLLOUT), interruptedBy: interrupt, until: deadline)
}

private func pollDescriptor(
    _ descriptor: Int32, for events: Int16, interruptedBy interrupt: Int32, until deadline: MediaTime?
) -> PolledInput {
    withUnsafeTemporaryAllocation(of: pollfd.self, capacity: 2) { descriptors in
        descriptors.initializeElement(at: 0, to: pollfd(fd: descriptor, events: events, revents: 0))
        descriptors.initializeElement(at: 1, to: pollfd(fd: interrupt, events: Int16(POLLIN), revents: 0))
        guard let count = pollAll(descriptors, until: deadline) else { return .unknown }
        guard count > 0 else { return [] }
        var found: PolledInput = []
        if descriptors[0].revents != 0 { found.insert(.ready) }
        if descriptors[1].revents != 0 { found.insert(.interrupted) }
        return found
    }
}

/// Sleeps until one of several descriptors has one of its events, or `deadline` has passed; goes on after signals.
///
/// - Returns: the number of descriptors with events, 0 when the time is over; nil as ``PolledInput/unknown``.
package func pollAll(_ descriptors: UnsafeMutableBufferPointer<pollfd>, until deadline: MediaTime?) -> Int? {
    while true {
        let left = deadline.map { milliseconds(until: $0) }
        let count = poll(descriptors.baseAddress, nfds_t(descriptors.count), left ?? -1)
        if count > 0 { return Int(count) }
        if count == 0 {
            guard left == Int32.max else { return 0 }
        } else if errno != EINTR {
            usleep(UInt32(min(left ?? .max, 5)) * 1000)
            return nil
        }
    }
}

/// Rounded up, so as not to spin through the last one.
private func milliseconds(until deadline: MediaTime) -> Int32 {
    let left = max(0, deadline.nanoseconds(since: MonotonicClock().now))
    return Int32(clamping: left / 1_000_000 + (left % 1_000_000 == 0 ? 0 : 1))
}
