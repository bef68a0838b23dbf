import NoiseCapturer
import VideoCapturing

/// The sources that the tool offers. A new source is a line here and an entry in its own file.
public let demoCatalog = CapturerCatalog([
    .noise,
    .camera,
    .screen,
    .file,
    .mjpeg,
])

extension CapturerEntry {
    static let noise = CapturerEntry(
        name: "noise", summary: "White noise: every byte of every frame is new. Needs no device.",
        schemes: ["noise"],
        options: [
            Option("size", "WIDTHxHEIGHT from 2x2, or a name such as vga or 720p", default: "640x480"),
            Option("pixel-format", "nv12, i420 or argb", default: "nv12"),
            Option("fps", "frames per second (30, 12.5, 30000/1001), or max", default: "30"),
            Option("seed", "a number; the same number makes the same noise", default: "0"),
        ],
        make: { request throws(CaptureError) in
            NoiseCapturer(
                format: request.format(default: .nv12(width: 640, height: 480)),
                frameRate: request.frameRate(default: 30), seed: request.seed ?? 0)
        })
}
