import VideoCapturing

/// One connection, or in polling one row of requests, from its beginning to its loss. Belongs to the capture thread; not
/// checked for overlapping accesses, as in ``MJPEGSource``.
final class StreamConnection {
    enum Phase: Hashable {
        /// No byte of a body has come yet.
        case waiting
        /// Parts, or pictures in a row.
        case stream
        /// One picture; the next must be asked for.
        case picture
    }

    @exclusivity(unchecked) var phase = Phase.waiting
    @exclusivity(unchecked) var parser: MultipartParser?
    /// By the machine's clock: when the request was made, when the last bytes came, and the last picture.
    let began: MediaTime
    @exclusivity(unchecked) var lastByte: MediaTime
    @exclusivity(unchecked) var lastPicture: MediaTime
    /// Pictures that have come, and when.
    @exclusivity(unchecked) var pictureCount = 0
    /// Why what came is no stream.
    @exclusivity(unchecked) var refusal: CaptureError?
    /// By the capture's clock: when the last request was made.
    @exclusivity(unchecked) var requested: MediaTime

    init(began: MediaTime, requested: MediaTime) {
        self.began = began
        self.requested = requested
        lastByte = began
        lastPicture = began
    }
}
