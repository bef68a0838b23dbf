import CLibCURL
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One request after the other by libcurl, on one thread, which ``work()`` lends to it. The thread must have SIGPIPE
/// blocked, as capture threads have: OpenSSL writes without `MSG_NOSIGNAL`.
///
/// curl sees to connections, TLS, proxies, redirects, passwords and chunks; what comes goes to ``onBody`` as it comes, until
/// it is received directly.
final class HTTPTransfer {
    /// Takes bytes of the body; false ends the transfer.
    var onBody: (UnsafeRawBufferPointer) -> Bool = { _ in false }

    /// The head of the last answer.
    var head = HTTPResponseHead()
    /// What the transfer ended with; nil while it goes on.
    var result: CURLcode?
    /// Whether a server has been connected to.
    var isConnected = false
    /// Whether it is spoken by TLS, after all redirects.
    private(set) var isEncrypted = false
    /// Whether both ends are on one machine, so that their clocks are one.
    private(set) var isOnThisMachine = false
    /// Bytes of heads and bodies that have come, all transfers together.
    var bytesReceived: UInt64 = 0

    /// Whether the transfer was ended since a head did not end.
    private(set) var isHeadTooLong = false

    let easy: UnsafeMutableRawPointer
    let multi: UnsafeMutableRawPointer
    let errorText: UnsafeMutablePointer<CChar>
    private var aliases: UnsafeMutablePointer<curl_slist>?
    private var isActive = false
    /// Of the head that is coming.
    private var headBytes = 0
    /// Whether the body ends with the connection, whatever length is stated.
    private(set) var ignoresLength = false
    /// What goes on without curl's reading of heads; nil with it.
    var exchange: LenientExchange?
    /// Where the body can be received without curl; -1 for nowhere. See ``receiveDirectly()``.
    var bodySocket: Int32 = -1
    /// The port of this end of the connection; 0 before there is one.
    private(set) var ownPort: Int32 = 0
    private(set) var mayHaveProxy = false

    /// What curl reads at once.
    static let bufferSize: UInt64 = 128 * 1024
    /// Of one answer; more is an attack.
    static let mostHeadBytes = 64 * 1024

    init() throws(CaptureError) {
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
        // Kept alive for the next request, where single pictures are asked for.
        _ = curl_shim_set_multi_long(multi, CURLMOPT_MAXCONNECTS, 1)
    }

    deinit {
        end()
        curl_easy_cleanup(easy)
        curl_multi_cleanup(multi)
        curl_slist_free_all(aliases)
        errorText.deallocate()
    }

    /// Begins a request; one that is under way is given up.
    func begin(_ request: HTTPRequest) throws(CaptureError) {
        end()
        head = HTTPResponseHead()
        result = nil
        isConnected = false
        isEncrypted = request.address.isSecure
        isOnThisMachine = false
        ownPort = 0
        headBytes = 0
        isHeadTooLong = false
        errorText[0] = 0
        curl_easy_reset(easy)
        try set(request)
        // Seen by the status line of each answer.
        ignoresLength = !request.isPicture
        exchange = request.leniency == .none ? nil : LenientExchange(request: Array(request.text.utf8))
        guard curl_multi_add_handle(multi, easy) == CURLM_OK else { throw HTTPTransfer.noMemory }
        isActive = true
    }

    /// Gives up what is under way. Nothing is called back any more.
    func end() {
        guard isActive else { return }
        isActive = false
        bodySocket = -1
        curl_multi_remove_handle(multi, easy)
    }

    /// Lets curl work on what has come, without waiting.
    func work() {
        guard isActive, result == nil, bodySocket < 0 else { return }
        if exchange?.isConnected == true { return receive() }
        var running: Int32 = 0
        let failure = curl_multi_perform(multi, &running)
        if failure != CURLM_OK { result = CURLE_FAILED_INIT }
        var taken = CURLE_OK
        if curl_shim_take_result(multi, &taken) != 0 { result = taken }
        if exchange != nil, result == CURLE_OK { sendRequest() }
    }

