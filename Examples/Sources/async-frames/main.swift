// Frames as an asynchronous sequence: prints thirty of them. A frame that is kept stays as it is.
import PatternCapturer
import VideoCapturing

let publisher = VideoPublisher(PatternCapturer(.clock, format: .nv12(width: 320, height: 240), frameRate: 30))
try publisher.start()
var kept: [VideoFrame] = []
for await frame in publisher.frames(bufferingNewest: 4) {
    print("frame \(frame.sequenceNumber) at \(frame.timestamp)")
    kept.append(frame)
    if kept.count == 30 { break }
}
print("from the first to the last: \(kept[29].timestamp - kept[0].timestamp)")
publisher.close()
