import CLibCURL
import CaptureCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Requests whose whole response is wanted, as those of an API. Each has a connection of its own and blocks its thread;
/// several may run at a time, on any threads.
package final class HTTPClient: Sendable {
    /// A response with any status.
    package struct Response: Sendable {
        package var status: Int
        /// As in `404 Not Found`.
        package var statusText: String
        /// Its address after redirects.
        package var address: HTTPAddress
        /// The type, as in `application/sdp`, in lower case; empty without one.
        package var contentType: String
        package var body: [UInt8]
        fileprivate var fields: [(name: String, value: [UInt8])]

        /// The values of a header, in order.
        package func values(_ lowercaseName: String) -> [String] {
            fields.filter { $0.name == lowercaseName }.map { String(decoding: $0.value, as: UTF8.self) }
        }

        package var isSuccess: Bool { (200..<300).contains(status) }

        /// The delay that the server asks for by `Retry-After`; nil without one, or where it is stated as a date.
        package var retryAfter: Duration? {
            values("retry-after").first.flatMap { ASCII.number(Array($0.utf8)[...]) }.map { .seconds(min($0, 86_400)) }
        }
    }

    private let interrupt = WaitEnd()
    private let maximumBodyBytes: Int

    /// - Parameter maximumBodyBytes: of a response; a larger one is refused.
    package init(maximumBodyBytes: Int = 64 * 1024) { self.maximumBodyBytes = maximumBodyBytes }

    /// Ends all requests, those to come too. From any thread.
    package func cancel() { interrupt.raise() }

    /// Whether ``cancel()`` was called.
    package var isCancelled: Bool { interrupt.event.isRaised }

    /// Sends a request and waits for the response.
    ///
    /// - Throws: where there is no response, or none that is within the limits.
    package func perform(_ request: HTTPRequest) throws(HTTPFailure) -> Response {
        try withoutBrokenPipes { () throws(HTTPFailure) in try transfer(request) }
    }

    private func transfer(_ request: HTTPRequest) throws(HTTPFailure) -> Response {
        guard request.allowsPlainHTTP || request.address.isSecure || request.address.isLoopback else {
            throw .plain(printable(request.address.host, limit: 120))
        }
        let transfer: HTTPTransfer
        var request = request
        request.collectsFields = true
        var body: [UInt8] = []
        var isTooLong = false
        do {
            transfer = try HTTPTransfer()
            transfer.onBody = { [maximumBodyBytes] bytes in
                isTooLong = body.count + bytes.count > maximumBodyBytes
                if !isTooLong { body += bytes }
                return !isTooLong
            }
            try transfer.begin(request)
        } catch {
            throw HTTPFailure(.setup, "\(error.message)")
        }
        defer {
            transfer.end()
            transfer.onBody = { _ in false }
        }
        while transfer.result == nil {
            guard !isCancelled else { throw HTTPFailure(.cancelled, "The request was cancelled; send it again.") }
            transfer.work()
            transfer.wait(atMost: .seconds(1), stop: interrupt.descriptor)
        }
        guard !isTooLong else {
            throw HTTPFailure(
                .badResponse,
                "The response is larger than \(maximumBodyBytes / 1024) KiB; check the address and the port.")
        }
        guard transfer.result == CURLE_OK else { throw HTTPFailure(transfer, request) }
        guard transfer.head.status != 0 else {
            throw HTTPFailure(.badResponse, "The server does not speak HTTP at this port; check the port.")
        }
        return Response(
            status: transfer.head.status, statusText: transfer.head.statusText,
            address: transfer.currentAddress ?? request.address, contentType: transfer.head.contentType?.name ?? "",
            body: body, fields: transfer.head.fields)
    }
}

/// Runs `body` on a thread where a broken connection must not end the program: OpenSSL writes without `MSG_NOSIGNAL`.
private func withoutBrokenPipes<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
    var broken = sigset_t()
    var before = sigset_t()
    var pending = sigset_t()
    sigemptyset(&broken)
    sigaddset(&broken, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &broken, &before)
    sigpending(&pending)
    let wasPending = sigismember(&pending, SIGPIPE) == 1
    defer {
        var none = timespec()
        if !wasPending { while sigtimedwait(&broken, nil, &none) < 0, errno == EINTR {} }
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
    return try body()
}
