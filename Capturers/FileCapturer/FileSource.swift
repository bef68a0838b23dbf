import MediaFiles
import VideoCapturing

/// Reads frames from a file's reader.
struct FileSource: FrameSource {
    private(set) var settings: CaptureSettings
    let pacing: FramePacing
    private let path: String
    private let decoders: [VideoDecoderFactory]
    private let rawFormat: VideoFormat?
    private var reader: (any FrameReader)?
    private var damagedSoFar: UInt64 = 0
    private var hasEnded = false
    /// Read, but overtaken by a stop before its time.
    private var takenBack: SourceFrame?

    init(path: String, decoders: [VideoDecoderFactory], rawFormat: VideoFormat?, isPaced: Bool) {
        self.path = path
        self.decoders = decoders
        self.rawFormat = rawFormat
        pacing = isPaced ? .sourceTimestamps : .sourceTimestampsWithoutWaiting
        // Unknown until the file is open.
        settings = CaptureSettings(format: rawFormat ?? .i420(width: 0, height: 0), sourceName: path)
    }

    mutating func open() throws {
        do {
            let reader = try MediaFileReader.open(path: path, decoders: decoders, rawFormat: rawFormat)
            settings.format = reader.format
            self.reader = reader
            damagedSoFar = 0
            hasEnded = false
        } catch {
            throw captureError(error)
        }
    }

    mutating func start(_ context: FrameContext) throws {
        guard hasEnded, let reader, reader.canRewind else { return }
        do {
            try reader.rewind()
            hasEnded = false
        } catch {
            throw captureError(error)
        }
    }

    mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        if let takenBack = takenBack.take() { return takenBack }
        guard let reader, !hasEnded else { return nil }
        do {
            guard let next = try reader.nextFrame() else {
                hasEnded = true
                return nil
            }
            var frame = SourceFrame(next.buffer, timestamp: MediaTime.zero.advanced(by: next.timestamp))
            frame.color = reader.color
            let damaged = reader.damagedPackets
            frame.corruptBefore = damaged - min(damaged, damagedSoFar)
            damagedSoFar = damaged
            return frame
        } catch {
            hasEnded = true
            throw captureError(error)
        }
    }

    mutating func takeBack(_ frame: SourceFrame) {
        takenBack = frame
    }

    mutating func close() {
        takenBack = nil
        reader = nil
    }

    private func captureError(_ error: any Error) -> CaptureError {
        switch error {
        case let error as CaptureError: error
        case let error as MediaFileError:
            CaptureError(
                FileSource.code(of: error), operation: error.operation, subject: error.path ?? path,
                errno: error.systemError, message: error.message)
        case let error as CodecError:
            CaptureError(.unavailable, operation: error.operation, subject: path, message: error.message)
        default:
            CaptureError(.system, operation: "read the file", subject: path, message: "\(error)")
        }
    }

    private static func code(of error: MediaFileError) -> CaptureError.Code {
        switch error.code {
        case .notFound: .deviceNotFound
        case .permissionDenied: .permissionDenied
        case .corruptData: .corruptData
        case .formatUnsupported: .formatUnsupported
        case .limitExceeded: .invalidConfiguration
        case .fileExists, .readOnly, .noSpace, .closedPipe, .interrupted, .system: .system
        }
    }
}
