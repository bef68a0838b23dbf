import COpenSSL
import CaptureCore

/// One handshake of DTLS over datagrams of its owner, and the keys that it yields. For the connect thread.
///
/// OpenSSL reads and writes through a BIO of our own: its memory BIO joins datagrams, and without an answer to the
/// questions for the MTU it falls to datagrams of 256 bytes.
final class DTLSSession {
    /// What a step of the handshake has come to.
    enum Progress {
        case waiting
        case connected
        case failed(CaptureError)
    }

    private let ssl: OpaquePointer
    private let send: (UnsafeRawBufferPointer) -> Void
    /// The one datagram that is being read.
    private var datagram = UnsafeRawBufferPointer(start: nil, count: 0)
    let isServer: Bool
    private(set) var isConnected = false

    /// - Parameter send: sends one datagram; a timer sends lost ones again.
    init(isServer: Bool, send: @escaping (UnsafeRawBufferPointer) -> Void) throws(CaptureError) {
        let shared = try DTLSContext.shared()
        guard let ssl = SSL_new(shared.context) else { throw DTLSContext.failure("It has no memory left.") }
        self.ssl = ssl
        self.isServer = isServer
        self.send = send
        guard let bio = BIO_new(shared.datagrams) else {
            SSL_free(ssl)
            throw DTLSContext.failure("It has no memory left.")
        }
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        SSL_set_bio(ssl, bio, bio)
        // A second at first is its default, and too long for a connection that loses its first packets.
        DTLS_set_timer_cb(ssl) { _, microseconds in
            microseconds == 0 ? 100_000 : microseconds < 1_000_000 ? 2 * microseconds : microseconds
        }
        ossl_shim_set_mtu(ssl, DTLSContext.mtu, DTLSContext.overhead)
        if isServer { SSL_set_accept_state(ssl) } else { SSL_set_connect_state(ssl) }
    }

    deinit { SSL_free(ssl) }

    // MARK: Steps

    /// Begins, or goes on with, the handshake.
    func advance() -> Progress {
        guard !isConnected else { return .connected }
        ERR_clear_error()
        let code = SSL_do_handshake(ssl)
        if code == 1 {
            isConnected = true
            return .connected
        }
        guard SSL_get_error(ssl, code) != SSL_ERROR_WANT_READ else { return .waiting }
        let reason = ERR_reason_error_string(ERR_peek_last_error()).map { String(cString: $0) } ?? "no reason given"
        return .failed(
            CaptureError(
                .corruptData, operation: "encrypt the connection",
                message: "The handshake of DTLS has failed (\(reason)); check the peer, and its version."))
    }

    /// Takes a datagram of the peer.
    ///
    /// - Returns: the progress of the handshake; once it is over, whether the peer has closed.
    func receive(_ bytes: UnsafeRawBufferPointer) -> (progress: Progress, hasClosed: Bool) {
        datagram = bytes
        defer { datagram = UnsafeRawBufferPointer(start: nil, count: 0) }
        guard isConnected else { return (advance(), false) }
        ERR_clear_error()
        var byte: UInt8 = 0
        let code = SSL_read(ssl, &byte, 1)
        return (.connected, code <= 0 && SSL_get_error(ssl, code) == SSL_ERROR_ZERO_RETURN)
    }

    /// Sends unanswered messages again.
    func handleTimeout() { if !isConnected { _ = ossl_shim_handle_timeout(ssl) } }

    /// Notifies the peer that the connection ends.
    func close() {
        guard isConnected else { return }
        ERR_clear_error()
        _ = SSL_shutdown(ssl)
    }

    // MARK: Results

    /// Whether the peer's certificate is the one of its description: by the strongest hash function that it states.
    func matches(_ fingerprints: [Fingerprint]) -> Bool {
        let known = Fingerprint.Algorithm.allCases
        guard let certificate = SSL_get1_peer_certificate(ssl),
            let strongest = known.last(where: { algorithm in fingerprints.contains { $0.algorithm == algorithm } })
        else { return false }
        defer { X509_free(certificate) }
        guard let actual = Fingerprint(strongest, of: certificate) else { return false }
        return fingerprints.contains(actual)
    }

