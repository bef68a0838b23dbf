import CLibV4L2
import VideoCapturing

/// A number for each plane of memory; zero for those that are not there. A vector, so that each frame's are copied and
/// compared at once.
typealias PlaneNumbers = SIMD4<UInt32>

/// What the driver says of a buffer that it has filled.
struct CapturedBuffer {
    /// The number of the buffer in its queue.
    var index: Int
    /// `V4L2_BUF_FLAG_…`.
    var flags: UInt32
    /// The driver's clock; which one it is, ``flags`` says.
    var timestamp: MediaTime
    /// The driver's count of frames.
    var sequence: UInt32
    /// For each plane of memory the bytes that were written, from its start.
    var bytesUsed: PlaneNumbers
    /// For each plane of memory where the picture begins.
    var dataOffsets: PlaneNumbers

    /// Whether the driver has given the buffer back without having begun to fill it, as some do with all that they
    /// have when one transfer fails: no frame, and its number says nothing.
    @inline(__always) var isUnfilled: Bool {
        flags & UInt32(V4L2_BUF_FLAG_ERROR) != 0 && timestamp == .zero && bytesUsed == .zero
    }
}
