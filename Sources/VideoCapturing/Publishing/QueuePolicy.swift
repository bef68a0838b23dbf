/// What a full queue does with the next frame.
public enum QueuePolicy: String, Sendable, Hashable, CaseIterable {
    /// The oldest waiting frame makes room: for live viewers, who want the present.
    case dropOldest
    /// The new frame is turned away: for consumers that must work through what they have begun.
    case dropNewest
    /// The producer waits for room: for files, which want every frame. The only policy that can slow a
    /// capture down. A queue with a ``FrameQueue/timeout`` waits only for a consumer that makes progress.
    case block
}