    /// The sessions of SRTP for both directions (RFC 5764, section 4.2).
    func makeSRTP() throws(CaptureError) -> (outbound: SRTPSession, inbound: SRTPSession) {
        guard let selected = SSL_get_selected_srtp_profile(ssl),
            let profile = SRTPProfile(rawValue: selected.pointee.id)
        else {
            throw CaptureError(
                .formatUnsupported, operation: "encrypt the connection",
                message: "The peer has agreed on no profile of SRTP; it must support AES-128-GCM or AES-128-CM.")
        }
        let (key, salt) = (SRTPProfile.keySize, profile.saltSize)
        let material = UnsafeMutableRawBufferPointer.allocate(byteCount: 4 * (key + salt), alignment: 16)
        defer {
            OPENSSL_cleanse(material.baseAddress, material.count)
            material.deallocate()
        }
        let label = "EXTRACTOR-dtls_srtp"
        let exported = material.baseAddress!.assumingMemoryBound(to: UInt8.self)
        guard SSL_export_keying_material(ssl, exported, 2 * (key + salt), label, label.utf8.count, nil, 0, 0) == 1
        else {
            throw DTLSContext.failure("It does not export keys.")
        }
        // Keys of client and server, then their salts; each session wants its salt behind its key.
        func keys(ofServer: Bool) -> UnsafeMutableRawBufferPointer {
            let index = ofServer ? 1 : 0
            let joined = UnsafeMutableRawBufferPointer(
                rebasing: material[(2 + index) * (key + salt)..<(3 + index) * (key + salt)])
            joined.copyMemory(from: UnsafeRawBufferPointer(rebasing: material[index * key..<(index + 1) * key]))
            let salts = 2 * key + index * salt
            UnsafeMutableRawBufferPointer(rebasing: joined[key...]).copyMemory(
                from: UnsafeRawBufferPointer(rebasing: material[salts..<salts + salt]))
            return joined
        }
        return (
            try SRTPSession(.outbound, profile, keys: keys(ofServer: isServer)),
            try SRTPSession(.inbound, profile, keys: keys(ofServer: !isServer))
        )
    }

    // MARK: The BIO

    /// The functions by which OpenSSL sends and receives datagrams.
    static func makeMethod() -> OpaquePointer? {
        guard let method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "datagrams") else { return nil }
        BIO_meth_set_write(method) { bio, bytes, count in
            ossl_shim_clear_retry(bio)
            DTLSSession.of(bio)?.send(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
            return count
        }
        BIO_meth_set_read(method) { bio, bytes, count in
            guard let session = DTLSSession.of(bio), session.datagram.count > 0, let bytes else {
                ossl_shim_retry_read(bio)
                return -1
            }
            ossl_shim_clear_retry(bio)
            let length = min(session.datagram.count, Int(count))
            UnsafeMutableRawPointer(bytes).copyMemory(from: session.datagram.baseAddress!, byteCount: length)
            session.datagram = UnsafeRawBufferPointer(start: nil, count: 0)
            return Int32(length)
        }
        BIO_meth_set_ctrl(method) { _, command, _, _ in
            switch command {
            case BIO_CTRL_FLUSH, BIO_CTRL_DUP: 1
            case BIO_CTRL_DGRAM_QUERY_MTU: DTLSContext.mtu
            case BIO_CTRL_DGRAM_GET_MTU_OVERHEAD: DTLSContext.overhead
            default: 0
            }
        }
        return method
    }

    private static func of(_ bio: OpaquePointer?) -> DTLSSession? {
        BIO_get_data(bio).map { Unmanaged<DTLSSession>.fromOpaque($0).takeUnretainedValue() }
    }
}
