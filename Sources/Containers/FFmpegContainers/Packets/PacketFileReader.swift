import CLibAV
import FFmpegSupport
import MediaContainers
public import PacketCapturing

/// Reads the packets of a file as they are, from any key frame on. ``PacketFileCapturer`` is a capture of them.
///
/// The tracks and packets have the form that ``PacketFileCapturer`` states. Used by one thread at a time.
public final class PacketFileReader {
    /// The tracks, complete.
    public var tracks: [TrackDescription] { reader.tracks }
    /// When the pictures begin, or the sound of a file without pictures, on the time line of the packets.
    public let start: MediaTime

    private let path: String
    private let reader: FFmpegPacketReader

    /// Opens a file.
    ///
    /// - Parameter path: the file; not a pipe.
    /// - Throws: `MediaFileError`: `notFound`, `permissionDenied`, `formatUnsupported` or `corruptData`.
    public init(path: String) throws {
        self.path = path
        let file = try InputFile(path: path)
        guard file.isSeekable else {
            throw MediaFileError(
                .formatUnsupported, operation: "open the file", subject: path,
                message: "A pipe can only be read from front to back; save it as a file first.")
        }
        reader = try FFmpegPacketReader(FrameReaderFactory.Request(path: path, file: file))
        start = MediaTime(nanoseconds: reader.start)
    }

    /// How much time the file shows, as it states; of one that was not written to its end, by its packets, which reads all
    /// of it.
    public func measureDuration() throws -> Duration {
        if let duration = reader.statedDuration { return duration }
        let rest = try PacketFileReader(path: path)
        let leading = (rest.tracks.first { $0.isVideo } ?? rest.tracks.first)?.id
        var end = rest.start
        while let packet = try? rest.next() {
            if packet.track == leading { end = max(end, packet.timestamp + packet.duration) }
        }
        return end - rest.start
    }

    /// Goes to the last key frame not later than a time by the index of the file; without one to its beginning.
    public func seek(to time: MediaTime) { reader.seek(to: time.nanoseconds) }

    /// The next packet; nil at the end.
    ///
    /// Packets that are too damaged to be passed on are left out.
    ///
    /// - Throws: `MediaFileError` with the code `corruptData` where the file is cut off, after the packets of before.
    public func next() throws -> MediaPacket? { try reader.next() }
}
