// One capture to a file in full, to a small one with few frames, and to browsers with the time in the picture.
import FileOutput
import MJPEGServer
import MediaPublishing
import PatternCapturer
import VP8Codec
import VideoCapturing

var settings = MediaPublisher.Settings(encoders: [.vp8])
settings.maximumDuration = .seconds(3)
let publisher = MediaPublisher(video: PatternCapturer(.clock), settings: settings)
let server = MJPEGServer()
try publisher.add(FileOutput("full.webm", overwrites: true))
try publisher.add(
    FileOutput("small.webm", overwrites: true), encoding: EncodingSettings(bitrate: 100_000),
    frames: .init(frameRate: 5, size: .init(width: 160, height: 120)))
try publisher.add(server, frames: .init(overlay: .init("%H:%M:%S", corner: .topRight)))
let events = publisher.events()
try publisher.start()
print("Open \(server.address?.url ?? "")")
for await event in events {
    // A failed output harms no other; the run goes on.
    if case .outputsFailed(_, let error) = event { print(error) }
    if case .ended = event { break }
}
try publisher.stop()
for output in publisher.statistics.outputs { print(output.statistics.summary) }
