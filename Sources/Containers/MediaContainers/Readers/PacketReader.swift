import VideoCapturing

/// Reads the encoded packets of a file, one after the other. Not thread-safe.
package protocol PacketReader: AnyObject {
    /// The file's path, for error messages.
    var path: String { get }

    /// The codec's four-character code, as in `VP80`.
    var fourCC: FourCC { get }

    /// The width in pixels that the header states; the packets may differ.
    var width: Int { get }

    /// The height in pixels that the header states; the packets may differ.
    var height: Int { get }

    /// The number of packets in the header; nil when it states none, or more than the file can hold. Often wrong:
    /// writers that were interrupted leave 0, others an estimate.
    var statedPacketCount: Int64? { get }

    /// See `FrameReader.discontinuities`.
    var discontinuities: Int { get }

    /// Whether ``rewind()`` works.
    var canRewind: Bool { get }

    /// Returns the next packet; nil at the end.
    ///
    /// - Throws: `MediaFileError` with `corruptData` when the file is damaged or ends within a packet; the
    ///   packets before it have been returned, and later calls return nil.
    func nextPacket() throws -> IVFReader.Packet?

    /// Goes back to the first packet.
    ///
    /// - Throws: `MediaFileError`; `formatUnsupported` when the file is a pipe.
    func rewind() throws

    /// Goes to the last packet at or before `time` from which decoding can begin, or to the first packet.
    ///
    /// - Throws: `MediaFileError`; `formatUnsupported` when the file is a pipe.
    func seekToKeyFrame(before time: Duration) throws

    /// - Throws: `MediaFileError` with `interrupted`; see ``InputFile/checkInterruption()``.
    func checkInterruption() throws
}

extension PacketReader {
    package var discontinuities: Int { 0 }
    package func seekToKeyFrame(before time: Duration) throws { try rewind() }
}

extension IVFReader {
    /// An encoded packet of a file.
    public struct Packet: Sendable {
        /// The encoded bytes.
        public var data: PacketBuffer
        /// The time on the file's time scale.
        public var timestamp: Duration
        /// Whether decoding can begin here; nil for codecs other than VP8.
        public var isKeyFrame: Bool?

        /// Creates a packet.
        public init(data: PacketBuffer, timestamp: Duration, isKeyFrame: Bool?) {
            self.data = data
            self.timestamp = timestamp
            self.isKeyFrame = isKeyFrame
        }
    }
}
