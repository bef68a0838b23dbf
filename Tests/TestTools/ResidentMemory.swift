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
