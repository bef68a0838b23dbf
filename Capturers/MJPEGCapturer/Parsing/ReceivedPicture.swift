import VideoCapturing

/// A whole JPEG picture, as it came.
struct ReceivedPicture {
    /// Its bytes.
    let block: JPEGBlock
    /// When the server says that it sent it, since 1970 by the server's clock.
    var serverTime: Duration?
    /// What was left out since the picture before.
    var losses = StreamLosses()
    /// When its last byte came. Set by the source, since the parser has no clock.
    var arrival = MediaTime.zero
    /// How long it had been under way then, by the wall clock; where that is known.
    var delay: Duration?
}

/// Pictures that came and cannot be delivered.
struct StreamLosses: Hashable {
    /// Cut off, or no JPEG at all.
    var damaged: UInt64 = 0
    /// Of more bytes than are allowed.
    var oversized: UInt64 = 0
    /// Left out since newer ones were there already.
    var skipped: UInt64 = 0

    static func += (left: inout StreamLosses, right: StreamLosses) {
        left.damaged &+= right.damaged
        left.oversized &+= right.oversized
        left.skipped &+= right.skipped
    }
}
