import CaptureCore
import StreamTransport
import TestTools

@testable import WebRTCTransport

/// Two connections of this process to each other over loopback, each with what it has received.
final class PeerPair: Sendable {
    struct Received {
        var media: [[UInt8]] = []
        var reports: [[UInt8]] = []
        var states: [PeerConnection.State] = []
    }

    /// One of the two sides.
    struct Side: Sendable {
        let peer: PeerConnection
        let received: Locked<Received>

        init(isControlling: Bool, timeout: Duration, resolvesNames: Bool = false) throws {
            let received = Locked(Received())
            var configuration = PeerConnection.Configuration(
                isControlling: isControlling, localAddresses: ["127.0.0.1"])
            configuration.connectTimeout = timeout
            configuration.resolvesNames = resolvesNames
            peer = try PeerConnection(
                configuration,
                PeerConnection.Handlers(
                    stateChanged: { state in received.withLock { $0.states.append(state) } },
                    reportReceived: { bytes in received.withLock { $0.reports.append(Array(bytes)) } },
                    mediaReceived: { bytes in received.withLock { $0.media.append(Array(bytes)) } }))
            self.received = received
        }

        /// Whether it closes before long, and why.
        var reasonOfEnd: CaptureError? {
            var reason: CaptureError?
            _ = eventually {
                guard case .closed(let error) = peer.state else { return false }
                reason = error
                return true
            }
            return reason
        }

        func send(_ packets: [[UInt8]]) {
            let batch = DatagramBatch.ofSRTP()
            for packet in packets {
                batch.add { memory in
                    memory.copyBytes(from: packet)
                    return packet.count
                }
            }
            peer.send(batch)
        }
    }

    let offering: Side
    let answering: Side

    /// - Parameter resolvesNames: whether the offering side looks up the names of candidates.
    init(timeout: Duration = .seconds(60), resolvesNames: Bool = false) throws {
        offering = try Side(isControlling: true, timeout: timeout, resolvesNames: resolvesNames)
        answering = try Side(isControlling: false, timeout: timeout)
    }

    deinit {
        offering.peer.close()
        answering.peer.close()
    }

    /// Describes each side to the other; `change` may falsify what the offering one is given. A `lite` answering side knows no
    /// address of the other.
    func exchange(
        isServer: Bool = true, isLite: Bool = false, _ change: (inout PeerConnection.Parameters) -> Void = { _ in }
    ) throws {
        offering.peer.gather()
        answering.peer.gather()
        var offer = try offering.peer.waitUntilGathered(for: .seconds(20))
        var answer = try answering.peer.waitUntilGathered(for: .seconds(20))
        change(&answer)
        if isLite { offer.candidates = [] }
        answering.peer.connect(to: offer, isServer: !isServer)
        offering.peer.connect(to: answer, isServer: isServer)
    }

    /// Whether both are ready before long.
    var areReady: Bool { eventually { self.offering.peer.state == .ready && self.answering.peer.state == .ready } }

    /// A packet of RTP.
    static func packet(_ number: UInt16, count: Int = 1100) -> [UInt8] {
        var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: count)
        bytes.replaceSubrange(0..<4, with: [0x80, 96, UInt8(number >> 8), UInt8(number & 255)])
        bytes.replaceSubrange(4..<12, with: [0, 0, 0, 1, 1, 2, 3, 4])
        return bytes
    }

    /// A receiver report without blocks.
    static let report: [UInt8] = [0x80, 201, 0, 1, 9, 8, 7, 6]
}
