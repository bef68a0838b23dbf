import CSRTP
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

/// One direction of SRTP and SRTCP. For one thread at a time.
///
/// No packet is ever protected twice under one number: with GCM that would repeat a nonce, and libsrtp refuses it.
final class SRTPSession: @unchecked Sendable {
    enum Direction { case outbound, inbound }

    private let session: srtp_t
    /// Of the received, authentic packets.
    private var sources: Set<UInt32> = []
    /// libsrtp keeps a stream for each source, and searches a list of them with each packet. Browsers have a few.
    static let maximumSources = 16

    /// libsrtp has global tables, which are made once.
    private static let isInitialized = srtp_init() == srtp_err_status_ok

    /// - Parameters:
    ///   - keys: the master key, and the salt behind it.
    /// - Throws: `unavailable` when the library refuses.
    init(_ direction: Direction, _ profile: SRTPProfile, keys: UnsafeMutableRawBufferPointer) throws(CaptureError) {
        guard SRTPSession.isInitialized else { throw SRTPSession.failure(srtp_err_status_init_fail) }
        let library = profile == .aeadAES128GCM ? srtp_profile_aead_aes_128_gcm : srtp_profile_aes128_cm_sha1_80
        var policy = srtp_policy_t()
        srtp_crypto_policy_set_from_profile_for_rtp(&policy.rtp, library)
        srtp_crypto_policy_set_from_profile_for_rtcp(&policy.rtcp, library)
        policy.ssrc.type = direction == .outbound ? ssrc_any_outbound : ssrc_any_inbound
        policy.key = keys.baseAddress?.assumingMemoryBound(to: UInt8.self)
        policy.window_size = 1024
        var made: srtp_t?
        let code = srtp_create(&made, &policy)
        guard code == srtp_err_status_ok, let made else { throw SRTPSession.failure(code) }
        session = made
    }

    deinit { srtp_dealloc(session) }

    private static func failure(_ code: srtp_err_status_t) -> CaptureError {
        CaptureError(
            .unavailable, operation: "prepare SRTP", libraryCode: Int32(code.rawValue),
            message: "libsrtp cannot encrypt with the profile that was agreed; install a newer libsrtp2.")
    }

    // Each changes the length, and returns whether to use the packet.

    func protect(_ packet: UnsafeMutableRawPointer, _ length: inout Int32) -> Bool {
        srtp_protect(session, packet, &length) == srtp_err_status_ok
    }

    func protectRTCP(_ packet: UnsafeMutableRawPointer, _ length: inout Int32) -> Bool {
        srtp_protect_rtcp(session, packet, &length) == srtp_err_status_ok
    }

    func unprotect(_ packet: UnsafeMutableRawPointer, _ length: inout Int32) -> Bool {
        guard length >= 12 else { return false }
        return take(SRTPSession.source(packet, at: 8)) { srtp_unprotect(session, packet, &length) }
    }

    func unprotectRTCP(_ packet: UnsafeMutableRawPointer, _ length: inout Int32) -> Bool {
        guard length >= 8 else { return false }
        return take(SRTPSession.source(packet, at: 4)) { srtp_unprotect_rtcp(session, packet, &length) }
    }

    private static func source(_ packet: UnsafeMutableRawPointer, at offset: Int) -> UInt32 {
        UInt32(bigEndian: packet.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// Decrypts a packet, unless there are too many sources already. One that is not authentic counts for none.
    private func take(_ source: UInt32, _ decrypt: () -> srtp_err_status_t) -> Bool {
        guard sources.contains(source) || sources.count < SRTPSession.maximumSources else { return false }
        guard decrypt() == srtp_err_status_ok else { return false }
        sources.insert(source)
        return true
    }
}
