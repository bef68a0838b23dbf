import MediaFiles
import VideoCapturing

/// A capture of a video file: Y4M, IVF and raw video, from a path or from standard input.
///
/// A restart goes on where the capture was stopped; after the end of the file it begins anew. A pipe cannot begin
/// anew: its restart ends at once. The rate follows what consumers want (`adapt(to:)`).
///
/// A file that is damaged or cut off delivers what is whole, then stops with `corruptData`; damaged packets
/// within an encoded file are left out and counted.
public final class FileCapturer: ForwardingVideoCapture {
    /// When the pictures are delivered.
    public enum Pacing: String, Sendable, Hashable, CaseIterable {
        /// At the file's own times, as a camera would.
        case realTime
        /// As fast as consumers take them. The timestamps keep the file's spacing and so run ahead of the clock.
        case asFastAsPossible
    }

    public let forwardedCapture: SourceCapturer

    /// Opens nothing yet; `initCapture` does, and throws `deviceNotFound`, `permissionDenied`,
    /// `formatUnsupported` or `corruptData` then.
    ///
    /// - Parameters:
    ///   - path: the file; `-` for standard input.
    ///   - decoders: the codecs that the program links, such as `VP8Decoder.factory`; for IVF.
    ///   - rawFormat: what a file without a header holds: pixel format, size and rate.
    ///   - pacing: when the pictures are delivered.
    ///   - clock: where timestamps and pacing come from.
    public init(
        path: String, decoders: [VideoDecoderFactory] = [], rawFormat: VideoFormat? = nil, pacing: Pacing = .realTime,
        clock: any CaptureClock = MonotonicClock()
    ) {
        forwardedCapture = SourceCapturer(
            FileSource(path: path, decoders: decoders, rawFormat: rawFormat, isPaced: pacing == .realTime),
            name: "file",
            clock: clock)
    }
}
