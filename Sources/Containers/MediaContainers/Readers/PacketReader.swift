import VideoCapturing

/// Gives the encoded packets of a file, one after the other. Not to be used from two threads at once.
public protocol PacketReader: AnyObject {
    /// The file's path, for error messages.
    var path: String { get }

    /// The codec's four-character code, as in `VP80`.
    var fourCC: String { get }

    /// The width in pixels that the header states; the packets may differ.
    var width: Int { get }

    /// The height in pixels that the header states; the packets may differ.
    var height: Int { get }

    /// How many packets the header states; nil when it states none, or more than the file can hold. Often
    /// wrong: writers that were interrupted leave 0, others an estimate.
    var statedPacketCount: Int64? { get }

    /// Whether ``rewind()`` works.
    var canRewind: Bool { get }

    /// The next packet; nil at the end.
    ///
    /// - Throws: `MediaFileError` with `corruptData` when the file is damaged or ends within a packet; the
    ///   packets before have been delivered, and what follows is nil.
    func nextPacket() throws -> FilePacket?

    /// Goes back to the first packet. Throws `formatUnsupported` when the file is a pipe.
    func rewind() throws

    /// Goes to the last packet at or before `time` from which decoding can begin, or to the first packet. Throws
    /// `formatUnsupported` when the file is a pipe.
    func seekToKeyFrame(before time: Duration) throws
}

extension PacketReader {
    public func seekToKeyFrame(before time: Duration) throws { try rewind() }
}

/// An encoded packet as a file holds it.
public struct FilePacket: Sendable {
    /// The encoded bytes.
    public var data: PacketBuffer
    /// The time on the file's time scale.
    public var timestamp: Duration
    /// Whether decoding can begin here; nil for codecs other than VP8.
    public var isKeyFrame: Bool?

    public init(data: PacketBuffer, timestamp: Duration, isKeyFrame: Bool?) {
        self.data = data
        self.timestamp = timestamp
        self.isKeyFrame = isKeyFrame
    }
}
