import VideoCapturing

/// What is asked of a server, and how.
struct HTTPRequest {
    /// How the head of the answer is read.
    enum Leniency: Hashable {
        /// By curl, which refuses lines without a colon and the like.
        case none
        /// By ``HTTPResponseHead`` alone; curl sees to the connection. The name and password are told by Basic, if so.
        case lenient, lenientWithCredential
    }

    var address: StreamAddress
    var credential: MJPEGCredential?
    var configuration: MJPEGCapturerConfiguration
    /// Whether the answer is one picture as far as is known. The lengths that servers state for streams are not to be
    /// believed: `Content-Length: 9999999`.
    var isPicture = false
    var leniency = Leniency.none
}

extension HTTPRequest {
    /// The request as it is sent. By HTTP/1.0, so that the body comes as it is.
    var text: String {
        let target = address.requestURL.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" && $0 != "?" }
        var text = "GET \(target.hasPrefix("/") ? "" : "/")\(target) HTTP/1.0\r\nHost: \(address.host)\r\n"
        text += "User-Agent: \(configuration.userAgent)\r\nAccept: */*\r\nConnection: close\r\n"
        if leniency == .lenientWithCredential, let credential {
            text += "Authorization: Basic \(Base64.encode(Array("\(credential.user):\(credential.password)".utf8)))\r\n"
        }
        return text + "\r\n"
    }
}
