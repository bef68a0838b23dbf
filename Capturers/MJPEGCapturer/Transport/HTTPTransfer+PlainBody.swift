import CLibCURL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

// A body that comes as it is, without TLS and without chunks, need not go through curl: that takes a buffer of curl's
// own, a copy, and two more system calls for each picture. curl keeps the connection, and closes it.
extension HTTPTransfer {
    /// From now on the body is received by ``receiveBody(into:)``, if it comes as it is and ends with the connection. To be
    /// called after ``work()``, when curl has given all to ``onBody`` that it has received.
    func receiveDirectly() {
        guard bodySocket < 0, exchange == nil, result == nil, !mayHaveProxy, !isEncrypted, head.status == 200,
            head.isPlain, ignoresLength
        else { return }
        bodySocket = curl_shim_get_receiving_socket(multi, ownPort)
    }

    /// Takes what has come of the body, without waiting: the number of bytes, 0 for none. Sets ``result`` at its end.
    func receiveBody(into memory: UnsafeMutableRawBufferPointer) -> Int {
        // A reset is told once only; the next call would take it for an end in good order.
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
            // As curl has it.
            fail(CURLE_RECV_ERROR, "Recv failure: \(String(cString: strerror(number)))")
        }
        return 0
    }

    /// Whether curl may find a proxy for http there, with which it may speak by TLS.
    static var isProxyInEnvironment: Bool {
        ["http_proxy", "all_proxy", "ALL_PROXY"].contains { (name: String) in getenv(name) != nil }
    }
}
