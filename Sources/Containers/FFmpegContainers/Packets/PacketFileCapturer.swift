import MediaContainers
public import PacketCapturing

/// A capture of the packets of a file as they are, pictures and sound, of all containers that FFmpeg reads: nothing is
/// decoded.
///
/// ```swift
/// let publisher = MediaPublisher(packets: PacketFileCapturer(path: "film.mp4"), settings: settings)
/// ```
/// The tracks are those that a player shows: the best one of pictures, and the best one of sound. H.264 and H.265 come as
/// byte streams with parameter sets before key frames, AAC without headers; other packets come as in the file. A codec that has
/// no name in `Codec` has the library's, such as `hevc`, `vp9` or `av1`.
///
/// A restart goes on with the next key frame, and after the end of the file from its beginning; a pipe ends at once then.
/// A packet that is too damaged to be passed on is a loss, and the pictures go on with the next key frame. A truncated file
/// gives its packets, then the capture stops with `corruptData`.
public final class PacketFileCapturer: ForwardingPacketCapture {
    public let forwardedCapture: PacketSourceCapturer

    /// Creates a capture without opening the file; `initCapture` opens it, and throws `deviceNotFound`,
    /// `permissionDenied`, `formatUnsupported` or `corruptData` then. It waits for the first packets of a pipe
    /// indefinitely, or until `releaseCapture`.
    ///
    /// - Parameters:
    ///   - path: the file; `-` for standard input.
    ///   - pacing: `unpaced` to copy, `clock` to play.
    ///   - clock: the clock of timestamps and pacing.
    public init(path: String, pacing: PacketPacing = .unpaced, clock: any CaptureClock = MonotonicClock()) {
        forwardedCapture = PacketSourceCapturer(
            PacketFileSource(path: path, pacing: pacing == .live ? .clock : pacing), name: "packets", clock: clock,
            openTimeout: .seconds(366 * 86_400))
    }
}

/// Reads the packets of a file for a capturer.
private struct PacketFileSource: PacketSource {
    private(set) var settings: PacketSettings
    let pacing: PacketPacing
    private let path: String
    private var file: InputFile?
    private var reader: FFmpegPacketReader?
    private var hasEnded = false

    init(path: String, pacing: PacketPacing) {
        self.path = path
        self.pacing = pacing
        settings = PacketSettings(sourceName: path)
    }

    mutating func open(_ context: PacketContext) throws {
        do {
            let file = try InputFile(path: path)
            file.interruptDescriptor = context.stopDescriptor
            let reader = try FFmpegPacketReader(FrameReaderFactory.Request(path: path, file: file))
            self.file = file
            self.reader = reader
            hasEnded = false
            settings.tracks = reader.tracks
            settings.largestStep = reader.largestStep
        } catch {
            throw captureError(error)
        }
    }

    mutating func start(_ context: PacketContext) throws {
        guard hasEnded, let file, file.isSeekable else { return }
        do {
            try file.rewind()
            reader = try FFmpegPacketReader(FrameReaderFactory.Request(path: path, file: file))
            hasEnded = false
        } catch {
            throw captureError(error)
        }
    }

    mutating func nextPacket(_ context: PacketContext) throws -> MediaPacket? {
        guard !hasEnded, let reader else { return nil }
        do {
            let packet = try reader.next()
            for (track, count) in reader.takeLosses() { context.reportLoss(count, of: track) }
            if let packet { return packet }
            hasEnded = true
            return nil
        } catch  where error.code == .interrupted && context.isStopping {
            return nil
        } catch {
            hasEnded = true
            throw captureError(error)
        }
    }

    mutating func close() {
        reader = nil
        file = nil
    }

    private func captureError(_ error: any Error) -> CaptureError {
        guard let error = error as? MediaFileError else {
            return CaptureError(.system, operation: "read the file", subject: path, message: "\(error)")
        }
        let code: CaptureError.Code =
            switch error.code {
            case .notFound: .deviceNotFound
            case .permissionDenied: .permissionDenied
            case .corruptData: .corruptData
            case .formatUnsupported: .formatUnsupported
            case .limitExceeded: .invalidConfiguration
            case .interrupted: .invalidState
            default: .system
            }
        return CaptureError(
            code, operation: error.operation, subject: error.subject ?? path, errno: error.systemError,
            message: error.message)
    }
}
