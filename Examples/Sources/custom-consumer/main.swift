// A consumer of one's own: it prints how bright each picture is. Keep the frame's value to keep the frame.
import NoiseCapturer
import VideoCapturing

final class LightMeter: VideoCaptureConsumer {
    func consumeFrame(_ frame: VideoFrame) {
        var sum = 0
        for row in 0..<frame.height {
            frame.buffer.withRow(row, ofPlane: 0) { luma in
                for value in luma { sum += Int(value) }
            }
        }
        print("frame \(frame.sequenceNumber) at \(frame.timestamp): mean luma \(sum / (frame.width * frame.height))")
    }
}

let publisher = VideoPublisher(NoiseCapturer(format: .nv12(width: 352, height: 288), frameRate: 10, seed: 1))
try publisher.add(LightMeter(), name: "light meter")
try publisher.start()
try await Task.sleep(for: .seconds(1))
publisher.close()
print(publisher.statistics.consumers)
