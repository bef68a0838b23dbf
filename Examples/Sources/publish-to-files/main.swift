// One capture, two files: the frames are encoded once, and each packet goes to a WebM and an IVF file.
import MediaContainers
import NoiseCapturer
import VP8Codec
import VideoCapturing

let format = VideoFormat.nv12(width: 640, height: 480)
let bitrate = VP8EncoderConfiguration.suggestedBitrate(width: 640, height: 480, frameRate: 30)
let encoding = EncodingConsumer(
    try VP8Encoder(VP8EncoderConfiguration(bitrate: bitrate)),
    to: [
        ("noise.webm", WebMWriter(try OutputFile(path: "noise.webm", overwrite: true))),
        ("noise.ivf", IVFWriter(try OutputFile(path: "noise.ivf", overwrite: true))),
    ],
    onFailure: { print("\($0.sink ?? "encoder"): \($0.error)") })

let publisher = VideoPublisher(NoiseCapturer(format: format, frameRate: 30))
// A file wants every frame, so its queue lets the capture wait; a live viewer would have the newest win.
try publisher.add(encoding, name: "vp8", queue: .init(capacity: 4, policy: .block))
try publisher.start()
try await Task.sleep(for: .seconds(3))
try publisher.stop()
encoding.finish()

let statistics = encoding.statistics
print("\(statistics.packets) packets, \(statistics.bytes) bytes, \(statistics.keyFrames) key frames")
print("Play it with: ffplay noise.webm")
publisher.close()
