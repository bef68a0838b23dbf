#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The files and sockets of this process: how many it may have open, and how many it has.
package struct DescriptorUsage: Sendable, Hashable {
    /// The limit of `ulimit -n`.
    package var limit: Int
    /// The number that are open.
    package var open: Int

    /// The number that can still be opened.
    package var free: Int { max(0, limit - open) }

    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif

    /// The present numbers of this process. Opens a folder for a moment.
    package init() {
        var limits = rlimit()
        let result = getrlimit(DescriptorUsage.resource, &limits)
        limit = result == 0 ? Int(clamping: limits.rlim_cur) : .max
        open = DescriptorUsage.countOpen() ?? limit
    }

    /// Nil when not even the folder can be opened.
    private static func countOpen() -> Int? {
        guard let folder = opendir("/proc/self/fd") else { return errno == EMFILE || errno == ENFILE ? nil : 3 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // Without ".", ".." and the folder's own.
        return max(0, count - 3)
    }
}

/// The size of the machine.
package enum Machine {
    /// The number of processors, at least 1.
    package static let processorCount = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))

    /// The bytes of memory of the machine.
    package static let memory = max(0, Int(sysconf(Int32(_SC_PHYS_PAGES)))) * max(0, Int(sysconf(Int32(_SC_PAGESIZE))))
}
