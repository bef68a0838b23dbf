import FFmpegContainers
import FileCapturer
import MediaContainers
import VP8Codec
import VideoCapturing

/// What the tool links to read files that are neither Y4M, IVF nor raw.
private let fileReaders: [FrameReaderFactory] = [.ffmpeg]

extension CapturerEntry {
    static let file = CapturerEntry(
        name: "file", summary: "A video or picture file of any kind that FFmpeg reads, Y4M, IVF or raw.",
        schemes: ["file"],
        options: [
            Option("input", "the file to play, - for standard input, or pictures: img%03d.png", default: nil),
            Option("size", "the size of raw pictures, which do not tell it", default: "the file's"),
            Option("pixel-format", "the format of raw pictures", default: "the file's, or by its extension"),
            Option("fps", "max for as fast as possible; the rate of raw pictures", default: "the file's, or 30"),
            Option("rate", "the speed: 0.5 is half as fast, 2 twice as fast", default: "1"),
            Option("loop", "plays the file again and again", default: "off"),
            Option("start", "where to begin, in seconds: 60 or 2.5", default: "0"),
            Option("end", "where to end, in seconds", default: "the file's end"),
        ],
        make: { request throws(CaptureError) in try makeFileCapture(request, readers: fileReaders) })
}

/// The capture of a file, as the options ask.
func makeFileCapture(
    _ request: CaptureRequest, readers: [FrameReaderFactory]
) throws(CaptureError) -> any VideoCapture {
    let path = localPath(request.input ?? "")
    let ending = path.split(separator: ".").last.map { $0.lowercased() } ?? ""
    var rawFormat: VideoFormat?
    if let size = request.size {
        rawFormat = VideoFormat(
            request.pixelFormat ?? (ending == "nv12" ? .nv12 : .i420), width: size.width, height: size.height,
            estimatedFramesPerSecond: request.frameRate(default: 30))
    } else if ["yuv", "i420", "nv12", "raw"].contains(ending) {
        throw CaptureError(
            .invalidConfiguration, operation: Refusal.checkingOptions, subject: path,
            message: "Raw pictures do not tell their size; add --size WIDTHxHEIGHT.")
    }
    return FileCapturer(
        path: path, decoders: [VP8Decoder.factory], readers: readers, rawFormat: rawFormat,
        playback: try filePlayback(request))
}

/// What the options ask of the playing of a file.
func filePlayback(_ request: CaptureRequest) throws(CaptureError) -> FilePlayback {
    var playback = FilePlayback(pacing: request.rate == .maximum ? .asFastAsPossible : .realTime)
    if case .frames(let rate) = request.rate { playback.frameRate = rate }
    if request.further["loop"] != nil { playback.plays = nil }
    do throws(OptionError) {
        if let text = request.further["rate"]?.first { playback.rate = try PlaybackRateOption.parse(text) }
        if let text = request.further["start"]?.first {
            playback.start = try TimeOption.parse(text, option: "--start", allowsZero: true)
        }
        if let text = request.further["end"]?.first {
            let end = try TimeOption.parse(text, option: "--end")
            guard end > playback.start else {
                throw OptionError("--end", text, "the end is not after the start; give a later time.")
            }
            playback.end = end
        }
    } catch {
        throw CaptureError(.invalidConfiguration, operation: Refusal.checkingOptions, message: error.description)
    }
    return playback
}

/// The path of a `file:` URL (RFC 8089), or the text itself.
func localPath(_ input: String) -> String {
    guard CapturerCatalog.scheme(of: input) == "file" else { return input }
    var path = input.dropFirst("file:".count)
    if path.hasPrefix("//") {
        path = path.dropFirst(2)
        // What comes before the path is a host: this one.
        path = path.firstIndex(of: "/").map { path[$0...] } ?? path
    }
    return removingPercentEncoding(path)
}

private func removingPercentEncoding(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%"), rest.count >= 2,
            let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
        {
            bytes.append(value)
            rest = rest.dropFirst(2)
        } else {
            bytes.append(byte)
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}
