import FileCapturer
import MJPEGServer
import MediaContainers
import VideoCapturing

/// The text of a run: a line at its beginning, and at its end one for the capture and one for each output.
enum Summary {
    /// The line at the beginning.
    static func beginning(_ run: RunSnapshot) -> String {
        let rate = run.askedRate.map { "at \($0) fps" } ?? (run.isHurried ? "as fast as possible" : "at its own rate")
        let outputs = run.outputs.map { output in
            let bitrate = output.name.isEncoded ? run.targetBitrate.map { ", \(scaled(Double($0), "b/s"))" } ?? "" : ""
            let format =
                output.name.path == nil || output.name.format == .md5 ? "" : " (\(output.name.format.name)\(bitrate))"
            return printable(output.name.displayName, limit: 200) + format
        }
        let place = outputs.isEmpty ? "" : ", to \(outputs.joined(separator: ", "))"
        return "Capturing \(run.source), \(run.width)x\(run.height) \(run.pixelFormat) \(rate)\(place). Ctrl-C ends it."
    }

    /// The line with the URLs of the server; nil without one.
    static func servingLine(_ run: RunSnapshot) -> String? {
        run.url.map { "Serving \($0) to browsers; the MJPEG stream is \($0)stream, a JPEG image \($0)snapshot." }
    }

    /// The line about the capture: the number of frames, and how many each consumer took and dropped.
    static func captureLine(_ run: RunSnapshot) -> String {
        var first = "Captured \(frames(run.captured)) in \(fixed(run.capturedTime.seconds, 1)) s"
        if let rate = run.meanRate { first += " (\(fixed(rate, 1)) fps)" }
        if let progress = run.progress, let duration = progress.duration {
            first += ", up to \(playingTime(progress.position)) of \(playingTime(duration))"
        }
        first += ", \(run.lost.total) lost at the source"
        for (index, consumer) in run.consumers.enumerated() {
            if index == 0, let encoding = run.encoding {
                first += "; \(consumer.name) encoded \(encoding.packets), dropped "
                first += "\(consumer.dropped.total + encoding.framesDropped)"
            } else {
                first += "; \(consumer.name) wrote \(consumer.delivered), dropped \(consumer.dropped.total)"
            }
        }
        return first + "."
    }

    /// A line for each output.
    static func outputLines(_ run: RunSnapshot) -> [String] {
        run.outputs.map { line($0, run) } + (run.serving.map { [line($0)] } ?? [])
    }

    private static func line(_ serving: MJPEGServerStatistics) -> String {
        "Served \(frames(serving.framesSent)), \(scaled(Double(serving.bytesSent), "B")); skipped "
            + "\(serving.framesSkipped) for slow viewers."
    }

    private static func line(_ output: RunSnapshot.Output, _ run: RunSnapshot) -> String {
        let name = output.name.displayName
        guard let path = output.name.path, run.captured > 0 || output.bytes > 0 || output.name.format == .md5 else {
            return "\(name): nothing was written."
        }
        if output.name.format == .md5 {
            return output.digest.map { "\(name): MD5 \($0) of \(frames(run.captured))." } ?? "\(name): not finished."
        }
        var text = "\(name): \(scaled(Double(output.bytes), "B")), \(output.name.format.description)"
        if let statistics = output.constantRate { text += constantRateText(statistics) }
        text += output.hasFailed ? ", incomplete." : "."
        if output.bytes > 0, let hint = PlayHint.text(output.name, path: path, rate: output.constantRate?.rate, run) {
            text += " \(hint)"
        }
        return text
    }

    /// The duration of a file with a constant frame rate, and the frames that were repeated and dropped for it.
    private static func constantRateText(_ statistics: ConstantRateStatistics) -> String {
        guard let rate = statistics.rate, statistics.framesWritten > 0 else { return "" }
        var text = ", \(fixed(statistics.duration.seconds, 1)) s at \(rate) fps, "
        text += "\(statistics.framesRepeated) repeated, \(statistics.framesDropped) dropped"
        let left = statistics.timeLeftOut
        if left > .zero { text += ", a gap of \(fixed(left.seconds, 1)) s in the timestamps left out" }
        return text
    }

    private static func frames(_ count: UInt64) -> String { count == 1 ? "1 frame" : "\(count) frames" }
}

/// How to play an output.
enum PlayHint {
    /// The sentence for the user; nil for an output that cannot be played, or went to standard output.
    ///
    /// - Parameter played: the rate of a format with a constant frame rate; nil for other formats.
    static func text(
        _ output: OutputName, path: String, rate played: FrameRate? = nil, _ run: RunSnapshot
    ) -> String? {
        guard path != "-" else { return nil }
        let quoted = shellQuoted(path)
        switch output.format {
        case .webm: return "Play it with: ffplay \(quoted), or open it in a browser."
        case .ivf, .h264, .y4m: return "Play it with: ffplay \(quoted)"
        case .yuv, .nv12:
            let name = output.format == .yuv ? "yuv420p" : "nv12"
            let size = run.outputSize
            let rate = (played ?? run.askedRate).map { " -framerate \($0)" } ?? ""
            return "Play it with: ffplay -f rawvideo -pixel_format \(name) -video_size \(size.width)x\(size.height)"
                + "\(rate) \(quoted)"
        case .null, .md5: return nil
        }
    }

    /// Quotes a path as one word for a shell, which no program mistakes for an option.
    static func shellQuoted(_ path: String) -> String {
        let path = path.hasPrefix("-") ? "./\(path)" : path
        let isPlain = path.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-_./+,:@%".utf8.contains(byte)
            }
        }
        guard !isPlain else { return path }
        return "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
