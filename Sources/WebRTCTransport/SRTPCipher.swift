import COpenSSL
import CaptureCore

/// The profiles of SRTP that a handshake may agree on (RFC 5764, RFC 7714).
enum SRTPProfile: UInt {
    case aes128CMSHA1 = 0x0001
    case aeadAES128GCM = 0x0007

    /// In the order of preference: GCM costs a quarter of the other, and the server of DTLS chooses.
    static let offered = "SRTP_AEAD_AES_128_GCM:SRTP_AES128_CM_SHA1_80"

    var saltSize: Int { self == .aeadAES128GCM ? 12 : 14 }
    static let keySize = 16
}

/// The session keys for RTP or for RTCP of one direction. A packet costs no allocation.
final class SRTPCipher {
    private let isGCM: Bool
    private let context: OpaquePointer
    /// The salt where it lies in the counter of a packet.
    private let salt: InlineArray<16, UInt8>
    /// Authenticates what AES-CM encrypts.
    private var authentication = ossl_shim_hmac()

    /// - Parameters:
    ///   - key: the key of encryption.
    ///   - authenticationKey: that of HMAC-SHA1, 20 bytes; of no use with GCM.
    /// - Throws: `unavailable` when OpenSSL refuses.
    init(
        _ profile: SRTPProfile, _ direction: SRTPSession.Direction, key: [UInt8], salt: [UInt8],
        authenticationKey: [UInt8]
    ) throws(CaptureError) {
        isGCM = profile == .aeadAES128GCM
        guard let context = EVP_CIPHER_CTX_new() else { throw SRTPCipher.failure() }
        self.context = context
        self.salt = InlineArray { $0 < salt.count ? salt[$0] : 0 }
        if !isGCM { ossl_shim_hmac_set_key(&authentication, authenticationKey) }
        // Counter mode decrypts as it encrypts.
        let encrypts = direction == .outbound || !isGCM
        guard
            EVP_CipherInit_ex(
                context, isGCM ? EVP_aes_128_gcm() : EVP_aes_128_ctr(), nil, key, nil, encrypts ? 1 : 0) == 1
        else { throw SRTPCipher.failure() }
    }

    /// - Parameters:
    ///   - master: the master key, and the salt behind it.
    ///   - firstLabel: the label of the encryption key (RFC 3711, 4.3.1): 0 for RTP, 3 for RTCP.
    convenience init(
        _ profile: SRTPProfile, _ direction: SRTPSession.Direction, _ master: UnsafeRawBufferPointer, firstLabel: UInt8
    ) throws(CaptureError) {
        try self.init(
            profile, direction,
            key: SRTPCipher.derive(master, label: firstLabel, count: SRTPProfile.keySize),
            salt: SRTPCipher.derive(master, label: firstLabel + 2, count: profile.saltSize),
            authenticationKey: SRTPCipher.derive(master, label: firstLabel + 1, count: 20))
    }

    deinit {
        EVP_CIPHER_CTX_free(context)
        OPENSSL_cleanse(&authentication, MemoryLayout<ossl_shim_hmac>.size)
    }

    private static func failure() -> CaptureError {
        CaptureError(
            .unavailable, operation: "prepare SRTP",
            message:
                "OpenSSL cannot encrypt with the profile of the handshake; install one with AES-128-GCM and AES-128-CTR."
        )
    }

    /// A session key: AES in counter mode over the label and the master salt (RFC 3711, 4.3.3; RFC 7714, 11).
    static func derive(_ master: UnsafeRawBufferPointer, label: UInt8, count: Int) throws(CaptureError) -> [UInt8] {
        var counter = [UInt8](repeating: 0, count: 16)
        for (index, byte) in master.dropFirst(SRTPProfile.keySize).enumerated() { counter[index] = byte }
        counter[7] ^= label
        var result = [UInt8](repeating: 0, count: count)
        var written: Int32 = 0
        guard let context = EVP_CIPHER_CTX_new() else { throw failure() }
        defer { EVP_CIPHER_CTX_free(context) }
        let key = master.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let zeros = [UInt8](repeating: 0, count: count)
        guard EVP_EncryptInit_ex(context, EVP_aes_128_ctr(), nil, key, counter) == 1,
            EVP_EncryptUpdate(context, &result, &written, zeros, Int32(count)) == 1, written == count
        else { throw failure() }
        return result
    }

    // MARK: Packets

    /// The bytes of a tag.
    private var tagSize: Int { isGCM ? 16 : 10 }

    /// The bytes that protection adds: the tag, and the number of a report.
    func overhead(isReport: Bool) -> Int { tagSize + (isReport ? 4 : 0) }

