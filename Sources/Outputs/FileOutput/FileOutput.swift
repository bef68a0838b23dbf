public import MediaContainers
public import MediaPublishing
public import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A file, or standard output, in one of the formats of `MediaContainers`.
///
/// ```swift
/// try publisher.add(FileOutput("film.webm"))
/// ```
/// Crash-safe as its format is: a process that is killed loses at most the frames of the last moments. Safe to use from any
/// thread.
public final class FileOutput: MediaOutput {
    /// The format.
    public let format: OutputFormat
    /// The path, `-` for standard output; nil for `null`, which writes nothing.
    public let path: String?
    private let overwrites: Bool
    private let state = Locked(State())

    private struct State {
        var file: OutputFile?
        var writer: Writer?
        var writeTimeout: Duration?
        var context: OutputContext?
    }

    private enum Writer {
        case frames(any FrameWriter, FrameWritingConsumer)
        case packets(any PacketWriter)
    }

    /// A file whose format follows from its extension.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - overwrites: whether an existing file is replaced, which is an error otherwise.
    /// - Throws: `MediaFileError` with the code `formatUnsupported` for an unknown extension.
    public convenience init(_ path: String, overwrites: Bool = false) throws(MediaFileError) {
        self.init(path, format: try OutputFormat(path: path), overwrites: overwrites)
    }

    /// A file of a given format.
    ///
    /// - Parameters:
    ///   - path: the file, or `-` for standard output; of no effect for `null`.
    ///   - format: its format.
    ///   - overwrites: whether an existing file is replaced, which is an error otherwise.
    public init(_ path: String, format: OutputFormat, overwrites: Bool = false) {
        self.format = format
        self.path = format == .null ? nil : path
        self.overwrites = overwrites
    }

    /// The path, `standard output`, or the format's name where that is all that tells.
    public var name: String {
        switch path {
        case nil: format.name
        case "-": format == .md5 ? "md5" : "standard output"
        case let path?: path
        }
    }

    /// The format's name.
    public var kind: String { format.name }

    /// Packets of VP8, or frames; nothing for files of sound.
    public var feed: OutputContext.Feed {
        guard !format.isSoundOnly else { return .noVideo }
        guard format.acceptsFrames else {
            return .packets(
                .init(
                    codecs: format == .h264 ? [.h264] : [.vp8],
                    pixelAspectCodecs: format == .webm ? [.vp8] : [.h264]))
        }
        // What keeps no frame gets frames as they are, on the capture's thread.
        return .frames(.init(pixelFormat: format.pixelFormat, isConverted: format != .null))
    }

    /// Opus in WebM, and samples in WAV; no other format holds sound.
    public var audioFeed: OutputContext.AudioFeed? {
        switch format {
        case .webm, .weba: .packets([.opus])
        case .wav: .packets([.pcm])
        case .ivf, .h264, .y4m, .yuv, .nv12, .null, .md5: nil
        }
    }

    /// The reason for formats of pictures; nil for digests, which are not expected to have sound.
    public var silenceReason: String? {
        format == .null || format == .md5 || audioFeed != nil ? nil : "\(format.name) holds pictures only"
    }

    // MARK: Life

    public func open(_ context: OutputContext) throws -> OutputContext.Destination {
        guard let path else {
            let writer = NullWriter()
            let consumer = FrameWritingConsumer(writer, onFailure: context.fail)
            state.withLock { state in
                state.writer = .frames(writer, consumer)
                state.context = context
            }
            return .consumer(consumer)
        }
        let file = try OutputFile(path: path, overwrite: overwrites, isWanted: { !context.isStopRequested() })
        let (writer, destination): (Writer, OutputContext.Destination)
        if format.acceptsFrames {
            let frames = try format.makeFrameWriter(
                to: file, timing: FileOutput.timing(context), maximumDuration: context.maximumDuration)
            let consumer = FrameWritingConsumer(frames, onFailure: context.fail)
            (writer, destination) = (.frames(frames, consumer), .consumer(consumer))
        } else {
            let packets = try format.makePacketWriter(to: file)
            (writer, destination) = (.packets(packets), .sink(packets))
        }
        state.withLock { state in
            state.file = file
            state.writer = writer
            state.context = context
            file.stallTimeout = state.writeTimeout
        }
        return destination
    }

