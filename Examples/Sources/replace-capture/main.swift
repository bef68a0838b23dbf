// Another capture in place of the first, without a gap for those who watch: times and numbers go on.
import NoiseCapturer
import PatternCapturer
import VideoCapturing

let publisher = VideoPublisher(PatternCapturer(.bars, format: .nv12(width: 320, height: 240)))
let frames = publisher.frames()
try publisher.start()
let reader = Task {
    var numbers: [UInt64] = []
    for await frame in frames { numbers.append(frame.sequenceNumber) }
    return numbers
}
try await Task.sleep(for: .milliseconds(500))
try publisher.replaceCapture(with: NoiseCapturer(format: .nv12(width: 320, height: 240)))
try await Task.sleep(for: .milliseconds(500))
publisher.close()
let numbers = await reader.value
print("\(numbers.count) frames, numbered \(numbers.first ?? 0) to \(numbers.last ?? 0)")
