#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Text that was asked for, to standard output.
enum StandardOutput {
    /// Writes lines. Throws when they cannot be written: a reader that has gone, a full disk.
    static func write(_ text: String) throws(Refusal) {
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
                throw Refusal(
                    .inputOutput, "standard output: cannot be written (\(String(cString: strerror(errno)))).")
            }
        }
    }
}
