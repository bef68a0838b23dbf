// One capture, two files: the frames are encoded once, and each packet goes to a WebM and an IVF file.
import FileOutput
import MediaPublishing
import NoiseCapturer
import VP8Codec
import VideoCapturing

var settings = MediaPublisher.Settings(encoders: [.vp8])
settings.maximumDuration = .seconds(3)
let capture = NoiseCapturer(format: .nv12(width: 640, height: 480), frameRate: 30)
let publisher = MediaPublisher(video: capture, settings: settings)
try publisher.add(FileOutput("noise.webm", overwrites: true))
try publisher.add(FileOutput("noise.ivf", overwrites: true))
let events = publisher.events()
try publisher.start()
for await event in events {
    if case .outputsFailed(_, let error) = event { print(error) }
    if case .ended = event { break }
}
try publisher.stop()
for output in publisher.statistics.outputs { print(output.statistics.summary) }
