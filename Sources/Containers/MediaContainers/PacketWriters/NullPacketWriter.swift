import Synchronization
import VideoCapturing

/// Takes packets and keeps none: to measure all that comes before.
public final class NullPacketWriter: PacketWriter {
    private let count = Atomic<Int64>(0)

    public init() {}

    /// The bytes of the packets that went in.
    public var bytesWritten: Int64 { count.load(ordering: .relaxed) }

    /// Takes tracks of any codec.
    public func begin(_ tracks: [TrackDescription]) {}

    public func write(_ packet: MediaPacket) {
        count.wrappingAdd(Int64(packet.data.count), ordering: .relaxed)
    }

    public func finish() {}
}
