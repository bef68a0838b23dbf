#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// How many descriptors this process has open.
package func openDescriptors() -> Int { entries(of: "/proc/self/fd") - 1 }

/// How many threads this process has.
package func threads() -> Int { entries(of: "/proc/self/task") }

/// How many shared memory segments of this process there are, attached or not.
package func sharedMemorySegments() -> Int {
    // key shmid perms size cpid lpid nattch …
    lines(of: "/proc/sysvipc/shm").dropFirst().count {
        let fields = $0.split(separator: " ")
        return fields.count > 4 && fields[4] == "\(getpid())"
    }
}

/// How many mappings of this process are of memory that it shares with a server.
package func sharedMappings() -> Int {
    lines(of: "/proc/self/maps").count { $0.contains("/SYSV") || $0.contains("/memfd:") || $0.contains("/dev/shm/") }
}

private func lines(of file: String) -> [Substring] {
    guard let stream = fopen(file, "re") else { return [] }
    defer { fclose(stream) }
    var text: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = fread(&block, 1, block.count, stream), count > 0 { text += block[..<count] }
    return String(decoding: text, as: UTF8.self).split(separator: "\n")
}

private func entries(of folder: String) -> Int {
    guard let stream = opendir(folder) else { return 0 }
    defer { closedir(stream) }
    var count = 0
    while readdir(stream) != nil { count += 1 }
    return count - 2
}
