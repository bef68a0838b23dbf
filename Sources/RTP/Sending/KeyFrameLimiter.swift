import CaptureCore

/// Limits key frames that receivers ask for to one in a while, however many ask: one for each encoder.
///
/// A request that is too soon is passed on later, unless a key frame has come meanwhile. A value for one thread at a time.
package struct KeyFrameLimiter: Sendable {
    /// The shortest time between two requests.
    package let interval: Duration
    /// When a request that was too soon is due; nil for none.
    package private(set) var due: MediaTime?
    private var last: MediaTime?

    /// - Parameter interval: the shortest time between two requests.
    package init(interval: Duration = .milliseconds(300)) { self.interval = interval }

    /// Takes a request of a receiver; true to ask the encoder now.
    package mutating func request(at now: MediaTime) -> Bool {
        if let last, now < last.advanced(by: interval) {
            due = last.advanced(by: interval)
            return false
        }
        last = now
        due = nil
        return true
    }

    /// True when a request that was too soon is due: ask the encoder now.
    package mutating func takeDue(at now: MediaTime) -> Bool {
        guard let due, now >= due else { return false }
        self.due = nil
        last = now
        return true
    }

    /// A key frame was sent: earlier requests are answered.
    package mutating func didSendKeyFrame() { due = nil }
}
