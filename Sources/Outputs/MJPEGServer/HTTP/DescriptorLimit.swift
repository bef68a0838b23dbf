#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// How many files and sockets the process may have open, and how many of them a server takes.
struct DescriptorLimit {
    /// What `ulimit -n` says.
    var limit: Int
    /// How many are open.
    var open: Int

    /// What the rest of the program may open while the server runs (files, cameras), and what the server needs for a moment
    /// to turn connections away.
    private static let reserve = 128
    /// An event loop's own.
    private static let perThread = 3
    /// Fewer connections are not worth a start.
    private static let fewestConnections = 4

    init(limit: Int, open: Int) {
        self.limit = limit
        self.open = open
    }

    /// That of this process.
    init() {
        var limits = rlimit()
        let result = getrlimit(resourceOfDescriptors, &limits)
        limit = result == 0 ? Int(clamping: limits.rlim_cur) : .max
        open = countOpenDescriptors()
    }

    /// The number of connections that there are descriptors for.
    ///
    /// - Parameter wanted: the number of connections that would be allowed.
    /// - Throws: `system` when there are too few to start at all.
    func connections(atMost wanted: Int, threadCount: Int) throws(MJPEGServerError) -> Int {
        // And one to listen.
        let own = open + DescriptorLimit.perThread * threadCount + 1
        let free = max(0, limit - own)
        let connections = free - min(DescriptorLimit.reserve, free / 2)
        guard connections >= DescriptorLimit.fewestConnections else {
            throw MJPEGServerError(
                .system, operation: "start the server", errno: EMFILE,
                message:
                    "This process may have \(limit) files and sockets open and has \(open); the server needs at least "
                    + "\(own + 2 * DescriptorLimit.fewestConnections). Raise the limit with `ulimit -n`.")
        }
        return min(wanted, connections)
    }
}

#if canImport(Glibc)
    private let resourceOfDescriptors = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
#else
    private let resourceOfDescriptors = RLIMIT_NOFILE
#endif

private func countOpenDescriptors() -> Int {
    guard let folder = opendir("/proc/self/fd") else { return 3 }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    // Without ".", ".." and the folder's own.
    return max(0, count - 3)
}
