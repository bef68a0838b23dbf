import MediaContainers
import MediaPublishing
import VideoCapturing

/// What became of a file, in sentences for the user: what is in it, and how to play it.
struct FileSummary {
    let output: FileOutput
    let bytes: Int64
    let digest: String?
    let constantRate: ConstantRateWriter.Statistics?
    let context: OutputContext?

    var text: String {
        guard output.format != .null else { return "" }
        let name = printable(output.name, limit: 200)
        guard let path = output.path, bytes > 0 || output.format == .md5 else { return "\(name): nothing was written." }
        if output.format == .md5 { return digest.map { "\(name): MD5 \($0)." } ?? "\(name): not finished." }
        let rate = constantRate.map(FileSummary.text) ?? ""
        let hint = path == "-" ? nil : playHint(path)
        let isMute = output.format == .webm && context?.audioFormat == nil
        let content = isMute ? "VP8 in WebM, for browsers and players" : output.format.description
        return "\(name): \(scaled(Double(bytes), "B")), \(content)\(rate)."
            + (hint.map { " \($0)" } ?? "")
    }

    /// The duration of a file with a constant frame rate, and the frames that were repeated and dropped for it.
    private static func text(_ statistics: ConstantRateWriter.Statistics) -> String {
        guard let rate = statistics.rate, statistics.framesWritten > 0 else { return "" }
        var text = ", \(fixed(statistics.duration.seconds, 1)) s at \(rate) fps, "
        text += "\(statistics.framesRepeated) repeated, \(statistics.framesDropped) dropped"
        let left = statistics.timeLeftOut
        if left > .zero { text += ", a gap of \(fixed(left.seconds, 1)) s in the timestamps left out" }
        return text
    }

    /// How to play it; nil for what cannot be played.
    private func playHint(_ path: String) -> String? {
        let quoted = shellQuoted(path)
        switch output.format {
        case .webm: return "Play it with: ffplay \(quoted), or open it in a browser."
        case .ivf, .h264, .y4m, .weba, .wav: return "Play it with: ffplay \(quoted)"
        case .yuv, .nv12:
            guard let context else { return nil }
            let name = output.format == .yuv ? "yuv420p" : "nv12"
            let isTurned = context.orientation.swapsDimensions
            let (width, height) = (context.format.imageWidth, context.format.imageHeight)
            let rate = (constantRate?.rate ?? context.format.estimatedFramesPerSecond).map { " -framerate \($0)" }
            return "Play it with: ffplay -f rawvideo -pixel_format \(name) -video_size "
                + "\(isTurned ? height : width)x\(isTurned ? width : height)\(rate ?? "") \(quoted)"
        case .null, .md5: return nil
        }
    }
}
