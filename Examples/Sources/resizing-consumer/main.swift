// A consumer that wants small pictures, ten in a second, whatever the capture gives the others.
import FrameProcessing
import PatternCapturer
import Synchronization
import VideoCapturing

final class Thumbnails: VideoCaptureConsumer {
    let sizes = Mutex<Set<PixelSize>>([])
    func consumeFrame(_ frame: VideoFrame) {
        sizes.withLock { _ = $0.insert(PixelSize(width: frame.width, height: frame.height)) }
    }
}

let thumbnails = Thumbnails()
let adapter = FrameAdapter(
    to: thumbnails, wants: CaptureWants(maximumPixelCount: 160 * 120, maximumFrameRate: 10, sizeAlignment: 2))
let publisher = VideoPublisher(PatternCapturer(.clock, format: .nv12(width: 640, height: 480), frameRate: 30))
try publisher.add(adapter, name: "thumbnails")
try publisher.start()
try await Task.sleep(for: .seconds(2))
publisher.close()
let counts = adapter.statistics
print("\(counts.framesOut) of \(counts.framesIn) frames, as \(thumbnails.sizes.withLock { $0 })")
