import MediaContainers
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An output that is open.
struct OutputWriter: Sendable {
    enum Kind: Sendable {
        case frames(any FrameWriter)
        case packets(any PacketWriter)
    }

    /// How long the reader of one of several outputs may stall before the output fails; it blocks the other outputs
    /// meanwhile. A single output waits until a stop is requested.
    static let stallTimeout = Duration.seconds(5)

    let name: OutputName
    let kind: Kind
    /// The file; nil for `null`.
    var file: OutputFile?
    /// The path of the file, if this run created it; nil when it existed before.
    let madeFile: String?

    var bytesWritten: Int64 {
        switch kind {
        case .frames(let writer): writer.bytesWritten
        case .packets(let writer): writer.bytesWritten
        }
    }

    /// The checksum, once the output is finished.
    var digest: String? {
        if case .frames(let writer as MD5Writer) = kind { return writer.digest }
        return nil
    }

    /// The repeated and dropped frames of a format with a constant frame rate; nil for other formats, and where each
    /// frame is written once.
    var constantRate: ConstantRateWriter.Statistics? {
        if case .frames(let writer as ConstantRateWriter) = kind { return writer.statistics }
        return nil
    }

    /// Opens all outputs or none: when one fails, the files that were created for the others are removed.
    ///
    /// - Parameters:
    ///   - timing: how frames are timed in formats with a constant frame rate.
    ///   - duration: the maximum duration of such an output; nil for no limit.
    ///   - isWanted: called while a FIFO has no reader; false ends the wait.
    static func open(
        _ outputs: [OutputName], overwrites: Bool, timing: OutputFormat.Timing, duration: Duration? = nil,
        isWanted: () -> Bool = { true }
    ) throws(MediaFileError) -> [OutputWriter] {
        var opened: [OutputWriter] = []
        for output in outputs {
            guard let path = output.path else {
                opened.append(OutputWriter(name: output, kind: .frames(NullWriter()), madeFile: nil))
                continue
            }
            let isNew = path != "-" && access(path, F_OK) != 0
            do {
                let file = try OutputFile(path: path, overwrite: overwrites, isWanted: isWanted)
                let kind: Kind =
                    output.isEncoded
                    ? .packets(try output.format.makePacketWriter(to: file))
                    : .frames(
                        try output.format.makeFrameWriter(to: file, timing: timing, maximumDuration: duration))
                opened.append(OutputWriter(name: output, kind: kind, file: file, madeFile: isNew ? path : nil))
            } catch {
                removeFiles(of: opened)
                throw error
            }
        }
        return opened
    }

    /// Removes the files that were created for a run that did not start.
    static func removeFiles(of writers: [OutputWriter]) {
        for case let path? in writers.map(\.madeFile) { unlink(path) }
    }
}

extension CapturePlan {
    /// How the frames of a capture are timed in formats with a constant frame rate.
    ///
    /// - Parameters:
    ///   - format: the format of the capture, once it is known.
    ///   - isFile: whether it plays a file, whose stated rate may be an average.
    func frameTiming(for format: VideoFormat, isFile: Bool) -> OutputFormat.Timing {
        if isFile { return .measured(stated: format.estimatedFramesPerSecond) }
        guard request.rate == .maximum else {
            return format.estimatedFramesPerSecond.map { .constant($0) } ?? .measured(stated: nil)
        }
        // The timestamps of frames that are produced as fast as they are consumed mean nothing. A camera states its
        // highest rate; the rate of a screen is only a limit.
        guard let rate = format.estimatedFramesPerSecond else { return .everyFrame(rate: 30) }
        return .constant(rate < RateOption.fastest ? rate : 60)
    }
}
