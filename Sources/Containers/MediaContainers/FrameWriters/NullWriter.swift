import Synchronization
import VideoCapturing

/// Takes frames of any format and keeps none: to measure all that comes before.
public final class NullWriter: FrameWriter {
    private let count = Atomic<Int64>(0)

    public init() {}

    /// The bytes of the frames that went in, without padding.
    public var bytesWritten: Int64 { count.load(ordering: .relaxed) }

    public func writeFrame(_ frame: VideoFrame) {
        let planes = frame.buffer.planes
        let bytes = planes.reduce(0) { $0 + $1.rowBytes * $1.rows }
        count.wrappingAdd(Int64(bytes), ordering: .relaxed)
    }

    public func finish() {}

    public var isImmediate: Bool { true }
}
