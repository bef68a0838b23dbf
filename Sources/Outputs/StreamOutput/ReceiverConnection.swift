import MediaContainers
import StreamTransport
import Synchronization
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What waits for a receiver, and what was counted of it: shared by the encoding thread and the sending one.
final class ReceiverQueue: Sendable {
    let id: UInt64
    let address: String
    let queue: PacketQueue
    /// The track of its packets, which its header describes; nil until there is one.
    let track = Locked<TrackDescription?>(nil)
    /// Whether its header no longer fits what follows.
    let isEnding = Atomic(false)
    let counts = Locked(Counts())

    struct Counts {
        var packetsSent: UInt64 = 0
        var bytesSent: UInt64 = 0
        var isBlocked = false
        /// The bytes that were sent when it last lost packets: without progress it asks for no further key frame.
        var bytesAtRequest: UInt64?
        /// What it can take, in bits per second; nil for what the encoder makes.
        var bitrateLimit: Int?
    }

    init(id: UInt64, address: String, _ configuration: StreamOutput.Configuration) {
        self.id = id
        self.address = address
        // Enough for the longest delay at any rate of frames that is sent.
        let packets = min(4096, max(64, Int(configuration.maximumDelay.nanoseconds / 8_000_000)))
        queue = PacketQueue(
            PacketQueue.Limits(
                packets: packets, bytes: configuration.maximumWaitingBytes, duration: configuration.maximumDelay))
    }

    /// Puts a packet in; true when a key frame is needed for it. One thread at a time.
    func push(_ packet: MediaPacket, of track: TrackDescription) -> Bool {
        // Before the packet, which the sending thread may take at once.
        if packet.isKeyFrame { self.track.withLock { $0 = $0 ?? track } }
        guard queue.push(packet) == .needsKeyFrame else { return false }
        return counts.withLock { counts in
            defer { counts.bytesAtRequest = counts.bytesSent }
            return counts.bytesAtRequest != counts.bytesSent
        }
    }

    /// Takes no more packets if there was one; what waits is sent, and then the connection is ended.
    func endIfBegun() -> Bool {
        guard track.withLock({ $0 != nil }) else { return false }
        queue.close()
        isEnding.store(true, ordering: .releasing)
        return true
    }

    var receiver: StreamOutput.Receiver {
        let (queued, counts) = (queue.counts, counts.withLock { $0 })
        var receiver = StreamOutput.Receiver(
            id: id, address: address,
            state: counts.isBlocked ? .stalled : counts.packetsSent == 0 ? .awaitingKeyFrame : .sending)
        receiver.packetsSent = counts.packetsSent
        receiver.bytesSent = counts.bytesSent
        receiver.packetsDropped = queued.dropped
        receiver.gaps = queued.gaps
        receiver.packetsWaiting = queued.waiting
        receiver.bytesWaiting = queued.waitingBytes
        receiver.bitrateLimit = counts.bitrateLimit
        return receiver
    }
}

/// A connected receiver on the sending thread, which alone uses it.
final class ReceiverConnection {
    /// What became of an attempt to send.
    enum Progress {
        /// Everything was sent.
        case idle
        /// The kernel takes no more for now.
        case blocked
        /// The connection is lost, with an `errno`.
        case lost(Int32)
    }

    let socket: StreamSocket
    let shared: ReceiverQueue
    /// The other side may still send; nothing of that is used.
    private(set) var isInputOpen = true
    /// When the kernel last took something, or there was nothing to send.
    private(set) var lastProgress = MonotonicClock().now

    private let format: StreamOutput.Format
    private var matroska: MatroskaStream?
    private var hasBegun = false
    /// The packet that is being sent, between ``prefix`` and ``suffix``.
    private var packet: MediaPacket?
    private var prefix: [UInt8] = []
    private var suffix: [UInt8] = []
    /// The bytes of the three that were sent.
    private var sent = 0
    private var bytesSent: UInt64 = 0
    private(set) var congestion = CongestionControl()

    /// An access unit delimiter that allows slices of any type (ITU-T H.264, 7.3.2.4).
    private static let delimiter: [UInt8] = [0, 0, 0, 1, 9, 0xF0]

