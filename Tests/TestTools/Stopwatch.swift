import Glibc
import VideoCapturing

/// Measures what something takes in itself: the time since the beginning, less that for which threads of this process were
/// ready and waited for a processor. So a limit holds on a busy machine, and a wait that should not be there still shows.
package struct Stopwatch {
    private let start = MonotonicClock().now
    private let waits = processorWaits()

    package init() {}

    /// The time from the beginning until now.
    package var time: Duration {
        let passed = MonotonicClock().now - start
        let waited = processorWaits().reduce(Int64(0)) { $0 + ($1.value - (waits[$1.key] ?? 0)) }
        return max(.zero, passed - .nanoseconds(waited))
    }

    /// Measures one call.
    package static func time(_ body: () throws -> Void) rethrows -> Duration {
        let watch = Stopwatch()
        try body()
        return watch.time
    }
}

/// For how many nanoseconds each thread of this process has been ready without a processor; without those of which the
/// kernel says nothing.
private func processorWaits() -> [Int: Int64] {
    var waits: [Int: Int64] = [:]
    guard let directory = opendir("/proc/self/task") else { return waits }
    defer { closedir(directory) }
    while let entry = readdir(directory) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        guard let thread = Int(name), let text = try? text(of: "/proc/self/task/\(name)/schedstat") else { continue }
        // On a processor, ready without one, and how often.
        let fields = text.split(separator: " ")
        if fields.count > 1, let wait = Int64(fields[1]) { waits[thread] = wait }
    }
    return waits
}

/// The content of a file, as those of procfs, which have no length.
func text(of file: String) throws -> String {
    let descriptor = open(file, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw NoConnection(code: errno) }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65536)
    while true {
        let count = read(descriptor, &piece, piece.count)
        guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
        bytes += piece[..<count]
    }
}
