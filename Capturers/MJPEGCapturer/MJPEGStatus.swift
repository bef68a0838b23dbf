import VideoCapturing

/// What the capture thread tells and any thread may ask.
final class MJPEGStatus: Sendable {
    struct Contents {
        var statistics = MJPEGStatistics()
        var eventHandler: (@Sendable (MJPEGEvent) -> Void)?
        var didStartLoading: (@Sendable () -> Void)?
        var didFinishLoading: (@Sendable () -> Void)?
        var authenticationHandler: (@Sendable (MJPEGAuthenticationChallenge) -> MJPEGCredential?)?
    }

    let contents = Locked(Contents())

    func count(_ change: (inout MJPEGStatistics) -> Void) {
        contents.withLock { change(&$0.statistics) }
    }

    // Handlers are called without the lock.

    func tell(_ event: MJPEGEvent) { contents.withLock { $0.eventHandler }?(event) }

    func tellStart() { contents.withLock { $0.didStartLoading }?() }

    func tellFinish() { contents.withLock { $0.didFinishLoading }?() }

    func askFor(_ challenge: MJPEGAuthenticationChallenge) -> MJPEGCredential? {
        contents.withLock { $0.authenticationHandler }?(challenge)
    }
}
