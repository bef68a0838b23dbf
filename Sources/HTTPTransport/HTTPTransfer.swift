import CLibCURL
import CaptureCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One request after the other by libcurl, on the thread that calls ``work()``. The thread must have SIGPIPE blocked, as
/// capture threads have: OpenSSL writes without `MSG_NOSIGNAL`.
///
/// curl handles connections, TLS, proxies, redirects, passwords and chunks; body bytes are passed to ``onBody`` as they
/// arrive, until they are received directly.
package final class HTTPTransfer {
    /// Called with bytes of the body; false ends the transfer.
    package var onBody: (UnsafeRawBufferPointer) -> Bool = { _ in false }

    /// The number of bytes of the body that are wanted now; ``onBody`` is not called with more. What is not wanted is left
    /// with the server, by TCP, until ``resumeBody()``. Nil for no limit.
    package var bodyRoom: (() -> Int)?
    /// Whether bytes of the body wait for ``resumeBody()``.
    package private(set) var isBodyHeld = false

    /// The head of the last response.
    package var head = HTTPResponseHead()
    /// The result of the transfer; nil while it runs.
    package var result: CURLcode?
    /// Whether a server has been connected to.
    package var isConnected = false
    /// Whether TLS is used, after all redirects.
    package private(set) var isEncrypted = false
    /// Whether both ends are on the same machine, and so use the same clock.
    package private(set) var isOnThisMachine = false
    /// Bytes of heads and bodies received, of all transfers.
    package var bytesReceived: UInt64 = 0

    /// Whether the transfer was ended because it would have led to another machine without TLS.
    package private(set) var isPlainRefused = false
    private var allowsPlainHTTP = true

    /// Whether the transfer was ended because a head was too long.
    package private(set) var isHeadTooLong = false

    let easy: UnsafeMutableRawPointer
    let multi: UnsafeMutableRawPointer
    let errorText: UnsafeMutablePointer<CChar>
    private var aliases: UnsafeMutablePointer<curl_slist>?
    private var headerLines: UnsafeMutablePointer<curl_slist>?
    private var isActive = false
    /// The received bytes of the current head.
    private var headBytes = 0
    /// Whether the body ends with the connection, whatever length is stated.
    private(set) var ignoresLength = false
    /// The size of the receive buffer of the request.
    private(set) var receiveBufferSize = HTTPTransfer.bufferSize
    /// The exchange that bypasses curl's parser of heads; nil with it.
    var exchange: LenientExchange?
    /// The socket from which the body is received without curl; -1 for none. See ``receiveDirectly()``.
    package private(set) var bodySocket: Int32 = -1
    /// The port of this end of the connection; 0 before there is one.
    private(set) var ownPort: Int32 = 0
    private(set) var mayHaveProxy = false

    /// The size of curl's receive buffer.
    package static let bufferSize: UInt64 = 128 * 1024
    /// The limit of the heads of one response; more is an attack.
    static let maximumHeadBytes = 64 * 1024

    package init() throws(CaptureError) {
        guard isLibraryReady, let easy = curl_easy_init() else { throw HTTPTransfer.noMemory }
        guard let multi = curl_multi_init() else {
            curl_easy_cleanup(easy)
            throw HTTPTransfer.noMemory
        }
        self.easy = easy
        self.multi = multi
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        aliases = curl_slist_append(nil, "ICY 200 OK")
        // Kept alive for the next request, for polling.
        _ = curl_shim_set_multi_long(multi, CURLMOPT_MAXCONNECTS, 1)
    }

    deinit {
        end()
        curl_easy_cleanup(easy)
        curl_multi_cleanup(multi)
        curl_slist_free_all(aliases)
        curl_slist_free_all(headerLines)
        errorText.deallocate()
    }

    /// Begins a request; cancels a running one.
    package func begin(_ request: HTTPRequest) throws(CaptureError) {
        end()
        head = HTTPResponseHead(collectsFields: request.collectsFields)
        isBodyHeld = false
        receiveBufferSize = request.bufferSize
        result = nil
        isConnected = false
        isEncrypted = request.address.isSecure
        isOnThisMachine = false
        ownPort = 0
        headBytes = 0
        isHeadTooLong = false
        isPlainRefused = false
        allowsPlainHTTP = request.allowsPlainHTTP
        errorText[0] = 0
        curl_easy_reset(easy)
        try set(request)
        // Applied at the status line of each response.
        ignoresLength = request.ignoresLength
        exchange = request.leniency == .none ? nil : LenientExchange(request: Array(request.text.utf8))
        guard curl_multi_add_handle(multi, easy) == CURLM_OK else { throw HTTPTransfer.noMemory }
        isActive = true
    }

    /// Cancels the running request. No callback follows.
    package func end() {
        guard isActive else { return }
        isActive = false
        bodySocket = -1
        curl_multi_remove_handle(multi, easy)
    }

    /// Lets curl process what has arrived, without waiting.
    package func work() {
        guard isActive, result == nil, bodySocket < 0 else { return }
        if exchange?.isConnected == true { return receive() }
        var running: Int32 = 0
        let failure = curl_multi_perform(multi, &running)
        if failure != CURLM_OK { result = CURLE_FAILED_INIT }
        var taken = CURLE_OK
        if curl_shim_take_result(multi, &taken) != 0 { result = taken }
        if exchange != nil, result == CURLE_OK { sendRequest() }
    }

    /// Waits until something has arrived, `stop` is readable, or the time has elapsed.
    package func wait(atMost limit: Duration, stop: Int32) {
        guard isActive, result == nil else { return }
        // Without a descriptor for the stop, the caller polls it.
        let limit = stop < 0 ? min(limit, .milliseconds(50)) : limit
        if bodySocket >= 0 {
            _ = pollInput(bodySocket, interruptedBy: stop, until: MonotonicClock().now.advanced(by: limit))
            return
        }
        // Rounded up, so as not to spin through the last millisecond.
        let milliseconds = Int32(clamping: max(0, limit.nanoseconds + 999_999) / 1_000_000)
        let others = (stop, isBodyHeld ? -1 : exchange?.socket ?? -1)
        // Not an array, which would be an allocation per wait.
        var extra = (
            curl_waitfd(fd: others.0, events: Int16(CURL_WAIT_POLLIN), revents: 0),
            curl_waitfd(fd: others.1, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        )
        withUnsafeMutableBytes(of: &extra) { bytes in
            let all = bytes.bindMemory(to: curl_waitfd.self)
            _ = curl_multi_poll(multi, all.baseAddress, others.1 < 0 ? (stop < 0 ? 0 : 1) : 2, milliseconds, nil)
        }
    }

    /// The current address, which may be the target of a redirect; nil before the request.
    package var currentAddress: HTTPAddress? {
        var address: UnsafeMutablePointer<CChar>?
        guard curl_shim_get_string(easy, CURLINFO_EFFECTIVE_URL, &address) == CURLE_OK, let address else { return nil }
        return try? HTTPAddress(String(cString: address))
    }

    /// Ends the transfer with our own error.
    package func fail(_ code: CURLcode, _ reason: String) {
        // The last byte stays 0.
        strncpy(errorText, reason, Int(CURL_ERROR_SIZE) - 1)
        result = code
    }

    /// curl's message of a failure, without any address.
    package var failureText: String {
        let text = String(cString: errorText)
        return text.isEmpty ? result.map { String(cString: curl_easy_strerror($0)) } ?? "" : text
    }

    /// The underlying `errno` of a failure to connect; nil for none.
    package var systemError: Int32? {
        var number = 0
        curl_shim_get_long(easy, CURLINFO_OS_ERRNO, &number)
        return number == 0 ? nil : Int32(clamping: number)
    }

    private static let noMemory = CaptureError(
        .outOfMemory, operation: "set up the transfer",
        message: "curl cannot be set up; close other programs and try again.")
}

// MARK: - Options

extension HTTPTransfer {
    private func set(_ request: HTTPRequest) throws(CaptureError) {
        let protocols = request.address.isSecure && !request.mayLeaveTLS ? "https" : "http,https"
        set(CURLOPT_URL, request.address.requestURL)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        // Not from an encrypted connection to a plain one, unless the request allows it.
        set(CURLOPT_REDIR_PROTOCOLS_STR, protocols)
        set(CURLOPT_FOLLOWLOCATION, 1)
        set(CURLOPT_MAXREDIRS, request.maximumRedirects)
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        set(CURLOPT_HTTP09_ALLOWED, request.method == "GET" ? 1 : 0)
        _ = curl_shim_set_pointer(easy, CURLOPT_HTTP200ALIASES, aliases)
        curl_slist_free_all(headerLines)
        // curl would ask for leave to send a body.
        let lines = request.headerLines + (request.body == nil ? [] : ["Expect:"])
        headerLines = lines.reduce(nil) { curl_slist_append($0, $1) }
        _ = curl_shim_set_pointer(easy, CURLOPT_HTTPHEADER, headerLines)
        set(CURLOPT_USERAGENT, request.userAgent)
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(clamping: max(1, request.connectTimeout.nanoseconds / 1_000_000)))
        set(CURLOPT_TCP_KEEPALIVE, 1)
        if request.leniency != .none {
            set(CURLOPT_CONNECT_ONLY, 1)
            set(CURLOPT_HTTPPROXYTUNNEL, 1)
        }
        set(CURLOPT_BUFFERSIZE, Int(request.bufferSize))
        // No signals, and no wait for an unresponsive name server.
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_QUICK_EXIT, 1)
        setMethod(request)
        if let token = request.bearerToken {
            set(CURLOPT_HTTPAUTH, curl_shim_bearer)
            set(CURLOPT_XOAUTH2_BEARER, token)
        } else if let credential = request.credential {
            set(CURLOPT_HTTPAUTH, curl_shim_basic_and_digest)
            set(CURLOPT_USERNAME, credential.user)
            set(CURLOPT_PASSWORD, credential.password)
        }
        let proxy = request.proxy ?? (request.address.isLoopback ? "" : nil)
        if let proxy { set(CURLOPT_PROXY, proxy) }
        mayHaveProxy = proxy.map { !$0.isEmpty } ?? HTTPTransfer.isProxyInEnvironment
        try set(request.trust)
        _ = curl_shim_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)

        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = curl_shim_set_pointer(easy, CURLOPT_WRITEDATA, context)
        _ = curl_shim_set_data_function(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            HTTPTransfer.from(context).takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        _ = curl_shim_set_pointer(easy, CURLOPT_HEADERDATA, context)
        _ = curl_shim_set_data_function(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            HTTPTransfer.from(context).takeHeadLine(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        _ = curl_shim_set_pointer(easy, CURLOPT_PREREQDATA, context)
        _ = curl_shim_set_request_function(easy) { context, server, own, _, ownPort in
            let transfer = HTTPTransfer.from(context)
            transfer.isConnected = true
            transfer.ownPort = ownPort
            let address = transfer.currentAddress
            transfer.isEncrypted = address?.isSecure ?? true
            // Asked before each request, those after redirects as well.
            if !transfer.allowsPlainHTTP, address.map({ !$0.isSecure && !$0.isLoopback }) ?? true {
                transfer.isPlainRefused = true
                return CURL_PREREQFUNC_ABORT
            }
            if let server, let own { transfer.isOnThisMachine = strcmp(server, own) == 0 }
            return CURL_PREREQFUNC_OK
        }
    }

    /// Redirects keep method and body, but for 303, which asks for a `GET`.
    private func setMethod(_ request: HTTPRequest) {
        if let timeout = request.timeout { set(CURLOPT_TIMEOUT_MS, max(1, Int(timeout.nanoseconds / 1_000_000))) }
        guard request.method != "GET" else { return }
        if request.method == "POST" || request.body != nil {
            set(CURLOPT_POSTREDIR, Int(CURL_REDIR_POST_301 | CURL_REDIR_POST_302))
            var body = request.body ?? []
            set(CURLOPT_POSTFIELDSIZE, body.count)
            body.withUnsafeMutableBytes { bytes in
                // A pointer even where there is no byte: without one curl would read the body from a file.
                var none: UInt8 = 0
                _ = withUnsafeMutablePointer(to: &none) {
                    let start = bytes.baseAddress ?? UnsafeMutableRawPointer($0)
                    return curl_shim_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, start)
                }
            }
        }
        if request.method != "POST" { set(CURLOPT_CUSTOMREQUEST, request.method) }
    }

    private func set(_ trust: HTTPServerTrust) throws(CaptureError) {
        func isSet(_ result: CURLcode) throws(CaptureError) {
            guard result != CURLE_OK else { return }
            throw CaptureError(
                .invalidConfiguration, operation: "set up TLS",
                message:
                    "This machine's curl cannot check certificates so: \(String(cString: curl_easy_strerror(result))).")
        }
        switch trust {
        case .verified: break
        case .authorities(let path): try isSet(curl_shim_set_string(easy, CURLOPT_CAINFO, path))
        case .pinned(let pin):
            try isSet(
                curl_shim_set_string(
                    easy, CURLOPT_PINNEDPUBLICKEY, HTTPServerTrust.curlPin(pin))
            )
            fallthrough
        case .acceptsSelfSigned:
            set(CURLOPT_SSL_VERIFYPEER, 0)
            set(CURLOPT_SSL_VERIFYHOST, 0)
        }
    }

    private func set(_ option: CURLoption, _ value: Int) { _ = curl_shim_set_long(easy, option, value) }

    private func set(_ option: CURLoption, _ value: String) { _ = curl_shim_set_string(easy, option, value) }
}

