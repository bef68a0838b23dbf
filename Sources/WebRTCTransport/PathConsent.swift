import CaptureCore

/// Whether a peer whose answers to checks are missing still wants the media (RFC 7675).
///
/// libnice makes one check in about 5 s, repeats none, and gives a path up when no answer came for 10 s, which on a lossy link are
/// two lost packets. Authentic reports of the peer count as consent too. A peer that has never sent a report gets what the RFC
/// grants: libnice is to go on with its checks until 30 s have passed without an answer.
struct PathConsent {
    /// How long a report shows that the peer wants the media: so short that a peer which has vanished is noticed by its checks,
    /// which are missing 5 s after its last report at the earliest.
    static let reportTimeout = Duration.seconds(4)
    /// Less than libnice waits for the answers to its checks. A path that is given up sooner was refused by the peer.
    static let minimumConsent = Duration.seconds(8)
    /// Longer than libnice, on a path that was kept, waits until its next check and then for answers. One that lasted longer had
    /// an answer.
    static let maximumWait = Duration.seconds(17)
    /// How long a path without any answer is kept after it was given up for the first time, 10 s after the last answer.
    static let maximumKeeping = Duration.seconds(20)

    /// When the last authentic report came.
    private var lastReport: MediaTime?
    /// When the path was kept last.
    private var lastKept: MediaTime?
    /// When the path was first given up since the last answer.
    private var firstMissing: MediaTime?

    mutating func didReceiveReport(at now: MediaTime) { lastReport = now }

    /// Whether to keep a path that is given up now.
    func isGiven(at now: MediaTime) -> Bool {
        if let lastKept, now - lastKept < PathConsent.minimumConsent { return false }
        if let lastReport { return now - lastReport < PathConsent.reportTimeout }
        guard let firstMissing = firstMissing(at: now) else { return true }
        return now - firstMissing < PathConsent.maximumKeeping
    }

    mutating func didKeep(at now: MediaTime) {
        firstMissing = firstMissing(at: now) ?? now
        lastKept = now
    }

    private func firstMissing(at now: MediaTime) -> MediaTime? {
        guard let lastKept, now - lastKept < PathConsent.maximumWait else { return nil }
        return firstMissing
    }
}
