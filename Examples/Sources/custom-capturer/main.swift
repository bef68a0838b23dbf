// A capturer of one's own: a type that gives the next frame. Writes 90 frames of it to gradient.y4m.
import MediaContainers
import VideoCapturing

struct Gradient: FrameSource {
    let settings = CaptureSettings(
        format: VideoFormat(.i420, width: 320, height: 240, estimatedFramesPerSecond: 30))
    var count = 0

    mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        guard count < 90 else { return nil }  // The end of the stream; leave it out to go on for ever.
        count += 1
        return try context.makeFrame(settings.format) { [count] pixels in
            pixels.fill(plane: 0) { column, row in UInt8(truncatingIfNeeded: column + row + 2 * count) }
            pixels.fill(plane: 1, with: 100)
            pixels.fill(plane: 2, with: 160)
        }
    }
}

let recording = FrameWritingConsumer(
    Y4MWriter(try OutputFile(path: "gradient.y4m", overwrite: true), rate: 30))
let publisher = VideoPublisher(SourceCapturer(Gradient()))
try publisher.add(recording, name: "gradient.y4m", queue: .init(capacity: 4, policy: .block))
let changes = publisher.capture.stateChanges()
try publisher.start()
for await change in changes {
    print("\(change.old) → \(change.new)")
    if case .stopped = change.new { break }
}
publisher.close()
try recording.finish()
print("Play it with: ffplay gradient.y4m")
