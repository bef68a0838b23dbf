// Call me when something moves: before a camera, on a screen, in a file.
import MotionDetection
import PatternCapturer
import VideoCapturing

let settings = MotionSettings(
    minimumArea: 0.002,  // of the picture
    ignoredZones: [MotionRegion(x: 0, y: 0.9, width: 1, height: 0.1)])  // the road, at the lower edge
let detector = MotionDetector(settings) { event in
    switch event.kind {
    case .began: print("something moves at \(event.region.pixels(width: 640, height: 480))")
    case .ended: print("it moved for \(event.lastMotion - event.start), at most \(event.area * 100) % of the picture")
    }
}
let publisher = VideoPublisher(PatternCapturer(.ball))  // or CameraCapturer(), ScreenCapturer(), FileCapturer(path: …)
try publisher.add(detector, name: "motion")
try publisher.start()
try await Task.sleep(for: .seconds(5))
publisher.close()
print(detector.statistics)