    /// Waits until something has come, `stop` is readable, or the time is over.
    func wait(atMost limit: Duration, stop: Int32) {
        guard isActive, result == nil else { return }
        // Where there is no descriptor for the stop, the caller looks for it.
        let limit = stop < 0 ? min(limit, .milliseconds(50)) : limit
        if bodySocket >= 0 {
            _ = pollInput(bodySocket, interruptedBy: stop, until: MonotonicClock().now.advanced(by: limit))
            return
        }
        // Rounded up, so as not to spin through the last millisecond.
        let milliseconds = Int32(clamping: max(0, limit.nanoseconds + 999_999) / 1_000_000)
        let others = (stop, exchange?.socket ?? -1)
        // Not an array, which would cost memory at each wait.
        var extra = (
            curl_waitfd(fd: others.0, events: Int16(CURL_WAIT_POLLIN), revents: 0),
            curl_waitfd(fd: others.1, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        )
        withUnsafeMutableBytes(of: &extra) { bytes in
            let all = bytes.bindMemory(to: curl_waitfd.self)
            _ = curl_multi_poll(multi, all.baseAddress, others.1 < 0 ? (stop < 0 ? 0 : 1) : 2, milliseconds, nil)
        }
    }

    /// The address that is asked now, which may be one that was redirected to; nil before any is.
    var currentAddress: StreamAddress? {
        var address: UnsafeMutablePointer<CChar>?
        guard curl_shim_get_string(easy, CURLINFO_EFFECTIVE_URL, &address) == CURLE_OK, let address else { return nil }
        return try? StreamAddress(String(cString: address))
    }

    /// Ends the transfer for a reason of our own.
    func fail(_ code: CURLcode, _ reason: String) {
        // The last byte of the memory stays 0.
        strncpy(errorText, reason, Int(CURL_ERROR_SIZE) - 1)
        result = code
    }

    /// curl's own words on a failure, without any address.
    var failureText: String {
        let text = String(cString: errorText)
        return text.isEmpty ? result.map { String(cString: curl_easy_strerror($0)) } ?? "" : text
    }

    /// The `errno` beneath a failure to connect; nil for none.
    var systemError: Int32? {
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
        let configuration = request.configuration
        let protocols = request.address.isSecure ? "https" : "http,https"
        set(CURLOPT_URL, request.address.requestURL)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        // Never from a safe connection to an open one.
        set(CURLOPT_REDIR_PROTOCOLS_STR, protocols)
        set(CURLOPT_FOLLOWLOCATION, 1)
        set(CURLOPT_MAXREDIRS, 10)
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        set(CURLOPT_HTTP09_ALLOWED, 1)
        _ = curl_shim_set_pointer(easy, CURLOPT_HTTP200ALIASES, aliases)
        set(CURLOPT_USERAGENT, configuration.userAgent)
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(clamping: max(1, configuration.connectTimeout.nanoseconds / 1_000_000)))
        set(CURLOPT_TCP_KEEPALIVE, 1)
        if request.leniency != .none {
            set(CURLOPT_CONNECT_ONLY, 1)
            set(CURLOPT_HTTPPROXYTUNNEL, 1)
        }
        set(CURLOPT_BUFFERSIZE, Int(HTTPTransfer.bufferSize))
        // No signals, and no wait for a name server that does not answer.
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_QUICK_EXIT, 1)
        if let credential = request.credential {
            set(CURLOPT_HTTPAUTH, curl_shim_basic_and_digest)
            set(CURLOPT_USERNAME, credential.user)
            set(CURLOPT_PASSWORD, credential.password)
        }
        let proxy = configuration.proxy ?? (request.address.isLoopback ? "" : nil)
        if let proxy { set(CURLOPT_PROXY, proxy) }
        mayHaveProxy = proxy.map { !$0.isEmpty } ?? HTTPTransfer.isProxyInEnvironment
        try set(configuration.trust)
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
            transfer.isEncrypted = transfer.currentAddress?.isSecure ?? true
            if let server, let own { transfer.isOnThisMachine = strcmp(server, own) == 0 }
            return 0
        }
    }

    private func set(_ trust: MJPEGServerTrust) throws(CaptureError) {
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
            try isSet(curl_shim_set_string(easy, CURLOPT_PINNEDPUBLICKEY, MJPEGServerTrust.curlPin(pin)))
            fallthrough
        case .acceptsSelfSigned:
            set(CURLOPT_SSL_VERIFYPEER, 0)
            set(CURLOPT_SSL_VERIFYHOST, 0)
        }
    }

    private func set(_ option: CURLoption, _ value: Int) { _ = curl_shim_set_long(easy, option, value) }

    private func set(_ option: CURLoption, _ value: String) { _ = curl_shim_set_string(easy, option, value) }
}

// MARK: - What comes

extension HTTPTransfer {
    private static func from(_ context: UnsafeMutableRawPointer?) -> HTTPTransfer {
        Unmanaged<HTTPTransfer>.fromOpaque(context!).takeUnretainedValue()
    }

    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        bytesReceived &+= UInt64(bytes.count)
        return onBody(bytes) ? bytes.count : 0
    }

    private func takeHeadLine(_ bytes: UnsafeRawBufferPointer) -> Int {
        bytesReceived &+= UInt64(bytes.count)
        // Redirects have heads too; an empty line ends each.
        headBytes = bytes.count <= 2 ? 0 : headBytes + bytes.count
        guard headBytes <= HTTPTransfer.mostHeadBytes else {
            isHeadTooLong = true
            return 0
        }
        let before = head.status
        head.take(bytes)
        if head.status != before, ignoresLength {
            // Of what is not the stream itself the length is needed, to have the next answer on the same connection.
            set(CURLOPT_IGNORE_CONTENT_LENGTH, head.status == 200 ? 1 : 0)
        }
        return bytes.count
    }
}

/// Once for the whole program; a global is made by one thread only.
private let isLibraryReady = curl_shim_global_init() == CURLE_OK
