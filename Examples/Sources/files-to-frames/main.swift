// The frames of a file, as fast as they are taken: writes a clip, and reads its pictures back.
import FileCapturer
import FileOutput
import MediaPublishing
import PatternCapturer
import Synchronization
import VideoCapturing

var settings = MediaPublisher.Settings()
settings.maximumFrames = 25
let recorder = MediaPublisher(video: PatternCapturer(.ball, frameRate: 100), settings: settings)
try recorder.add(FileOutput("clip.y4m", overwrites: true))
let events = recorder.events()
try recorder.start()
for await event in events { if case .ended = event { break } }
try recorder.stop()

// Nothing is lost: the policy lets the file wait for this program.
final class Counter: VideoCaptureConsumer {
    let count = Mutex(0)
    func consumeFrame(_ frame: VideoFrame) { count.withLock { $0 += 1 } }
}

let counter = Counter()
// MP4 and others: readers: [.ffmpeg], of FFmpegContainers.
let file = FileCapturer(path: "clip.y4m", pacing: .asFastAsPossible)
let publisher = VideoPublisher(file)
try publisher.add(counter, queue: .init(capacity: 4, policy: .block))
let changes = file.stateChanges()
try publisher.start()
for await change in changes { if case .stopped = change.new { break } }
try publisher.stop()
print("\(counter.count.withLock { $0 }) frames of \(file.fileFormat?.name ?? "")")
publisher.close()
