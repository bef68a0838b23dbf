import CSRTP
import CaptureCore
import Testing

@testable import WebRTCTransport

@Suite struct SRTPTests {
    /// With GCM a repeated number would give away the key.
    @Test func aNumberIsNeverUsedTwice() throws {
        var keys = [UInt8](0..<28)
        let session = try keys.withUnsafeMutableBytes { keys in
            try SRTPSession(.outbound, .aeadAES128GCM, keys: keys)
        }
        var packet = PeerPair.packet(7) + [UInt8](repeating: 0, count: 24)
        func protect() -> Bool {
            var length: Int32 = 1100
            return packet.withUnsafeMutableBytes { session.protect($0.baseAddress!, &length) }
        }
        #expect(protect())
        packet.replaceSubrange(0..<1100, with: PeerPair.packet(7))
        #expect(!protect())
    }

    /// Each authentic source takes memory, and time with each packet.
    @Test func aPeerHasAFewSources() throws {
        var keys = [UInt8](0..<28)
        func session(_ direction: SRTPSession.Direction) throws -> SRTPSession {
            try keys.withUnsafeMutableBytes { try SRTPSession(direction, .aeadAES128GCM, keys: $0) }
        }
        let (sender, receiver) = (try session(.outbound), try session(.inbound))
        func isTaken(_ source: UInt8, isForged: Bool = false) -> Bool {
            var report: [UInt8] = [0x80, 201, 0, 1, 9, 8, 7, source] + [UInt8](repeating: 0, count: 64)
            var length: Int32 = 8
            return report.withUnsafeMutableBytes { bytes in
                guard sender.protectRTCP(bytes.baseAddress!, &length) else { return false }
                if isForged { bytes[Int(length) - 1] ^= 1 }
                return receiver.unprotectRTCP(bytes.baseAddress!, &length)
            }
        }
        // A forged one takes no place.
        for source in 100..<200 as Range<UInt8> { #expect(!isTaken(source, isForged: true)) }
        #expect((0..<40 as Range<UInt8>).map { isTaken($0) } == (0..<40).map { $0 < SRTPSession.maximumSources })
        #expect(isTaken(3), "those that are known go on")
    }

    // MARK: Vectors

    /// RFC 3711, B.3.
    @Test(
        arguments: [
            (0, "C61E7A93744F39EE10734AFE3FF7A087"), (2, "30CBBC08863D8C85D49DB34A9AE1"),
            (1, "CEBE321F6FF7716B6FD4AB49AF256A156D38BAA4"),
        ] as [(UInt8, String)])
    func keysAreDerivedAsSpecified(label: UInt8, key: String) throws {
        let master = bytes("E1F97A0D3E018BE0D64FA32C06DE4139 0EC675AD498AFEEBB6960B3AABE6")
        let derived = try master.withUnsafeBytes { master in
            try SRTPCipher.derive(master, label: label, count: bytes(key).count)
        }
        #expect(derived == bytes(key))
    }

    /// RFC 7714, 16.1.1.
    @Test func galoisCounterModeIsAsSpecified() throws {
        let cipher = try SRTPCipher(
            .aeadAES128GCM, .outbound, key: [UInt8](0..<16), salt: Array("Quid pro quo".utf8), authenticationKey: [])
        let header = bytes("8040f17b 8041f8d3 5501a0b2")
        var packet = header + Array("Gallia est omnis divisa in partes tres".utf8) + [UInt8](repeating: 0, count: 24)
        var length: Int32 = 50
        let isSealed = packet.withUnsafeMutableBytes {
            cipher.seal($0.baseAddress!, &length, clear: 12, 0x5501_a0b2, 0xf17b, word: 0, isReport: false)
        }
        let expected = bytes(
            """
            f24de3a3 fb34de6c acba861c 9d7e4bca be633bd5 0d294e6f 42a5f47a 51c7d19b 36de3adf 8833
            899d7f27 beb16a91 52cf765e e4390cce
            """)
        #expect(isSealed && Array(packet.prefix(Int(length))) == header + expected)
    }

    private func bytes(_ text: String) -> [UInt8] {
        let digits = text.compactMap { $0.hexDigitValue }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(16 * digits[$0] + digits[$0 + 1]) }
    }

    // MARK: The other end

    /// libsrtp with the same keys.
    private final class Library {
        private var session: srtp_t?

        init(_ direction: SRTPSession.Direction, _ profile: SRTPProfile, _ keys: [UInt8]) throws {
            _ = Library.isReady
            let kind = profile == .aeadAES128GCM ? srtp_profile_aead_aes_128_gcm : srtp_profile_aes128_cm_sha1_80
            var keys = keys
            let code = keys.withUnsafeMutableBufferPointer { keys in
                var policy = srtp_policy_t()
                srtp_crypto_policy_set_from_profile_for_rtp(&policy.rtp, kind)
                srtp_crypto_policy_set_from_profile_for_rtcp(&policy.rtcp, kind)
                policy.ssrc.type = direction == .outbound ? ssrc_any_outbound : ssrc_any_inbound
                policy.key = keys.baseAddress
                policy.window_size = 1024
                return srtp_create(&session, &policy)
            }
            try #require(code == srtp_err_status_ok)
        }

        deinit { srtp_dealloc(session) }

        private static let isReady = srtp_init() == srtp_err_status_ok

