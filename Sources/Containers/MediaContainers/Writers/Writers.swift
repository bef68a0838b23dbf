import VideoCapturing

/// A writer of frames that are not encoded: a raw file, Y4M, a checksum.
///
/// One call at a time. Writers record only pixels, no orientation, mirroring or metadata, so frames must be rotated for
/// display before.
public protocol FrameWriter: AnyObject, Sendable {
    /// Writes one frame. After a failure the frames before it remain complete.
    ///
    /// - Throws: `MediaFileError`; `formatUnsupported` for a pixel format or size that the file does not accept.
    func writeFrame(_ frame: VideoFrame) throws

    /// Writes the remaining bytes and closes. Later calls do nothing.
    func finish() throws

    /// As ``finish()``, with the end of the capture. Writers without timestamps or rate ignore it.
    ///
    /// - Parameter end: the time up to which the last frame is shown; nil when it is unknown.
    func finish(at end: MediaTime?) throws

    /// The bytes of output so far; of writers without a file the bytes that were passed in. Thread-safe.
    var bytesWritten: Int64 { get }

    /// Whether a frame is written in a few microseconds and without waiting, so that it needs no separate thread; see
    /// `InlineConsumer`. False by default.
    var acceptsInlineDelivery: Bool { get }
}

extension FrameWriter {
    public func finish(at end: MediaTime?) throws { try finish() }

    public var acceptsInlineDelivery: Bool { false }
}

/// A packet sink that writes a file. Finish it once; later calls do nothing.
public protocol PacketWriter: PacketSink {
    /// The bytes of output so far; of writers without a file the bytes that were passed in. Thread-safe.
    var bytesWritten: Int64 { get }
}
