import CaptureCore
package import StreamTransport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension DatagramBatch {
    /// One for packets of RTP to peers, with room for the tag of SRTP.
    package static func ofSRTP() -> DatagramBatch { DatagramBatch(size: 1500, spare: SRTPSession.tagSize) }
}

/// What sends to a peer: its keys, and the paths to it.
struct Outbound {
    let srtp: SRTPSession
    let agent: ICEAgent
    var direct: DirectPath?

    /// Sends a batch of protected packets. Returns how many were taken, and their bytes.
    func send(_ batch: DatagramBatch) -> (count: Int, bytes: Int) {
        if let direct { return direct.send(batch) }
        // The first ones.
        let taken = agent.send(batch.datagrams)
        return (taken, batch.datagrams[..<taken].reduce(0) { $0 + $1.iov_len })
    }
}

/// The socket of a chosen pair, for datagrams that need nothing else of the agent: its lock and a system call for each of
/// them cost more than encryption. A duplicate, so that it can never be another file's descriptor.
///
/// `@unchecked Sendable`: used under the lock of its peer.
final class DirectPath: @unchecked Sendable {
    private let descriptor: CInt
    private let peer: sockaddr_storage
    private let length: Int
    private var runs = DatagramRuns()

    init(_ descriptor: CInt, peer: sockaddr_storage, length: Int) {
        self.descriptor = descriptor
        self.peer = peer
        self.length = length
    }

    deinit { _ = systemClose(descriptor) }

    /// Sends the packets of a batch. Returns how many were taken, and their bytes.
    func send(_ batch: DatagramBatch) -> (count: Int, bytes: Int) {
        let sent = withUnsafePointer(to: peer) { peer in
            peer.withMemoryRebound(to: sockaddr.self, capacity: 1) { peer in
                runs.send(batch.datagrams, by: descriptor, to: peer, length: length)
            }
        }
        return (sent.count, sent.bytes)
    }
}

private func systemClose(_ descriptor: CInt) -> CInt { close(descriptor) }
