import CLibCURL
import CaptureCore

/// Why there is no response to a request. Without any part of the request that may be secret.
package struct HTTPFailure: Error, Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// The request was cancelled.
        case cancelled
        /// The name is unknown, or the host cannot be reached, or the connection was lost.
        case unreachable
        /// There was no response in time.
        case timedOut
        /// The certificate is not trusted, or the pinned key is another.
        case untrusted
        /// TLS cannot be agreed upon.
        case noTLS
        /// The server redirects in a ring, to no http, or from https to http.
        case badRedirect
        /// The address is of another machine, without TLS, which was not allowed.
        case plainRefused
        /// The response is not HTTP, or too large.
        case badResponse
        /// The request cannot be sent: its settings are wrong, or there is no memory.
        case setup
    }

    package var kind: Kind
    /// A sentence for the user, with the next step.
    package var message: String
    package var systemError: Int32?

    package init(_ kind: Kind, _ message: String, errno: Int32? = nil) {
        self.kind = kind
        self.message = message
        systemError = errno
    }

    static func plain(_ host: String) -> HTTPFailure {
        HTTPFailure(
            .plainRefused,
            "\(host) is another machine, and http shows everything to the network; give an https address, or allow plain "
                + "http.")
    }

    /// Of a transfer that curl has ended.
    init(_ transfer: HTTPTransfer, _ request: HTTPRequest) {
        let host = printable(transfer.currentAddress?.host ?? request.address.host, limit: 120)
        let text = printable(transfer.failureText, limit: 200)
        guard !transfer.isPlainRefused else {
            self = .plain(host)
            return
        }
        guard !transfer.isHeadTooLong else {
            self.init(
                .badResponse, "The response begins with more than 64 KB of headers; check the address and the port.")
            return
        }
        switch transfer.result ?? CURLE_FAILED_INIT {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            self.init(.unreachable, "The name \(host) is not known; check it and the network.")
        case CURLE_COULDNT_CONNECT:
            self.init(
                .unreachable, "\(host) cannot be reached; check the address, the port and the network.",
                errno: transfer.systemError)
        case CURLE_OPERATION_TIMEDOUT:
            self.init(.timedOut, "\(host) did not answer in time; check that the server runs and can be reached.")
        case CURLE_TOO_MANY_REDIRECTS:
            self.init(
                .badRedirect,
                "The server redirects more than \(request.maximumRedirects) times; give the address that it leads to.")
        // A redirect, or a response without a head.
        case CURLE_UNSUPPORTED_PROTOCOL where (300..<400).contains(transfer.head.status):
            self.init(
                .badRedirect,
                "The server redirects to an address that is not http, or from https to http; give the address that it "
                    + "leads to.")
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR:
            self.init(
                .untrusted,
                "The server's certificate is not trusted (\(text)); name the file of its authority, or pin its key.")
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            self.init(.untrusted, "The server's key is not the pinned one; renew the pin if the key was changed.")
        case CURLE_SSL_CACERT_BADFILE:
            self.init(.setup, "The file of authorities cannot be read; give a PEM file.")
        case CURLE_SSL_CONNECT_ERROR:
            self.init(.noTLS, "TLS cannot be agreed upon (\(text)); check that the port is for https.")
        case CURLE_GOT_NOTHING:
            self.init(.unreachable, "\(host) hung up without an answer; check the port, and try again.")
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING:
            self.init(.badResponse, "\(host) does not speak HTTP at this port; check the port.")
        case CURLE_URL_MALFORMAT, CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT:
            self.init(.setup, "The request cannot be sent (\(text)); check the address.")
        default:
            self.init(
                .unreachable, "The connection to \(host) was lost (\(text)); check the network.",
                errno: transfer.systemError)
        }
    }
}
