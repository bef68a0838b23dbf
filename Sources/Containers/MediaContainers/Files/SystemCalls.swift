import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Writes all of `bytes` at an offset, without changing the position. Returns 0, or the `errno` that ended it.
func writeAll(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int32 {
    var done = 0
    while done < bytes.count {
        let result = pwrite(descriptor, bytes.baseAddress! + done, bytes.count - done, off_t(offset) + done)
        if result > 0 {
            done += result
        } else if let failure = failure(of: result, waitFor: Int16(POLLOUT), descriptor) {
            return failure
        }
    }
    return 0
}

/// Reads the available bytes, at least one unless the file has ended. Returns the number of bytes, or minus the `errno`:
/// minus `ECANCELED` when it would have to wait while `interrupt` is readable.
func readSome(
    _ descriptor: Int32, into bytes: UnsafeMutableRawBufferPointer, isRegular: Bool, interrupt: Int32
) -> Int {
    while true {
        if !isRegular, !awaitInput(descriptor, interrupt) { return -Int(ECANCELED) }
        let result = read(descriptor, bytes.baseAddress!, bytes.count)
        if result >= 0 { return result }
        if let failure = failure(of: result, waitFor: Int16(POLLIN), descriptor) { return -Int(failure) }
    }
}

/// Waits until there is something to read, or the end; a FIFO that has not been opened for writing yet has not ended.
/// False when `interrupt` becomes readable before that.
private func awaitInput(_ descriptor: Int32, _ interrupt: Int32) -> Bool {
    // A descriptor that cannot be polled can be read, which then reports the error.
    pollInput(descriptor, interruptedBy: interrupt, until: nil) != .interrupted
}

/// Opens a file; retries after signals. Returns the descriptor, or minus the `errno`.
func openFile(_ path: String, _ flags: Int32) -> Int32 {
    while true {
        let descriptor = open(path, flags | O_CLOEXEC, 0o666)
        if descriptor >= 0 { return descriptor }
        if errno != EINTR { return -errno }
    }
}

/// The meaning of a call that transferred nothing: nil to try again, or the `errno`.
private func failure(of result: Int, waitFor events: Int16, _ descriptor: Int32) -> Int32? {
    // Nothing written and no error: a broken driver. Trying forever would hang.
    guard result < 0 else { return EIO }
    switch errno {
    case EINTR: return nil
    case EAGAIN:
        var request = pollfd(fd: descriptor, events: events, revents: 0)
        _ = poll(&request, 1, -1)
        return nil
    case let code: return code
    }
}

/// `close`, under a name that methods named `close` do not shadow.
func closeDescriptor(_ descriptor: Int32) -> Int32 { close(descriptor) }

/// Whether every write goes to the end of the file, `pwrite` included, as after a shell's `>>`.
func isAppending(_ descriptor: Int32) -> Bool {
    let flags = fcntl(descriptor, F_GETFL)
    return flags >= 0 && flags & O_APPEND != 0
}