        func protect(_ packet: UnsafeMutableRawPointer, _ length: inout Int32) -> Bool {
            srtp_protect(session, packet, &length) == srtp_err_status_ok
        }
        func protectRTCP(_ packet: UnsafeMutableRawPointer, _ length: inout Int32) -> Bool {
            srtp_protect_rtcp(session, packet, &length) == srtp_err_status_ok
        }
        func unprotect(_ packet: UnsafeMutableRawPointer, _ length: inout Int32) -> Bool {
            srtp_unprotect(session, packet, &length) == srtp_err_status_ok
        }
        func unprotectRTCP(_ packet: UnsafeMutableRawPointer, _ length: inout Int32) -> Bool {
            srtp_unprotect_rtcp(session, packet, &length) == srtp_err_status_ok
        }
    }

    private typealias Step = (UnsafeMutableRawPointer, inout Int32) -> Bool

    /// A packet after a step; nil where it is refused.
    private func run(_ step: Step, on packet: [UInt8]) -> [UInt8]? {
        var memory = packet + [UInt8](repeating: 0, count: 64)
        var length = Int32(packet.count)
        let isTaken = memory.withUnsafeMutableBytes { step($0.baseAddress!, &length) }
        return isTaken ? Array(memory.prefix(Int(length))) : nil
    }

    /// Each packet of ours is that of libsrtp, and each end reads the other's: two sources with losses, late packets and a
    /// roll-over, any header and size, and reports in between. A changed or repeated packet is refused.
    @Test(arguments: [SRTPProfile.aeadAES128GCM, .aes128CMSHA1])
    func bothEndsUnderstandEachOther(_ profile: SRTPProfile) throws {
        var random = SystemRandomNumberGenerator()
        let keys = (0..<SRTPProfile.keySize + profile.saltSize).map { _ in UInt8.random(in: 0...255, using: &random) }
        func ours(_ direction: SRTPSession.Direction) throws -> SRTPSession {
            var keys = keys
            return try keys.withUnsafeMutableBytes { try SRTPSession(direction, profile, keys: $0) }
        }
        let (sender, receiver) = (try ours(.outbound), try ours(.inbound))
        let (theirSender, theirReceiver) = (
            try Library(.outbound, profile, keys), try Library(.inbound, profile, keys)
        )
        let count = environmentVariable("CAPTURER_SRTP_PACKETS").flatMap { Int($0) } ?? 1500
        let numbers = (0..<count / 30 * 30).map { 65_000 + $0 }
        for base in stride(from: 0, to: numbers.count, by: 30) {
            // Those of a second come in any order, and a tenth is lost.
            for number in numbers[base..<base + 30].shuffled() where Int.random(in: 0..<10) > 0 {
                let isReport = number % 20 == 0
                let packet = isReport ? report(UInt8(number % 2)) : media(UInt16(truncatingIfNeeded: number))
                let sealed = try #require(run(isReport ? sender.protectRTCP : sender.protect, on: packet))
                if !isReport { #expect(run(theirSender.protect, on: packet) == sealed) }
                #expect(run(isReport ? theirReceiver.unprotectRTCP : theirReceiver.unprotect, on: sealed) == packet)
                func open(_ packet: [UInt8]) -> [UInt8]? {
                    isReport ? run(receiver.unprotectRTCP, on: packet) : run(receiver.unprotect, on: packet)
                }
                var changed = sealed
                // Not the source, of which there may be no more.
                let place = Int.random(in: 12..<sealed.count)
                changed[place] ^= 1 << UInt8.random(in: 0..<8)
                #expect(open(changed) == nil, "\(number), byte \(place) of \(sealed.count)")
                #expect(open(sealed) == packet)
                #expect(open(sealed) == nil, "a second time")
            }
        }
        let theirs = try #require(run(theirSender.protectRTCP, on: report(9)))
        #expect(run(receiver.unprotectRTCP, on: theirs) == report(9))
    }

    private func media(_ number: UInt16) -> [UInt8] {
        let (sources, words) = (UInt8.random(in: 0...3), UInt8.random(in: 0...4))
        let hasExtension = Bool.random()
        var packet = [0x80 | sources | (hasExtension ? 0x10 : 0), 96, UInt8(number >> 8), UInt8(number & 0xFF)]
        packet += [1, 2, 3, 4, 0, 0, 0, UInt8(number % 2)] + [UInt8](repeating: 7, count: 4 * Int(sources))
        if hasExtension { packet += [0xBE, 0xDE, 0, words] + [UInt8](repeating: 5, count: 4 * Int(words)) }
        return packet + (0..<Int.random(in: 0...1200)).map { UInt8(truncatingIfNeeded: $0) }
    }

    private func report(_ source: UInt8) -> [UInt8] {
        [0x80, 200, 0, 6, 0, 0, 0, source] + [UInt8](repeating: 3, count: 20)
    }

    /// Short and damaged packets of any content are refused, and read no memory that is not theirs.
    @Test(arguments: [SRTPProfile.aeadAES128GCM, .aes128CMSHA1]) func anyBytesAreRefused(_ profile: SRTPProfile) throws
    {
        var keys = [UInt8](repeating: 1, count: 30)
        let receiver: SRTPSession = try keys.withUnsafeMutableBytes { try SRTPSession(.inbound, profile, keys: $0) }
        for _ in 0..<5000 {
            let packet = (0..<Int.random(in: 0...60)).map { _ in UInt8.random(in: 0...255) }
            let taken = [run(receiver.unprotect, on: packet), run(receiver.unprotectRTCP, on: packet)]
            #expect(taken == [nil, nil])
        }
    }
}
