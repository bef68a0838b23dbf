import MJPEGServer
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// Waits until something is so. False when it is not within a time that is generous on a busy machine.
func eventually(within limit: Duration = .seconds(120), _ condition: () throws -> Bool) rethrows -> Bool {
    let deadline = MonotonicClock().now.advanced(by: limit)
    while MonotonicClock().now < deadline {
        if try condition() { return true }
        usleep(2000)
    }
    return try condition()
}

/// A server that serves for the length of a test, on any free port.
final class TestServer {
    let server: MJPEGServer
    let port: Int

    init(_ change: (inout MJPEGServer.Configuration) -> Void = { _ in }) throws {
        var configuration = MJPEGServer.Configuration()
        change(&configuration)
        server = MJPEGServer(configuration: configuration)
        port = try server.start().port ?? 0
    }

    deinit { server.stop() }

    var statistics: MJPEGServer.Statistics { server.statistics }

    func show(_ number: Int, padding: Int = 0) throws { server.consumeFrame(try jpegFrame(number, padding: padding)) }

    /// Whether as many viewers watch.
    func hasViewers(_ count: Int) -> Bool { eventually { statistics.viewers.count == count } }
}

/// The descriptors that this process has open.
func openDescriptorCount() -> Int {
    var count = 0
    guard let folder = opendir("/proc/self/fd") else { return 0 }
    while readdir(folder) != nil { count += 1 }
    closedir(folder)
    // Without ".", ".." and the folder's own.
    return count - 3
}