    init(_ socket: StreamSocket, _ shared: ReceiverQueue, format: StreamOutput.Format) {
        self.socket = socket
        self.shared = shared
        self.format = format
        prefix.reserveCapacity(1024)
        if format == .annexB { suffix = ReceiverConnection.delimiter }
    }

    /// Whether everything was sent that has come.
    var isDrained: Bool { packet == nil && shared.queue.isEmpty }

    /// Whether something waits for the kernel.
    var isBlocked: Bool { packet != nil }

    /// Sends what waits, as far as the kernel takes it.
    func send() -> Progress {
        while true {
            if packet == nil {
                guard let next = shared.queue.popIfPresent() else {
                    lastProgress = MonotonicClock().now
                    return .idle
                }
                begin(next)
            }
            let count = sendBlocks()
            guard count >= 0 else {
                guard count == -Int(EAGAIN) else { return .lost(Int32(-count)) }
                shared.counts.withLock { $0.isBlocked = true }
                return .blocked
            }
            sent += count
            bytesSent += UInt64(count)
            lastProgress = MonotonicClock().now
            let isComplete = sent == prefix.count + (packet?.data.count ?? 0) + suffix.count
            shared.counts.withLock { counts in
                counts.bytesSent += UInt64(count)
                counts.isBlocked = false
                if isComplete { counts.packetsSent += 1 }
            }
            if isComplete { packet = nil }
        }
    }

    /// Looks at what waits, and finds the bitrate that the receiver can take.
    ///
    /// - Parameter maximum: the bitrate of the encoder's configuration.
    func updateCongestion(at now: MediaTime, maximum: Int) {
        let inKernel = socket.unsentByteCount
        let unsent = packet.map { prefix.count + $0.data.count + suffix.count - sent } ?? 0
        let queued = shared.queue.counts
        let before = congestion.limit
        congestion.update(
            CongestionControl.Sample(
                time: now, bytesTaken: bytesSent - min(bytesSent, UInt64(inKernel)),
                bytesWaiting: queued.waitingBytes + unsent + inKernel, gaps: queued.gaps), maximum: maximum)
        if congestion.limit != before { shared.counts.withLock { $0.bitrateLimit = congestion.limit } }
    }

    private func begin(_ next: MediaPacket) {
        packet = next
        sent = 0
        prefix.removeAll(keepingCapacity: true)
        switch format {
        case .annexB:
            if !hasBegun { prefix.append(contentsOf: ReceiverConnection.delimiter) }
        case .matroska:
            if matroska == nil, let track = shared.track.withLock({ $0 }) { matroska = MatroskaStream([track]) }
            matroska?.appendPrefix(of: next, bytes: next.data.count, to: &prefix)
        }
        hasBegun = true
    }

    /// Hands what is left of the three blocks to the kernel.
    private func sendBlocks() -> Int {
        guard let data = packet?.data else { return 0 }
        return prefix.withUnsafeBytes { prefix in
            data.withUnsafeBytes { body in
                suffix.withUnsafeBytes { suffix in
                    withUnsafeTemporaryAllocation(of: iovec.self, capacity: 3) { blocks in
                        var skipped = sent
                        var count = 0
                        func add(_ block: UnsafeRawBufferPointer) {
                            let start = min(skipped, block.count)
                            skipped -= start
                            guard start < block.count, let base = block.baseAddress else { return }
                            blocks.initializeElement(
                                at: count,
                                to: iovec(
                                    iov_base: UnsafeMutableRawPointer(mutating: base + start),
                                    iov_len: block.count - start))
                            count += 1
                        }
                        add(prefix)
                        add(body)
                        add(suffix)
                        return socket.send(UnsafeMutableBufferPointer(rebasing: blocks[..<count]))
                    }
                }
            }
        }
    }

    /// Reads what the other side says, which is of no use, so that its end is found.
    func discardInput() -> Progress {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { bytes in
            for _ in 0..<64 {
                let count = socket.receive(into: bytes)
                if count == -Int(EAGAIN) { return .idle }
                if count < 0 { return .lost(Int32(-count)) }
                if count == 0 {
                    // It may be that it only sends no more, as netcat does at the end of its input.
                    isInputOpen = false
                    return .idle
                }
            }
            return .idle
        }
    }
}
