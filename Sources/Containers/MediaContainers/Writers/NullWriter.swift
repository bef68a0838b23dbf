import Synchronization
import VideoCapturing

/// Discards frames of any format: to measure the stages before it.
public final class NullWriter: FrameWriter {
    private let count = Atomic<Int64>(0)

    /// Creates a writer.
    public init() {}

    /// The bytes of the frames, without padding.
    public var bytesWritten: Int64 { count.load(ordering: .relaxed) }

    public func writeFrame(_ frame: VideoFrame) {
        let planes = frame.buffer.planes
        let bytes = planes.reduce(0) { $0 + $1.rowBytes * $1.rows }
        count.wrappingAdd(Int64(bytes), ordering: .relaxed)
    }

    public func finish() {}

    public var acceptsInlineDelivery: Bool { true }
}

/// Discards packets: to measure the stages before it.
public final class NullPacketWriter: PacketWriter {
    private let count = Atomic<Int64>(0)

    /// Creates a writer.
    public init() {}

    /// The bytes of the packets.
    public var bytesWritten: Int64 { count.load(ordering: .relaxed) }

    /// Accepts tracks of any codec.
    public func begin(_ tracks: [TrackDescription]) {}

    public func write(_ packet: MediaPacket) {
        count.wrappingAdd(Int64(packet.data.count), ordering: .relaxed)
    }

    public func finish() {}
}
