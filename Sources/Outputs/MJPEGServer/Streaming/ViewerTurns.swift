import VideoCapturing

/// Lets an event loop and the thread that has a frame take turns with the loop's viewers.
///
/// `@unchecked Sendable`: the viewers are reached with the lock held only, and `depth` on the loop only.
final class ViewerTurns: @unchecked Sendable {
    private let viewers = Locked(ViewerList())
    private var depth = 0

    /// On the event loop. Waits while the other thread has its turn, which sends to a few sockets and waits for nothing. May
    /// be called from inside `body`: a connection that breaks while it is written to says so at once.
    func onLoop<Result>(_ body: (ViewerList) -> Result) -> Result {
        if depth == 0 { viewers.lock() }
        depth += 1
        defer {
            depth -= 1
            if depth == 0 { viewers.unlock() }
        }
        return body(viewers.value)
    }

    /// On another thread. Nil, at once, while the loop has its turn.
    func ifFree<Result>(_ body: (ViewerList) -> Result) -> Result? {
        viewers.withLockIfFree { body($0) }
    }
}
