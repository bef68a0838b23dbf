import CaptureCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The number of files and sockets that the process may have open, and how many of them a server uses.
package struct DescriptorLimit {
    /// The limit of `ulimit -n`.
    package var limit: Int
    /// The number that are open.
    package var open: Int

    /// For the rest of the program while the server runs (files, cameras), and for connections that the server accepts only
    /// to refuse them.
    private static let reserve = 128
    /// Used by an event loop.
    private static let perThread = 3
    /// A server for fewer connections does not start.
    private static let minimumConnections = 4

    /// A limit, and the number that are open.
    package init(limit: Int, open: Int) {
        self.limit = limit
        self.open = open
    }

    /// The limit of this process.
    package init() {
        let usage = DescriptorUsage()
        limit = usage.limit
        open = usage.open
    }

    /// The number of connections for which there are descriptors.
    ///
    /// - Parameters:
    ///   - wanted: the configured maximum.
    ///   - threadCount: the number of event loops.
    ///   - others: descriptors that viewers need in another way.
    /// - Returns: at most `wanted`.
    /// - Throws: `system` when there are too few to start at all.
    package func connections(atMost wanted: Int, threadCount: Int, besides others: Int = 0) throws(CaptureError) -> Int
    {
        // One more to listen.
        let own = open + DescriptorLimit.perThread * threadCount + 1
        let free = max(0, limit - own)
        let connections = free - min(DescriptorLimit.reserve + others, free / 2)
        guard connections >= DescriptorLimit.minimumConnections else {
            throw CaptureError(
                .system, operation: "start the server", errno: EMFILE,
                message:
                    "This process may have \(limit) files and sockets open and has \(open); the server needs at least "
                    + "\(own + 2 * DescriptorLimit.minimumConnections). Raise the limit with `ulimit -n`.")
        }
        return min(wanted, connections)
    }
}

/// Raises the limit of open files to the number of connections that the server may have, as far as the hard limit
/// (`ulimit -Hn`) permits. Shells and services set 1024 for the sake of programs that use `select`; this one does not.
package func raiseDescriptorLimit() {
    #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        let resource = RLIMIT_NOFILE
    #endif
    var limits = rlimit()
    guard getrlimit(resource, &limits) == 0, limits.rlim_cur < 4096 else { return }
    limits.rlim_cur = min(4096, limits.rlim_max)
    // On failure the server accepts fewer connections, and warns.
    _ = setrlimit(resource, &limits)
}