// MARK: - Receiving

extension HTTPTransfer {
    private static func from(_ context: UnsafeMutableRawPointer?) -> HTTPTransfer {
        Unmanaged<HTTPTransfer>.fromOpaque(context!).takeUnretainedValue()
    }

    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard mayTakeBody(upTo: bytes.count) else { return Int(CURL_WRITEFUNC_PAUSE) }
        bytesReceived &+= UInt64(bytes.count)
        return onBody(bytes) ? bytes.count : 0
    }

    /// Whether `count` bytes of the body are wanted; if not, they are held.
    func mayTakeBody(upTo count: Int) -> Bool {
        guard let bodyRoom, head.status != 0, bodyRoom() < count else { return true }
        isBodyHeld = true
        return false
    }

    /// Lets the body go on after it was held. May call ``onBody``.
    package func resumeBody() {
        guard isBodyHeld, isActive, result == nil else { return }
        isBodyHeld = false
        if exchange == nil { curl_easy_pause(easy, CURLPAUSE_CONT) }
    }

    private func takeHeadLine(_ bytes: UnsafeRawBufferPointer) -> Int {
        bytesReceived &+= UInt64(bytes.count)
        // Redirects have heads too; an empty line ends each.
        headBytes = bytes.count <= 2 ? 0 : headBytes + bytes.count
        guard headBytes <= HTTPTransfer.maximumHeadBytes else {
            isHeadTooLong = true
            return 0
        }
        let before = head.status
        head.take(bytes)
        if head.status != before, ignoresLength {
            // For other responses the length is needed, to reuse the connection for the next one.
            set(CURLOPT_IGNORE_CONTENT_LENGTH, head.status == 200 ? 1 : 0)
        }
        return bytes.count
    }
}

