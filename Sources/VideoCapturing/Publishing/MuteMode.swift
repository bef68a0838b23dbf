/// What a muted publisher sends in place of the pictures.
public enum MuteMode: String, Sendable, Hashable, CaseIterable {
    /// Black pictures of the same size, format, colour and timestamps.
    case black
    /// The last picture before the mute, again and again; black when there was none.
    case holdLast
}
