// An hour of capture in a moment: a test decides what time it is, so timestamps are exact and nothing waits.
import CapturerTestKit
import PatternCapturer
import Synchronization
import VideoCapturing

final class Times: VideoCaptureConsumer {
    let times = Mutex<[MediaTime]>([])
    func consumeFrame(_ frame: VideoFrame) { times.withLock { $0.append(frame.timestamp) } }
}

let clock = VirtualClock(.automatic)
let capture = PatternCapturer(.bars, format: .nv12(width: 32, height: 32), frameRate: 1, clock: clock)
let times = Times()
capture.videoCaptureConsumer = times
let start = clock.now
try capture.initCapture()
try capture.startCapture()
// A condition, never an amount of real time.
while clock.now - start < .seconds(3600) { await Task.yield() }
try capture.stopCapture()
capture.releaseCapture()
let steps = times.times.withLock { times in Set(zip(times, times.dropFirst()).map { $1 - $0 }) }
precondition(steps == [.seconds(1)], "\(steps)")
print("\(times.times.withLock { $0.count }) frames, each a second after the one before")
