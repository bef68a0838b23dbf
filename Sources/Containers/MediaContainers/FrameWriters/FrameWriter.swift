import VideoCapturing

/// Takes pictures that are not encoded: a raw file, Y4M, a checksum.
///
/// One call at a time. Of the frames of one capture the writers keep pixels; orientation, mirroring and
/// metadata are not recorded, so frames are to be turned upright before.
public protocol FrameWriter: AnyObject, Sendable {
    /// Adds one frame. What was written before a failure remains whole.
    ///
    /// - Throws: `MediaFileError`; `formatUnsupported` for a pixel format or size that the file cannot take.
    func writeFrame(_ frame: VideoFrame) throws

    /// Writes what is still to be written and closes. Later calls do nothing.
    func finish() throws

    /// As ``finish()``, with the end of the capture: the time up to which the last frame is shown, nil when only the
    /// frames tell. Writers that keep no time have no use for it.
    func finish(at end: MediaTime?) throws

    /// The bytes of output so far; of writers without a file the bytes that went in. May be asked for from
    /// any thread at any time.
    var bytesWritten: Int64 { get }

    /// Whether a frame is written in a few microseconds and without waiting, so that it needs no thread of its own; see
    /// `ImmediateConsumer`. False unless a writer says otherwise.
    var isImmediate: Bool { get }
}

extension FrameWriter {
    public func finish(at end: MediaTime?) throws { try finish() }

    public var isImmediate: Bool { false }
}
