import VideoCapturing

/// One connection, or in polling one row of requests, from its beginning to its loss.
struct StreamConnection {
    enum Phase: Hashable {
        /// No byte of a body has come yet.
        case waiting
        /// Parts, or pictures in a row.
        case stream
        /// One picture; the next must be asked for.
        case picture
    }

    var phase = Phase.waiting
    var parser: MultipartParser?
    /// By the machine's clock: when the request was made, when the last bytes came, and the last picture.
    let began: MediaTime
    var lastByte: MediaTime
    var lastPicture: MediaTime
    /// Pictures that have come, and when.
    var pictureCount = 0
    /// Why what came is no stream.
    var refusal: CaptureError?
    /// By the capture's clock: when the last request was made.
    var requested: MediaTime

    init(began: MediaTime, requested: MediaTime) {
        self.began = began
        self.requested = requested
        lastByte = began
        lastPicture = began
    }
}