    /// How far from the end of a protected report its number begins.
    var wordOffset: Int { isGCM ? 4 : 4 + tagSize }

    /// Sets the counter of a packet: salt, source and number (RFC 3711, 4.1.1; RFC 7714, 8.1 and 9.1).
    private func setCounter(_ source: UInt32, _ index: UInt64) -> Bool {
        var counter = salt
        let offset = isGCM ? 2 : 4
        for byte in 0..<4 { counter[offset + byte] ^= UInt8(truncatingIfNeeded: source >> (24 - 8 * byte)) }
        for byte in 0..<6 { counter[offset + 4 + byte] ^= UInt8(truncatingIfNeeded: index >> (40 - 8 * byte)) }
        // -1: as it was set up.
        return withUnsafeBytes(of: &counter) { bytes in
            EVP_CipherInit_ex(context, nil, nil, nil, bytes.bindMemory(to: UInt8.self).baseAddress, -1) == 1
        }
    }

    /// Encrypts a packet behind its clear header, and adds its tag.
    ///
    /// - Parameters:
    ///   - word: for RTP the roll-overs, for RTCP the number that is sent with it.
    /// - Returns: whether it was protected.
    func seal(
        _ packet: UnsafeMutableRawPointer, _ length: inout Int32, clear: Int, _ source: UInt32, _ index: UInt64,
        word: UInt32, isReport: Bool
    ) -> Bool {
        let (bytes, end) = (packet.assumingMemoryBound(to: UInt8.self), Int(length))
        guard setCounter(source, index), authenticate(bytes, clear, word, isReport),
            crypt(bytes + clear, end - clear)
        else { return false }
        if isReport { (packet + end + (isGCM ? tagSize : 0)).storeBytes(of: word.bigEndian, as: UInt32.self) }
        if isGCM {
            var written: Int32 = 0
            guard EVP_CipherFinal_ex(context, bytes + end, &written) == 1,
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagSize), bytes + end) == 1
            else { return false }
        } else {
            let tag = tag(of: bytes, end, word)
            for byte in 0..<tagSize { bytes[end + (isReport ? 4 : 0) + byte] = tag[byte] }
        }
        length += Int32(overhead(isReport: isReport))
        return true
    }

    /// Decrypts a packet that ``seal(_:_:clear:_:_:word:isReport:)`` has made.
    ///
    /// - Returns: whether it is authentic; if it is not, its content is undefined.
    func open(
        _ packet: UnsafeMutableRawPointer, _ length: inout Int32, clear: Int, _ source: UInt32, _ index: UInt64,
        word: UInt32, isReport: Bool
    ) -> Bool {
        let bytes = packet.assumingMemoryBound(to: UInt8.self)
        let end = Int(length) - overhead(isReport: isReport)
        guard end >= clear, setCounter(source, index) else { return false }
        if isGCM {
            var written: Int32 = 0
            guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagSize), bytes + end) == 1,
                authenticate(bytes, clear, word, isReport), crypt(bytes + clear, end - clear),
                EVP_CipherFinal_ex(context, bytes + end, &written) == 1
            else { return false }
        } else {
            let tag = tag(of: bytes, end, word)
            let isAuthentic = withUnsafeBytes(of: tag) { tag in
                CRYPTO_memcmp(tag.baseAddress, bytes + end + (isReport ? 4 : 0), tagSize) == 0
            }
            guard isAuthentic, crypt(bytes + clear, end - clear) else { return false }
        }
        length = Int32(end)
        return true
    }

    /// Adds what GCM authenticates and does not encrypt.
    private func authenticate(_ bytes: UnsafeMutablePointer<UInt8>, _ clear: Int, _ word: UInt32, _ isReport: Bool)
        -> Bool
    {
        guard isGCM else { return true }
        var written: Int32 = 0
        guard EVP_CipherUpdate(context, nil, &written, bytes, Int32(clear)) == 1 else { return false }
        guard isReport else { return true }
        return withUnsafeBytes(of: word.bigEndian) { word in
            EVP_CipherUpdate(context, nil, &written, word.bindMemory(to: UInt8.self).baseAddress, 4) == 1
        }
    }

    private func crypt(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int) -> Bool {
        var written: Int32 = 0
        return count == 0 || EVP_CipherUpdate(context, bytes, &written, bytes, Int32(count)) == 1
    }

    private func tag(of bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ word: UInt32) -> InlineArray<20, UInt8> {
        var tag = InlineArray<20, UInt8>(repeating: 0)
        withUnsafeMutableBytes(of: &tag) { tag in
            ossl_shim_hmac_make_tag(
                &authentication, bytes, count, word.bigEndian, tag.bindMemory(to: UInt8.self).baseAddress)
        }
        return tag
    }
}
