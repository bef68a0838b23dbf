import Synchronization
import VideoCapturing

/// Takes packets and keeps none: to measure all that comes before.
public final class NullPacketWriter: PacketWriter {
    private let count = Atomic<Int64>(0)

    public init() {}

    /// The bytes of the packets that went in.
    public var bytesWritten: Int64 { count.load(ordering: .relaxed) }

    public func consumePacket(_ packet: EncodedPacket) {
        count.wrappingAdd(Int64(packet.data.count), ordering: .relaxed)
    }

    public func finish() {}
}