/// Once for the whole program; a global is initialized by one thread.
private let isLibraryReady = curl_shim_global_init() == CURLE_OK

// A plain body, without TLS and chunks, need not go through curl, which costs a buffer, a copy, and two more system calls
// per image. curl keeps the connection, and closes it.
extension HTTPTransfer {
    /// Receives the body by ``receiveBody(into:)`` from now on, if it is plain and ends with the connection. To be called
    /// after ``work()``, when curl has passed everything received to ``onBody``.
    package func receiveDirectly() {
        guard bodySocket < 0, exchange == nil, result == nil, !mayHaveProxy, !isEncrypted, head.status == 200,
            head.isPlain, ignoresLength
        else { return }
        bodySocket = curl_shim_get_receiving_socket(multi, ownPort)
    }

    /// Receives bytes of the body without waiting; returns their number, 0 for none. Sets ``result`` at its end.
    package func receiveBody(into memory: UnsafeMutableRawBufferPointer) -> Int {
        // A reset is reported only once; the next call would take it for a regular end.
        guard result == nil else { return 0 }
        let count = recv(bodySocket, memory.baseAddress, memory.count, Int32(MSG_DONTWAIT))
        let number = errno
        if count > 0 {
            bytesReceived &+= UInt64(count)
            return count
        }
        if count == 0 {
            result = CURLE_OK
        } else if number != EAGAIN, number != EINTR {
            // As curl reports it.
            fail(CURLE_RECV_ERROR, "Recv failure: \(String(cString: strerror(number)))")
        }
        return 0
    }

    /// Whether the environment sets a proxy for http, to which curl may connect by TLS.
    static var isProxyInEnvironment: Bool {
        ["http_proxy", "all_proxy", "ALL_PROXY"].contains { (name: String) in getenv(name) != nil }
    }
}
