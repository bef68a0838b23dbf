import CaptureCore
import TestTools
import Testing

@testable import WebRTCTransport

@Suite struct TransportPartTests {
    @Test func fingerprintsAreChecked() throws {
        let own = try DTLSContext.shared().fingerprint
        #expect(own.algorithm == .sha256 && own.value.utf8.count == 95)
        #expect(Fingerprint(algorithm: "SHA-256", value: own.value.lowercased()) == own)
        #expect(Fingerprint(algorithm: "sha-1", value: own.value) == nil)
        #expect(Fingerprint(algorithm: "sha-512", value: own.value) == nil)
    }

    /// The address for a host is one of this machine; loopback for loopback.
    @Test func theAddressTowardsAHostIsTheOneOfTheRoute() throws {
        #expect(try localAddress(towards: "127.0.0.1", port: 9) == "127.0.0.1")
        #expect(throws: CaptureError.self) { _ = try localAddress(towards: "no such host", port: 9) }
    }

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

    /// libsrtp keeps a stream for each source that has sent something authentic, and searches a list of them.
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
        // What is forged takes no place.
        for source in 100..<200 as Range<UInt8> { #expect(!isTaken(source, isForged: true)) }
        #expect((0..<40 as Range<UInt8>).map { isTaken($0) } == (0..<40).map { $0 < SRTPSession.maximumSources })
        #expect(isTaken(3), "those that are known go on")
    }

    @Test func namesOfCandidates() throws {
        let line = "candidate:1 1 udp 2130706431 localhost 40000 typ host generation 0"
        let found = try #require(NamedCandidate(line)).resolve()
        #expect(
            !found.isEmpty
                && found.allSatisfy { !$0.contains("localhost") && $0.hasSuffix(" 40000 typ host generation 0") })
        #expect(found.contains { $0.hasPrefix("candidate:1 1 udp 2130706431 127.0.0.1 ") || $0.contains(" ::1 ") })
        #expect(NamedCandidate(line.replacing("localhost", with: "no-such-name.invalid"))?.resolve() == [])
        for other in ["127.0.0.1", "::1", "fe80::abcd", "0a5c-12.local", "0A5C.LOCAL."] {
            #expect(NamedCandidate(line.replacing("localhost", with: other)) == nil, "\(other)")
        }
        #expect(NamedCandidate(line.replacing("udp", with: "tcp")) == nil && NamedCandidate("candidate:1 1 udp") == nil)
    }

    @Test func aBatchTakesWhatFits() {
        let batch = PacketBatch()
        var added = 0
        for _ in 0..<PacketBatch.capacity + 5 {
            batch.add { _ in
                added += 1
                return 100
            }
        }
        #expect(batch.isFull && added == PacketBatch.capacity)
        batch.removeAll()
        batch.add { _ in 0 }
        #expect(batch.count == 0)
    }
}
