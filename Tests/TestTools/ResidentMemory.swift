#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The bytes of this process that are in memory; 0 when the kernel does not tell.
package func residentMemory() -> Int {
    let text = try? String(decoding: readBytes("/proc/self/statm"), as: UTF8.self)
    return (text?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * Int(getpagesize())
}

/// The largest number of bytes of this process that were in memory since the last ``resetPeakMemory()``; 0 when the kernel
/// does not tell.
package func peakMemory() -> Int {
    let text = (try? String(decoding: readBytes("/proc/self/status"), as: UTF8.self)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) << 10
}

/// Begins to measure the peak at what is in memory now.
package func resetPeakMemory() {
    let descriptor = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    _ = write(descriptor, "5", 1)
    close(descriptor)
}
