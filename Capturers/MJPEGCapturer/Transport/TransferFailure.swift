import CLibCURL
import HTTPTransport
import VideoCapturing

/// Maps failures of a transfer to errors for the user, with the next step.
struct TransferFailure {
    let address: HTTPAddress

    func error(_ code: CaptureError.Code, _ message: String, errno: Int32? = nil) -> CaptureError {
        CaptureError(
            code, operation: "read the stream", subject: address.displayName, errno: errno, message: message)
    }

    /// Whether a redirect led to a host other than that of the address.
    func isElsewhere(_ transfer: HTTPTransfer) -> Bool {
        transfer.currentAddress.map { !$0.isSameServer(as: address) } ?? false
    }

    /// The error for a response that is neither a stream nor an image; nil for one that may be.
    func refusal(of transfer: HTTPTransfer, hadCredential: Bool) -> CaptureError? {
        let head = transfer.head
        switch head.status {
        case 0, 200: return contentRefusal(head.contentType)
        case 401: return error(.permissionDenied, passwordAdvice(transfer, hadCredential))
        case 403:
            return error(
                .permissionDenied,
                "The server does not allow this (\(head.statusText)); check the user's rights and the path.")
        case 404, 410:
            return error(
                .deviceNotFound,
                "There is nothing at this address (\(head.statusText)); check its path. That of a camera's stream is in the "
                    + "camera's manual.")
        case 407:
            return error(
                .permissionDenied,
                "The proxy asks for a password (\(head.statusText)); give it in the proxy's address.")
        case 503, 429:
            return error(
                .deviceBusy,
                "The server can serve no more viewers now (\(head.statusText)); close others, or try again later.")
        case 500...599:
            return error(
                .unavailable, "The server has failed (\(head.statusText)); restart the camera, or try again later.")
        case 300...399:
            return error(
                .formatUnsupported, "The server redirects to nowhere (\(head.statusText)); check the address.")
        default:
            return error(
                .formatUnsupported,
                "The server does not answer with a stream (\(head.statusText)); check the path and its parameters.")
        }
    }

    private func contentRefusal(_ type: ContentType?) -> CaptureError? {
        guard let type, !type.isMultipart, !type.isPicture, !type.isVague else { return nil }
        let advice =
            if type.name == "text/html" {
                "this is a page: give the address of the stream that it shows, such as /video, /stream or /?action=stream."
            } else if type.name.hasPrefix("video/") {
                "a film is read from a file: save it, as with curl -O, and give its name."
            } else {
                "give the address of the camera's MJPEG stream."
            }
        return error(.formatUnsupported, "The address gives \(type.name.prefix(60)), not MJPEG; \(advice)")
    }

    private func passwordAdvice(_ transfer: HTTPTransfer, _ hadCredential: Bool) -> String {
        let head = transfer.head
        if isElsewhere(transfer), let origin = transfer.currentAddress?.origin {
            return
                "The server redirects to \(origin), which asks for a user name and a password; they are sent to "
                + "\(address.host) only. Give the address there."
        }
        if head.challenges.best == nil, !head.challenges.names.isEmpty {
            return
                "The server asks for a password by \(head.challenges.names.prefix(60)), which is not supported; allow "
                + "Digest or Basic there."
        }
        return hadCredential
            ? "The server refuses the user name or the password; check both."
            : "The server asks for a user name and a password; give them in the configuration, or in the address before "
                + "the host, as user:password@."
    }

    /// The error for a failure of curl.
    func failure(_ result: CURLcode, of transfer: HTTPTransfer) -> CaptureError {
        let host = transfer.currentAddress?.host ?? address.host
        let text = transfer.failureText
        guard !transfer.isHeadTooLong else {
            return error(
                .formatUnsupported,
                "The server's answer begins with more than 64 KB of headers; check the address and the port.")
        }
        switch result {
        case CURLE_URL_MALFORMAT:
            return error(.invalidConfiguration, "The address cannot be read (\(text)); check it.")
        case CURLE_COULDNT_RESOLVE_HOST:
            return error(.deviceNotFound, "The name \(host) is not known; check it, or give the camera's IP address.")
        case CURLE_COULDNT_RESOLVE_PROXY:
            return error(
                .deviceNotFound,
                "The proxy's name is not known; check the proxy in the configuration or in the environment.")
        case CURLE_COULDNT_CONNECT:
            return error(
                .deviceNotFound,
                "\(host) cannot be reached; check the host and the port, and that the server or camera is on.",
                errno: transfer.systemError)
        case CURLE_OPERATION_TIMEDOUT:
            return error(
                .stalled, "\(host) did not answer in time; check that the server or camera is on and reachable.")
        case CURLE_TOO_MANY_REDIRECTS where transfer.head.status == 401:
            // A new nonce with each answer; curl counts them as redirects.
            return error(
                .permissionDenied,
                "The server refuses the login: it asks for it again after each answer. Check the user name and the "
                    + "password, or allow Basic there.")
        case CURLE_TOO_MANY_REDIRECTS:
            return error(
                .invalidConfiguration, "The server redirects without end; give the address where the stream is.")
        case CURLE_UNSUPPORTED_PROTOCOL:
            return error(
                .formatUnsupported,
                address.isSecure
                    ? "The server redirects to an address that is not https; give the address where the stream is."
                    : "The server redirects to an address that is not http; give the address where the stream is.")
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR:
            return error(
                .permissionDenied,
                "The server's certificate is not trusted (\(text)); pin its key, name its authority's file, or accept any "
                    + "certificate where no one can intercept the connection.")
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return error(
                .permissionDenied,
                "The server's key is not the pinned one: it is another server, or somebody is on the way. Renew the pin "
                    + "only if the camera's key was changed.")
        case CURLE_SSL_CACERT_BADFILE:
            return error(.invalidConfiguration, "The file of authorities cannot be read; give a PEM file.")
        case CURLE_SSL_CONNECT_ERROR:
            return error(
                .formatUnsupported,
                "TLS cannot be agreed upon (\(text)); check that the port is for https, and the camera's firmware is not "
                    + "too old.")
        case CURLE_GOT_NOTHING:
            return error(.deviceLost, "The server hung up without an answer; check the port, and try again.")
        case CURLE_WEIRD_SERVER_REPLY:
            return error(.formatUnsupported, "The server does not speak HTTP (\(text)); check the port.")
        case CURLE_OUT_OF_MEMORY:
            return error(.outOfMemory, "The machine has no memory left; close other programs.")
        default:
            return error(.deviceLost, "The connection was lost (\(text)); check the network.")
        }
    }
}
