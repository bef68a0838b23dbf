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
