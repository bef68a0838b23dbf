import FFmpegContainers
import FileCapturer
import MediaContainers
import VP8Codec
import VideoCapturing

/// The readers of files other than Y4M, IVF and raw frames.
private let fileReaders: [FrameReaderFactory] = [.ffmpeg]

extension CapturerEntry {
    static let file = CapturerEntry(
        name: "file", summary: "A video or image file in any format that FFmpeg reads, Y4M, IVF or raw frames.",
        schemes: ["file"],
        options: [
            Option("input", "the file to play, - for standard input, or numbered images: img%03d.png", default: nil),
            Option("size", "the size of raw frames, which a raw file does not state", default: "the file's"),
            Option("pixel-format", "the pixel format of raw frames", default: "the file's, or by its extension"),
            Option("fps", "max for as fast as possible; the rate of raw frames", default: "the file's, or 30"),
            Option("rate", "the playback speed: 0.5 is half speed, 2 is double speed", default: "1"),
            Option("loop", "repeats the file", default: "off"),
            Option("start", "the start position in seconds: 60 or 2.5", default: "0"),
            Option("end", "the end position in seconds", default: "the file's end"),
        ],
        make: { request throws(CaptureError) in try makeFileCapture(request, readers: fileReaders) })
}

/// Makes the capture of a file from the options.
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
            .invalidConfiguration, operation: ExitError.checkingOptions, subject: path,
            message: "A raw file does not state its frame size; add --size WIDTHxHEIGHT.")
    }
    return FileCapturer(
        path: path, decoders: [VP8Decoder.factory], readers: readers, rawFormat: rawFormat,
        playback: try filePlayback(request))
}

/// The playback settings that the options describe.
func filePlayback(_ request: CaptureRequest) throws(CaptureError) -> FileCapturer.Playback {
    var playback = FileCapturer.Playback(pacing: request.rate == .maximum ? .asFastAsPossible : .realTime)
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
        throw CaptureError(.invalidConfiguration, operation: ExitError.checkingOptions, message: error.description)
    }
    return playback
}

/// The path of a `file:` URL (RFC 8089), or the text itself.
func localPath(_ input: String) -> String {
    guard CapturerCatalog.scheme(of: input) == "file" else { return input }
    var path = input.dropFirst("file:".count)
    if path.hasPrefix("//") {
        path = path.dropFirst(2)
        // The part before the path is a host name, which means this machine.
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
