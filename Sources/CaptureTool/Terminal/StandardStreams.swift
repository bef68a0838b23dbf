#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The descriptors 0, 1 and 2, which may be closed when a program starts.
enum StandardDescriptors {
    /// Opens the null device for those that are closed, so that no file gets their numbers, and with them the text for
    /// standard output or standard error. Call it before anything else is opened.
    ///
    /// Input is opened for writing only, and output for reading only, so that their use fails.
    static func fillIn() {
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_WRONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            let opened = open("/dev/null", mode)
            if opened >= 0, opened != descriptor {
                dup2(opened, descriptor)
                close(opened)
            }
        }
    }
}

/// The results of commands, on standard output.
enum StandardOutput {
    /// Writes lines.
    ///
    /// - Throws: an error when they cannot be written: a closed pipe, a full disk.
    static func write(_ text: String) throws(ExitError) {
        var rest = Array((text + "\n").utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { bytes in
                #if canImport(Glibc)
                    Glibc.write(STDOUT_FILENO, bytes.baseAddress, bytes.count)
                #else
                    Musl.write(STDOUT_FILENO, bytes.baseAddress, bytes.count)
                #endif
            }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw ExitError(
                    .inputOutput, "standard output: cannot be written (\(String(cString: strerror(errno)))).")
            }
        }
    }
}

/// The strings with which this process was started, as the kernel keeps them.
///
/// - Parameter name: `cmdline` or `environ`.
func processStrings(_ name: String) -> [String] {
    guard let file = fopen("/proc/self/\(name)", "r") else { return [] }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 64 << 10)
    while case let count = fread(&block, 1, block.count, file), count > 0 { bytes += block[..<count] }
    // A zero ends each, and an argument may be empty.
    let strings = bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast()
    return strings.map { String(decoding: $0, as: UTF8.self) }
}
