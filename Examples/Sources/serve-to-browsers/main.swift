// Any capture, live in any browser: open the address that is printed while it runs.
import MJPEGServer
import NoiseCapturer
import VideoCapturing

let publisher = VideoPublisher(NoiseCapturer(format: .nv12(width: 640, height: 480), frameRate: 30))
// A server on every network wants a password: see MJPEGServer.Configuration.
let server = MJPEGServer { print("warning: \($0)") }
try server.attach(to: publisher)
print("Open \(try server.start().url)")
try publisher.start()
try await Task.sleep(for: .seconds(3))
try publisher.stop()

let statistics = server.statistics
print("\(statistics.framesCaptured) frames, \(statistics.framesEncoded) encoded, \(statistics.framesSent) sent")
server.stop()
publisher.close()
