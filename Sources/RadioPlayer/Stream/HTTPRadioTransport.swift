import AudioCapturing
import CLibCURL
import HTTPTransport

/// Radio over HTTP and HTTPS, and the SHOUTcast 1 protocol that only looks like it (`ICY 200 OK`).
package final class HTTPRadioTransport: RadioTransport {
    package var onBody: (UnsafeRawBufferPointer) -> Bool = { _ in false }
    package var bodyRoom: () -> Int = { .max }
    package private(set) var end: TransferEnd?

    private let configuration: RadioConfiguration
    private let transfer: HTTPTransfer
    private var request: RadioRequest?
    /// Whether there is a request that was not cancelled.
    private var isActive = false
    private var leniency = HTTPRequest.Leniency.none
    /// The body began without a head that curl can read.
    private var lacksHead = false

    /// Small, so that little more than what there is room for is taken.
    private static let bufferSize: UInt64 = 16 * 1024

    /// - Parameter configuration: how the radio is received.
    package init(_ configuration: RadioConfiguration) throws(RadioError) {
        self.configuration = configuration
        do {
            transfer = try HTTPTransfer()
        } catch {
            throw RadioError(.playerFailed, operation: error.operation, message: error.message)
        }
    }

    package var isConnected: Bool { transfer.isConnected }
    package var isBodyHeld: Bool { transfer.isBodyHeld }
    package var bytesReceived: UInt64 { transfer.bytesReceived }

    package var response: RadioResponse {
        let head = transfer.head
        var response = RadioResponse()
        response.status = head.status
        response.statusText = head.statusText
        response.contentType = head.contentType?.name ?? ""
        response.contentLength = head.contentLength.map { Int64($0) }
        response.fields = head.fields
        response.address = transfer.currentAddress
        response.asksForLogin = head.status == 401 && request?.credential == nil
        return response
    }

    package func begin(_ request: RadioRequest) throws(RadioError) {
        self.request = request
        leniency = .none
        try begin()
    }

    private func begin() throws(RadioError) {
        guard let request else { return }
        end = nil
        isActive = true
        lacksHead = false
        var http = HTTPRequest(address: request.address)
        http.credential = request.credential
        // The server of an https address may send to http, as a playlist may name it; the login is not sent there.
        http.mayLeaveTLS = true
        http.trust = configuration.trust
        http.connectTimeout = configuration.connectTimeout
        http.userAgent = configuration.userAgent
        http.proxy = configuration.proxy
        http.headerLines = ["Icy-MetaData: \(request.wantsMetadata ? 1 : 0)", "Accept-Encoding: identity"]
        if request.offset > 0 { http.headerLines.append("Range: bytes=\(request.offset)-") }
        http.collectsFields = true
        http.bufferSize = HTTPRadioTransport.bufferSize
        http.leniency = leniency
        transfer.bodyRoom = { [unowned self] in bodyRoom() }
        transfer.onBody = { [unowned self] bytes in
            if leniency == .none, transfer.head.status == 0 {
                lacksHead = true
                return false
            }
            return onBody(bytes)
        }
        do {
            try transfer.begin(http)
        } catch {
            throw RadioError(.playerFailed, operation: error.operation, message: error.message)
        }
    }

    package func cancel() {
        isActive = false
        transfer.end()
    }

    package func work() {
        guard end == nil else { return }
        transfer.work()
        adoptResult()
    }

    package func resumeBody() {
        guard end == nil, transfer.isBodyHeld else { return }
        transfer.resumeBody()
        transfer.work()
        adoptResult()
    }

    package func wait(until deadline: MediaTime, stop: Int32, event: ManualResetEvent?) {
        let now = MonotonicClock().now
        guard now < deadline else { return }
        guard isActive, transfer.result == nil, end == nil else {
            _ = pollInput(stop, interruptedBy: -1, until: deadline)
            return
        }
        transfer.wait(atMost: deadline - now, stop: stop)
    }

    private func adoptResult() {
        guard let result = transfer.result else { return }
        let isUnreadable = lacksHead || [CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL].contains(result)
        if isUnreadable, leniency == .none, !transfer.isHeadTooLong, result != CURLE_UNSUPPORTED_PROTOCOL {
            leniency = request?.credential == nil ? .lenient : .lenientWithCredential
            do throws(RadioError) { try begin() } catch { end = .failed(error) }
            return
        }
        end = result == CURLE_OK ? .complete : .failed(failure(result))
    }

    /// The error for a failure of curl.
    private func failure(_ result: CURLcode) -> RadioError {
        let host = transfer.currentAddress?.host ?? request?.address.host ?? ""
        let text = transfer.failureText
        func error(_ code: RadioErrorCode, _ message: String, errno: Int32? = nil) -> RadioError {
            RadioError(
                code, operation: "receive the radio", subject: request?.address.displayName, errno: errno,
                message: message)
        }
        guard !transfer.isHeadTooLong else {
            return error(
                .streamParseFailed, "The answer begins with more than 64 KB of headers; check the address and the port."
            )
        }
        switch result {
        case CURLE_URL_MALFORMAT:
            return error(.invalidConfiguration, "The address cannot be read (\(text)); check it.")
        case CURLE_COULDNT_RESOLVE_HOST:
            return error(.networkConnectionFailed, "The name \(host) is not known; check it and the network.")
        case CURLE_COULDNT_RESOLVE_PROXY:
            return error(.networkConnectionFailed, "The proxy's name is not known; check the proxy.")
        case CURLE_COULDNT_CONNECT:
            return error(
                .networkConnectionFailed, "\(host) cannot be reached; check the address, the port and the network.",
                errno: transfer.systemError)
        case CURLE_OPERATION_TIMEDOUT:
            return error(.networkConnectionFailed, "\(host) did not answer in time; check the address and the network.")
        case CURLE_TOO_MANY_REDIRECTS where transfer.head.status == 401:
            return error(.permissionDenied, "The server refuses the login; check the user name and the password.")
        case CURLE_TOO_MANY_REDIRECTS:
            return error(
                .streamUnsupported, "The server redirects without end; give the address where the stream is.")
        case CURLE_UNSUPPORTED_PROTOCOL:
            return error(
                .streamUnsupported,
                "The server redirects to an address that is not http; give the address where the stream is.")
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR:
            return error(
                .permissionDenied,
                "The server's certificate is not trusted (\(text)); name its authority's file, or another address.")
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return error(.permissionDenied, "The server's key is not the pinned one; renew the pin if it was changed.")
        case CURLE_SSL_CACERT_BADFILE:
            return error(.invalidConfiguration, "The file of authorities cannot be read; give a PEM file.")
        case CURLE_SSL_CONNECT_ERROR:
            return error(
                .networkConnectionFailed, "TLS cannot be agreed upon (\(text)); check that the port is for https.")
        case CURLE_GOT_NOTHING:
            return error(.networkConnectionFailed, "The server hung up without an answer; check the port.")
        case CURLE_WEIRD_SERVER_REPLY:
            return error(.streamParseFailed, "The server does not speak HTTP (\(text)); check the port.")
        case CURLE_OUT_OF_MEMORY:
            return error(.playerFailed, "The machine has no memory left; close other programs.")
        default: return error(.networkConnectionFailed, "The connection was lost (\(text)); check the network.")
        }
    }
}