    public func close(at end: MediaTime?) throws {
        let (writer, file) = state.withLock { ($0.writer, $0.file) }
        // Nothing is left of an encoder that has failed with its first frame.
        defer { if let file, file.bytesWritten == 0 { file.removeIfCreated() } }
        switch writer {
        case .frames(_, let consumer): try consumer.finish(at: end)
        // Finished by the encoder.
        case .packets, nil: break
        }
    }

    public func discard() {
        let (writer, file) = state.withLock { ($0.writer, $0.file) }
        switch writer {
        case .frames(_, let consumer): try? consumer.finish()
        case .packets(let packets): try? packets.finish()
        case nil: break
        }
        file?.removeIfCreated()
    }

    public func setWriteTimeout(_ timeout: Duration?) {
        let file = state.withLock { state in
            state.writeTimeout = timeout
            return state.file
        }
        file?.stallTimeout = timeout
    }

    public var limitsOwnWaits: Bool { state.withLock { $0.file?.waitsForReader ?? false } }

    /// How frames are timed in a format of one frame rate.
    static func timing(_ context: OutputContext) -> OutputFormat.Timing {
        let rate = context.format.estimatedFramesPerSecond
        switch context.pacing {
        case .playback: return .measured(stated: rate)
        case .onDemand: return .everyFrame(rate: rate ?? 30)
        // A rate of 1000 is no rate but a limit, as of a screen that is captured as fast as it changes.
        case .realTime: return rate.map { .constant($0 < 1000 ? $0 : 60) } ?? .measured(stated: nil)
        }
    }

    // MARK: Statistics

    public var outputStatistics: OutputStatistics {
        let (writer, context) = state.withLock { ($0.writer, $0.context) }
        var bytes: Int64 = 0
        var digest: String?
        var constantRate: ConstantRateWriter.Statistics?
        switch writer {
        case .frames(let frames, _):
            bytes = frames.bytesWritten
            digest = (frames as? MD5Writer)?.digest
            constantRate = (frames as? ConstantRateWriter)?.statistics
        case .packets(let packets): bytes = packets.bytesWritten
        case nil: break
        }
        var statistics = OutputStatistics(bytes: bytes)
        statistics.summary =
            FileSummary(
                output: self, bytes: bytes, digest: digest, constantRate: constantRate, context: context
            ).text
        statistics.details = [
            ("md5", digest.map { .string($0) } ?? .null),
            ("constantRate", constantRate.map(FileOutput.json) ?? .null),
        ]
        return statistics
    }

    private static func json(_ statistics: ConstantRateWriter.Statistics) -> JSONValue {
        .object([
            ("framesPerSecond", statistics.rate.map { .number($0.framesPerSecond) } ?? .null),
            ("seconds", .number(statistics.duration.seconds)), ("frames", .count(statistics.framesWritten)),
            ("repeated", .count(statistics.framesRepeated)), ("dropped", .count(statistics.framesDropped)),
            ("secondsLeftOut", .number(statistics.timeLeftOut.seconds)),
        ])
    }
}

extension OutputEntry {
    /// Every format that `MediaContainers` writes, each by its name and its extensions.
    public static var files: [OutputEntry] { OutputFormat.allCases.map { file($0) } }

    /// Files of one format.
    public static func file(_ format: OutputFormat) -> OutputEntry {
        let needsTarget = format != .null && format != .md5
        return OutputEntry(
            name: format.name, summary: format.description, extensions: format.extensions,
            needsTarget: needsTarget, defaultTarget: format == .md5 ? "-" : nil,
            make: { request in FileOutput(request.target, format: format, overwrites: request.overwrites) })
    }
}
