import CaptureCore
import HTTPTransport

/// An error of the signalling with a WHIP endpoint or Janus.
package typealias SignallingError = MediaError<SignallingErrorCode>

/// What can fail before media flows, and what ends a session from the server's side.
package enum SignallingErrorCode: String, MediaErrorCode {
    /// An address, a token or another setting is wrong.
    case invalidConfiguration
    /// There is no such endpoint, room or name.
    case notFound
    /// The token, pin or secret is missing or wrong.
    case unauthorized
    /// The endpoint has a publisher, or the room is full.
    case busy
    /// The server does not take the offer.
    case offerRefused
    /// The server's certificate is not trusted, or the connection would not be encrypted.
    case untrusted
    /// The server cannot be reached, or does not answer.
    case unreachable
    /// The server has failed.
    case serverFailed
    /// The answer is against the protocol.
    case invalidAnswer
    /// The server has ended the session.
    case ended
    /// The caller has ended the request.
    case cancelled

    package var category: ErrorCategory {
        switch self {
        case .invalidConfiguration: .usage
        case .notFound: .notFound
        case .unauthorized, .untrusted: .noPermission
        case .busy: .busy
        case .offerRefused: .unsupported
        case .unreachable, .ended: .disconnected
        case .serverFailed: .unavailable
        case .invalidAnswer: .invalidData
        case .cancelled: .interrupted
        }
    }

    /// Whether another attempt with the same settings may succeed.
    package var mayRecover: Bool {
        switch self {
        case .busy, .unreachable, .serverFailed, .ended, .invalidAnswer: true
        case .invalidConfiguration, .notFound, .unauthorized, .offerRefused, .untrusted, .cancelled: false
        }
    }
}

extension MediaError where Kind == SignallingErrorCode {
    /// Of a request without a response.
    package init(_ failure: HTTPFailure, operation: String, subject: String) {
        let code: SignallingErrorCode =
            switch failure.kind {
            case .cancelled: .cancelled
            case .unreachable, .timedOut, .noTLS: .unreachable
            case .untrusted, .plainRefused: .untrusted
            case .badRedirect, .setup: .invalidConfiguration
            case .badResponse: .invalidAnswer
            }
        self.init(code, operation: operation, subject: subject, errno: failure.systemError, message: failure.message)
    }
}

/// Where a server of signalling is, and how it is reached.
package struct SignallingServer: Sendable {
    package var address: HTTPAddress
    /// Sent as `Authorization: Bearer`, to this server only; nil for none.
    package var token: String?
    package var trust = HTTPServerTrust.verified
    /// The timeout of one request.
    package var timeout = Duration.seconds(10)
    /// Whether http may lead to other machines: offers carry the keys' fingerprints, and requests the token, for all on the
    /// network to read and change.
    package var allowsPlainHTTP: Bool

    /// - Parameters:
    ///   - url: http or https. A name and a password in it are refused, since WHIP and Janus know none.
    ///   - token: of visible ASCII characters.
    ///   - allowsPlainHTTP: whether http is allowed to machines other than this one.
    /// - Throws: `invalidConfiguration`, or `untrusted` for http to another machine that was not allowed.
    package init(_ url: String, token: String? = nil, allowsPlainHTTP: Bool = false) throws(SignallingError) {
        let operation = "read the server's address"
        do {
            address = try HTTPAddress(url)
        } catch {
            throw SignallingError(
                .invalidConfiguration, operation: operation,
                message: "The server's address cannot be read; write https://host:port/path, with special characters "
                    + "percent-encoded.")
        }
        guard address.credential == nil else {
            throw SignallingError(
                .invalidConfiguration, operation: operation, subject: address.displayName,
                message: "The server takes no user name and password in the address; give a token instead.")
        }
        let isHeader = token?.utf8.allSatisfy { (0x21...0x7E).contains($0) } ?? true
        guard isHeader, token.map({ (1...8192).contains($0.utf8.count) }) ?? true else {
            throw SignallingError(
                .invalidConfiguration, operation: "read the token", subject: address.displayName,
                message: token?.lowercased().hasPrefix("bearer ") == true
                    ? "The token begins with the word Bearer, which is put before it automatically; give the token alone."
                    : "The token has blanks or characters that no header can carry; give it without line ends.")
        }
        guard allowsPlainHTTP || address.isSecure || address.isLoopback else {
            throw SignallingError(
                .untrusted, operation: operation, subject: address.displayName,
                message: "http shows the token and the keys' fingerprints to the network; give an https address, or "
                    + "allow plain http (allowsPlainHTTP; --plain-http of the tool).")
        }
        self.token = token
        self.allowsPlainHTTP = allowsPlainHTTP
    }

    /// A request to this server.
    func request(_ method: String, _ address: HTTPAddress) -> HTTPRequest {
        var request = HTTPRequest(address: address)
        request.method = method
        request.trust = trust
        request.bearerToken = token
        request.allowsPlainHTTP = allowsPlainHTTP
        request.maximumRedirects = 5
        request.timeout = timeout
        request.connectTimeout = min(timeout, .seconds(10))
        request.bufferSize = 16 * 1024
        return request
    }
}
