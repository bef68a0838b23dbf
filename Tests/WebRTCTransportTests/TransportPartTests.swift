import CaptureCore
import StreamTransport
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
        let batch = DatagramBatch.ofSRTP()
        var added = 0
        for _ in 0..<DatagramBatch.capacity + 5 {
            batch.add { _ in
                added += 1
                return 100
            }
        }
        #expect(batch.isFull && added == DatagramBatch.capacity)
        batch.removeAll()
        batch.add { _ in 0 }
        #expect(batch.count == 0)
    }
}
