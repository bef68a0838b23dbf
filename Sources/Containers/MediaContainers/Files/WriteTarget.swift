import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A descriptor for writing whose wait for a reader can be ended.
///
/// Only a signal ends a blocking write, and the flag that makes a descriptor non-blocking is shared by all processes
/// that have it open. So a pipe or terminal is opened again, for an open file description of our own with that flag.
/// Where that is not possible (a socket, another user's pipe), the descriptor is polled, and written in parts that do not
/// block once there is room.
package struct WriteTarget: ~Copyable {
    /// Whether a write may have to wait for a reader: a pipe, FIFO, socket or terminal.
    package let waitsForReader: Bool

    private let descriptor: Int32
    /// A non-blocking description of the same pipe or terminal; -1 for none.
    private var ownDescriptor: Int32
    /// Whether each part is written only after `poll` has reported room for it.
    private let isPolled: Bool

    /// Creates a target for a descriptor.
    ///
    /// - Parameter descriptor: open for writing; remains owned by the caller.
    package init(_ descriptor: Int32) {
        var status = stat()
        let kind = fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0
        let isTerminal = kind == S_IFCHR && isatty(descriptor) == 1
        let flags = fcntl(descriptor, F_GETFL)
        self.descriptor = descriptor
        waitsForReader = kind == S_IFIFO || kind == S_IFSOCK || isTerminal
        let mustNotBlock = waitsForReader && flags >= 0 && flags & O_NONBLOCK == 0
        let mayBeReopened = mustNotBlock && kind != S_IFSOCK && flags & O_ACCMODE != O_RDONLY
        ownDescriptor =
            mayBeReopened ? max(-1, openFile("/proc/self/fd/\(descriptor)", O_WRONLY | O_NONBLOCK | O_NOCTTY)) : -1
        isPolled = mustNotBlock && ownDescriptor < 0
    }

    deinit {
        if ownDescriptor >= 0 { _ = closeDescriptor(ownDescriptor) }
    }

    /// Closes the description that was opened here: the reader sees the end once the caller's descriptor is closed too.
    package mutating func close() {
        if ownDescriptor >= 0 { _ = closeDescriptor(ownDescriptor) }
        ownDescriptor = -1
    }

    /// Writes all of `first`, then all of `second`, without copying them together. Continues after signals and short
    /// writes.
    ///
    /// - Parameters:
    ///   - first: the bytes to write first.
    ///   - second: the bytes to write after them.
    ///   - isGivenUp: called when there is no room, and then ten times per second, with the time at which the wait began;
    ///     true ends the wait.
    /// - Returns: 0 or the `errno` that ended it, `ETIMEDOUT` when the wait was given up; and the number of bytes written.
    package func write(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, isGivenUp: (MediaTime) -> Bool
    ) -> (code: Int32, written: Int) {
        let descriptor = ownDescriptor >= 0 ? ownDescriptor : self.descriptor
        let total = first.count + second.count
        var done = 0
        while done < total {
            if isPolled, !awaitRoom(descriptor, isGivenUp) { return (ETIMEDOUT, done) }
            let result = writeSome(descriptor, first, second, from: done)
            if result > 0 {
                done += result
            } else if result == 0 {
                // Nothing written and no error: a broken driver. Trying forever would hang.
                return (EIO, done)
            } else if errno == EAGAIN {
                if !awaitRoom(descriptor, isGivenUp) { return (ETIMEDOUT, done) }
            } else if errno != EINTR {
                return (errno, done)
            }
        }
        return (0, done)
    }

    private func writeSome(
        _ descriptor: Int32, _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, from done: Int
    ) -> Int {
        let isInFirst = done < first.count
        if isInFirst, !second.isEmpty, !isPolled {
            var vectors = (vector(first, from: done), vector(second, from: 0))
            return withUnsafeBytes(of: &vectors) {
                writev(descriptor, $0.baseAddress!.assumingMemoryBound(to: iovec.self), 2)
            }
        }
        let rest = isInFirst ? first[done...] : second[(done - first.count)...]
        let part = UnsafeRawBufferPointer(rebasing: isPolled ? rest.prefix(Int(PIPE_BUF)) : rest)
        return writeBytes(descriptor, part)
    }

    /// False when the wait was given up.
    private func awaitRoom(_ descriptor: Int32, _ isGivenUp: (MediaTime) -> Bool) -> Bool {
        let start = MonotonicClock().now
        var limit: Int32 = 0
        while true {
            var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            // The write reports a failure.
            if poll(&request, 1, limit) > 0 { return true }
            if isGivenUp(start) { return false }
            limit = 100
        }
    }
}

private func vector(_ bytes: UnsafeRawBufferPointer, from start: Int) -> iovec {
    iovec(
        iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress.map { $0 + start }),
        iov_len: bytes.count - start)
}

/// `write`, under a name that methods named `write` do not shadow.
private func writeBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}
