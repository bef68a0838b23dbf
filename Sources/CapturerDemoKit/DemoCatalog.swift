import FileCapturer
import NoiseCapturer
import VP8Codec
import VideoCapturing

/// The sources that the tool offers. A new one is a line here and an entry of its own.
public let demoCatalog = CapturerCatalog([
    .noise,
    .camera,
    .screen,
    .file,
])

extension CapturerEntry {
    static let noise = CapturerEntry(
        name: "noise", summary: "White noise: every byte of every frame is new. Needs no device.",
        schemes: ["noise"],
        options: [
            Option("size", "WIDTHxHEIGHT from 2x2, or a name such as vga or 720p", default: "640x480"),
            Option("pixel-format", "nv12, i420 or argb", default: "nv12"),
            Option("fps", "frames per second (30, 12.5, 30000/1001), or max", default: "30"),
            Option("seed", "a number; the same gives the same noise", default: "0"),
        ],
        make: { request throws(CaptureError) in
            NoiseCapturer(
                format: request.format(default: .nv12(width: 640, height: 480)),
                frameRate: request.frameRate(default: 30), seed: request.seed ?? 0)
        })

    static let file = CapturerEntry(
        name: "file", summary: "A video file: Y4M, IVF with VP8, or raw pictures.",
        schemes: ["file"],
        options: [
            Option("input", "the file to play, or - for standard input", default: nil),
            Option("size", "the size of raw pictures, which do not tell it", default: "the file's"),
            Option("pixel-format", "the format of raw pictures", default: "the file's, or by its extension"),
            Option("fps", "max for as fast as possible; the rate of raw pictures", default: "the file's, or 30"),
        ],
        make: makeFileCapture)
}

private func makeFileCapture(_ request: CaptureRequest) throws(CaptureError) -> any VideoCapture {
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
        path: path, decoders: [VP8Decoder.factory], rawFormat: rawFormat,
        pacing: request.rate == .maximum ? .asFastAsPossible : .realTime)
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
