import Synchronization
import VideoCapturing

/// Discards frames of any format: to measure the stages before it.
package final class NullWriter: FrameWriter {
    private let count = Atomic<Int64>(0)

    /// Creates a writer.
    package init() {}

    /// The bytes of the frames, without padding.
    package var bytesWritten: Int64 { count.load(ordering: .relaxed) }

    package func writeFrame(_ frame: VideoFrame) {
        let planes = frame.buffer.planes
        let bytes = planes.reduce(0) { $0 + $1.rowBytes * $1.rows }
        count.wrappingAdd(Int64(bytes), ordering: .relaxed)
    }

    package func finish() {}

    package var acceptsInlineDelivery: Bool { true }
}

/// Discards packets: to measure the stages before it.
package final class NullPacketWriter: PacketWriter {
    private let count = Atomic<Int64>(0)

    /// Creates a writer.
    package init() {}

    /// The bytes of the packets.
    package var bytesWritten: Int64 { count.load(ordering: .relaxed) }

    /// Accepts tracks of any codec.
    package func begin(_ tracks: [TrackDescription]) {}

    package func write(_ packet: MediaPacket) {
        count.wrappingAdd(Int64(packet.data.count), ordering: .relaxed)
    }

    package func finish() {}
}
