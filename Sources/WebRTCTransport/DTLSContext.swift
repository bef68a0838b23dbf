import COpenSSL
import CaptureCore

/// The certificate of this process, its fingerprint, and the settings of DTLS: made once, and never on disk.
///
/// `@unchecked Sendable`: OpenSSL counts the references of a context, and nothing changes it once it is made.
package final class DTLSContext: @unchecked Sendable {
    private static let instance = Locked<DTLSContext?>(nil)

    /// The context of the process.
    ///
    /// - Throws: `unavailable` when OpenSSL cannot make one.
    package static func shared() throws(CaptureError) -> DTLSContext {
        try instance.withLock { (instance) throws(CaptureError) in
            if let instance { return instance }
            let made = try DTLSContext()
            instance = made
            return made
        }
    }

    /// The largest datagram that a handshake sends.
    static let mtu = 1200
    /// What IPv4 and UDP add to it.
    static let overhead = 28

    let context: OpaquePointer
    let datagrams: OpaquePointer
    /// The fingerprint of the certificate, for session descriptions.
    package let fingerprint: Fingerprint

    private init() throws(CaptureError) {
        guard let key = ossl_shim_new_p256_key(), let certificate = DTLSContext.makeCertificate(key) else {
            throw DTLSContext.failure("It cannot make a certificate of P-256.")
        }
        defer {
            EVP_PKEY_free(key)
            X509_free(certificate)
        }
        guard let context = SSL_CTX_new(DTLS_method()), let datagrams = DTLSSession.makeMethod(),
            ossl_shim_configure(context) == 1, SSL_CTX_use_certificate(context, certificate) == 1,
            SSL_CTX_use_PrivateKey(context, key) == 1,
            SSL_CTX_set_cipher_list(context, DTLSContext.ciphers) == 1,
            // Zero is its success.
            SSL_CTX_set_tlsext_use_srtp(context, SRTPProfile.offered) == 0,
            let fingerprint = Fingerprint(.sha256, of: certificate)
        else { throw DTLSContext.failure("It does not support DTLS 1.2 with SRTP.") }
        self.context = context
        self.datagrams = datagrams
        self.fingerprint = fingerprint
    }

    private static let ciphers = """
        ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305:\
        ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-SHA
        """

    /// For 30 days, from a day ago on, since the clocks of peers differ.
    private static func makeCertificate(_ key: OpaquePointer) -> OpaquePointer? {
        guard let certificate = X509_new() else { return nil }
        let day = 86_400
        let name = X509_get_subject_name(certificate)
        let text = Array("WebRTC".utf8)
        let isMade =
            X509_set_version(certificate, 2) == 1
            && ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), UInt64.random(in: 1...(1 << 62))) == 1
            && X509_gmtime_adj(X509_getm_notBefore(certificate), -day) != nil
            && X509_gmtime_adj(X509_getm_notAfter(certificate), 30 * day) != nil
            && X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_FLAG | 1, text, Int32(text.count), -1, 0) == 1
            && X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, key) == 1
            && X509_sign(certificate, key, EVP_sha256()) != 0
        guard isMade else {
            X509_free(certificate)
            return nil
        }
        return certificate
    }

    static func failure(_ what: String) -> CaptureError {
        CaptureError(
            .unavailable, operation: "prepare DTLS", message: "OpenSSL 3 is needed. \(what) Install Debian's libssl3.")
    }
}

/// The hash of a certificate, as session descriptions state it (RFC 8122).
package struct Fingerprint: Sendable, Hashable {
    /// The hash functions that are accepted; a later one is preferred.
    package enum Algorithm: String, Sendable, Hashable, CaseIterable {
        case sha256 = "sha-256"
        case sha384 = "sha-384"
        case sha512 = "sha-512"
    }

    /// The hash function.
    package var algorithm: Algorithm
    /// The bytes as pairs of upper-case digits with colons between.
    package var value: String

    /// A fingerprint of a description; nil for a hash function that is not accepted, or another length.
    package init?(algorithm: String, value: String) {
        guard let algorithm = Algorithm(rawValue: algorithm.lowercased()) else { return nil }
        let size = algorithm == .sha256 ? 32 : algorithm == .sha384 ? 48 : 64
        guard value.utf8.count == size * 3 - 1 else { return nil }
        self.algorithm = algorithm
        self.value = value.uppercased()
    }

    /// The fingerprint of a certificate.
    init?(_ algorithm: Algorithm, of certificate: OpaquePointer) {
        let function =
            switch algorithm {
            case .sha256: EVP_sha256()
            case .sha384: EVP_sha384()
            case .sha512: EVP_sha512()
            }
        var bytes = [UInt8](repeating: 0, count: 64)
        var count: UInt32 = 0
        guard X509_digest(certificate, function, &bytes, &count) == 1 else { return nil }
        self.algorithm = algorithm
        let digits = Array("0123456789ABCDEF")
        value = bytes.prefix(Int(count)).map { "\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }.joined(separator: ":")
    }
}
