// A capturer of one's own: a type that gives the next frame. Writes 90 frames of it to gradient.y4m.
import FileOutput
import MediaPublishing
import VideoCapturing

struct Gradient: FrameSource {
    let settings = CaptureSettings(
        format: VideoFormat(.i420, width: 320, height: 240, estimatedFramesPerSecond: 30))
    var count = 0

    mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        guard count < 90 else { return nil }  // The end of the stream; leave it out to go on indefinitely.
        count += 1
        return try context.makeFrame(settings.format) { [count] pixels in
            pixels.fill(plane: 0) { column, row in UInt8(truncatingIfNeeded: column + row + 2 * count) }
            pixels.fill(plane: 1, with: 100)
            pixels.fill(plane: 2, with: 160)
        }
    }
}

let publisher = MediaPublisher(video: SourceCapturer(Gradient()))
try publisher.add(FileOutput("gradient.y4m", overwrites: true))
let events = publisher.events()
try publisher.start()
for await event in events {
    print(event)
    if case .ended = event { break }
}
try publisher.stop()
print("Play it with: ffplay gradient.y4m")
