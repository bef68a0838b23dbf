// A camera application: records the first camera and shows it to browsers, through unplugging and replugging; without a
// camera a test pattern. Ends after three seconds; a real one waits for a signal.
import CameraCapturer
import FileOutput
import MJPEGServer
import MediaPublishing
import PatternCapturer
import VP8Codec
import VideoCapturing

let cameras = try CameraDirectory.cameras()
let capture: any VideoCapture = cameras.isEmpty ? PatternCapturer(.clock) : CameraCapturer(preset: .vga640x480)
var settings = MediaPublisher.Settings(encoders: [.vp8])
settings.maximumDuration = .seconds(3)
let publisher = MediaPublisher(video: capture, settings: settings)
let server = MJPEGServer { print("warning: \($0)") }
try publisher.add(FileOutput("camera.webm", overwrites: true))
try publisher.add(server, frames: .init(overlay: .init("%Y-%m-%d %H:%M:%S")))

let events = publisher.events()
let states = Task {
    for await change in capture.stateChanges() { print("state: \(change.new)") }
}
do {
    try publisher.start()
} catch let error as CaptureError {
    // What is busy or not there may be tried again; what is wrong or forbidden is for the user to change.
    print(error)
    throw error
}
print("\(capture.captureSettings().format.name); open \(server.address?.url ?? "")")
for await event in events {
    switch event {
    case .outputsFailed(_, let error): print(error)
    case .warning(let text): print("warning: \(text)")
    case .outputCompleted: break
    case .ended: states.cancel()
    }
    if case .ended = event { break }
}
try publisher.stop()
for output in publisher.statistics.outputs { print(output.statistics.summary) }
