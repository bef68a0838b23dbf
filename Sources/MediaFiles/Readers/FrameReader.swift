import VideoCapturing

/// Gives the pictures of a file, one after the other. Not to be used from two threads at once.
public protocol FrameReader: AnyObject {
    /// Pixel format, size and rate of the pictures. The pictures of an encoded file may change their size
    /// midway: then this is the first one's.
    var format: VideoFormat { get }

    /// How the numbers map to light.
    var color: ColorDescription { get }

    /// How many pictures there should be, counted from the file's size or header; nil when unknown. Files
    /// may be wrong about it.
    var estimatedFrameCount: Int64? { get }

    /// How many damaged packets have been left out so far.
    var damagedPackets: UInt64 { get }

    /// Whether ``rewind()`` works.
    var canRewind: Bool { get }

    /// The next picture and its time from the start of the file's time scale; nil at the end.
    ///
    /// - Throws: `MediaFileError` with `corruptData` when the file is damaged or ends within a picture; the
    ///   pictures before have been delivered, and what follows is nil.
    func nextFrame() throws -> (buffer: PixelBuffer, timestamp: Duration)?

    /// Goes back to the first picture. Throws `formatUnsupported` when the file is a pipe.
    func rewind() throws
}

extension FrameReader {
    public var damagedPackets: UInt64 { 0 }
}
