import VideoCapturing

/// The last sentences for the server's user, and who is told each. Safe to use from any thread.
final class WarningList: Sendable {
    /// The most that are kept.
    private static let capacity = 32

    private let list = Locked<[String]>([])
    private let onWarning: @Sendable (String) -> Void

    init(_ onWarning: @escaping @Sendable (String) -> Void) { self.onWarning = onWarning }

    var all: [String] { list.withLock { $0 } }

    func add(_ warning: String) {
        list.withLock { list in
            if list.count >= WarningList.capacity { list.removeFirst() }
            list.append(warning)
        }
        onWarning(warning)
    }
}
