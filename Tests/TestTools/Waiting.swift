import Glibc
import VideoCapturing

/// Whether something becomes true before long; the limit is for a test that has failed.
package func eventually(within limit: Duration = .seconds(120), _ condition: () throws -> Bool) rethrows -> Bool {
    let deadline = MonotonicClock().now.advanced(by: limit)
    while try !condition() {
        guard MonotonicClock().now < deadline else { return false }
        usleep(1000)
    }
    return true
}

/// A thread of a test's peer, which ends with its body.
package func startThread(_ body: @escaping @Sendable () -> Void) {
    do {
        try CaptureThread(name: "test peer", body)
    } catch {
        fatalError("no thread: \(error)")
    }
}
