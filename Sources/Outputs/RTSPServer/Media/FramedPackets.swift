import CaptureCore
import NIOCore

/// The packets of a frame, or a report, as they stand on a connection: each behind `$`, its channel and its size (RFC 2326,
/// 10.12). All clients share the bytes.
struct FramedPackets: Sendable {
    /// The index of the track.
    var track: Int
    /// Whether it is a report, which goes to the other channel and the other port.
    var isReport = false
    /// Whether decoding can begin here.
    var isRandomAccess = false
    var bytes: ByteBuffer
    /// When it was handed in.
    var time: MediaTime
    /// The time of the frame.
    var frameTime = MediaTime.zero

    /// The bytes before each packet.
    static let headerSize = 4

    /// Packets without any content yet.
    init(track: Int, isReport: Bool = false, isRandomAccess: Bool = false, capacity: Int, time: MediaTime) {
        self.track = track
        self.isReport = isReport
        self.isRandomAccess = isRandomAccess
        self.time = time
        bytes = ByteBufferAllocator().buffer(capacity: capacity)
    }

    /// The channel that the bytes name.
    private var usualChannel: UInt8 { UInt8(truncatingIfNeeded: 2 * track + (isReport ? 1 : 0)) }

    /// Adds a packet of less than 64 KiB.
    mutating func append(_ packet: UnsafeRawBufferPointer) {
        bytes.writeInteger(UInt8(ascii: "$"))
        bytes.writeInteger(usualChannel)
        bytes.writeInteger(UInt16(truncatingIfNeeded: packet.count))
        bytes.writeBytes(packet)
    }

    /// The bytes for a client that uses these channels: nearly always those that all share.
    func bytes(on channels: TrackTransport.Channels) -> ByteBuffer {
        let channel = isReport ? channels.reports : channels.packets
        guard channel != usualChannel else { return bytes }
        var own = bytes
        var index = own.readerIndex
        while let size = own.getInteger(at: index + 2, as: UInt16.self) {
            own.setInteger(channel, at: index + 1)
            index += FramedPackets.headerSize + Int(size)
        }
        return own
    }

    /// The RTP sequence number of the first packet.
    var sequenceNumber: UInt16? {
        bytes.getInteger(at: bytes.readerIndex + FramedPackets.headerSize + 2)
    }

    /// The number of packets.
    var count: Int {
        var count = 0
        forEachPacket { _ in count += 1 }
        return count
    }

    /// Calls `body` with each packet.
    func forEachPacket(_ body: (UnsafeRawBufferPointer) -> Void) {
        bytes.withUnsafeReadableBytes { all in
            var index = 0
            while index + FramedPackets.headerSize <= all.count {
                let size = Int(all[index + 2]) << 8 | Int(all[index + 3])
                let start = index + FramedPackets.headerSize
                body(UnsafeRawBufferPointer(rebasing: all[start..<start + size]))
                index = start + size
            }
        }
    }
}

/// The packets that wait for one client. Of a client that takes too little, whole groups of pictures are left out: it never
/// gets a frame whose reference it lacks.
struct PlaybackQueue {
    /// How much may wait.
    struct Limits: Sendable, Hashable {
        var duration: Duration
        var bytes: Int
    }

    private let limits: Limits
    private var items = CircularBuffer<FramedPackets>(initialCapacity: 4)
    private(set) var byteCount = 0
    /// Whether everything before the next key frame is left out.
    private(set) var awaitsRandomAccess = true
    /// The frames that were left out since the first one that was sent, and how often.
    private(set) var framesDropped: UInt64 = 0
    private(set) var gaps: UInt64 = 0

    init(_ limits: Limits) { self.limits = limits }

    var isEmpty: Bool { items.isEmpty }
    var count: Int { items.count }

    /// Begins with these packets, whatever their number: the group since the last key frame. They wait from now on.
    mutating func begin(with packets: [FramedPackets], at now: MediaTime) {
        removeAll()
        awaitsRandomAccess = false
        for var item in packets {
            item.time = now
            append(item)
        }
    }

    /// Adds packets, or leaves them out. Returns false where a gap has begun.
    mutating func push(_ item: FramedPackets) -> Bool {
        if awaitsRandomAccess {
            guard item.isRandomAccess else {
                if gaps > 0, !item.isReport { framesDropped += 1 }
                return true
            }
            awaitsRandomAccess = false
        }
        append(item)
        guard let first = items.first, items.count > 1,
            byteCount > limits.bytes || item.time.nanoseconds(since: first.time) > limits.duration.nanoseconds
        else { return true }
        gaps += 1
        var kept: [FramedPackets] = []
        if let last = items.lastIndex(where: \.isRandomAccess), last != items.startIndex {
            kept = Array(items[last...])
        }
        framesDropped += UInt64(items.count { !$0.isReport } - kept.count { !$0.isReport })
        removeAll()
        awaitsRandomAccess = kept.isEmpty
        for item in kept { append(item) }
        return false
    }

    /// The next packets to send.
    mutating func pop() -> FramedPackets? {
        guard let item = items.popFirst() else { return nil }
        byteCount -= item.bytes.readableBytes
        return item
    }

    /// Leaves everything out up to the next key frame.
    mutating func reset() {
        removeAll()
        awaitsRandomAccess = true
    }

    private mutating func append(_ item: FramedPackets) {
        items.append(item)
        byteCount += item.bytes.readableBytes
    }

    private mutating func removeAll() {
        items.removeAll(keepingCapacity: true)
        byteCount = 0
    }
}
