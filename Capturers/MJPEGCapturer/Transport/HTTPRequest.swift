import VideoCapturing

/// What is asked of a server, and how.
struct HTTPRequest {
    var address: StreamAddress
    var credential: MJPEGCredential?
    var configuration: MJPEGCapturerConfiguration
    /// Whether the answer is one picture as far as is known. The lengths that servers state for streams are not to be
    /// believed: `Content-Length: 9999999`.
    var isPicture = false
}
