import MediaContainers
import VideoCapturing

/// How to look at an output.
enum PlayHint {
    /// Nil for what cannot be played, or has gone out already.
    ///
    /// - Parameter played: the rate of a format of a constant rate; nil for the others.
    static func text(
        _ output: OutputName, path: String, rate played: FrameRate? = nil, _ run: RunSnapshot
    ) -> String? {
        guard path != "-" else { return nil }
        let quoted = shellQuoted(path)
        switch output.format {
        case .webm: return "Play it with: ffplay \(quoted), or open it in a browser."
        case .ivf, .y4m: return "Play it with: ffplay \(quoted)"
        case .yuv, .nv12:
            let name = output.format == .yuv ? "yuv420p" : "nv12"
            let size = run.outputSize
            let rate = (played ?? run.askedRate).map { " -framerate \($0)" } ?? ""
            return "Play it with: ffplay -f rawvideo -pixel_format \(name) -video_size \(size.width)x\(size.height)"
                + "\(rate) \(quoted)"
        case .null, .md5: return nil
        }
    }

    /// As a shell takes it for one word; and no option, where it begins with a dash.
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
