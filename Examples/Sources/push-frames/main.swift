// Pictures that an application draws itself: pushed from any thread, recorded like those of a camera.
import FileOutput
import MediaPublishing
import VP8Codec
import VideoCapturing

let format = VideoFormat(.argb, width: 320, height: 240, estimatedFramesPerSecond: 25)
let capture = PushCapturer(format: format, name: "drawing", policy: .block)
let publisher = MediaPublisher(video: capture, settings: .init(encoders: [.vp8]))
try publisher.add(FileOutput("drawing.webm", overwrites: true))
let events = publisher.events()
try publisher.start()

let pool = PixelBufferPool()
let start = MonotonicClock().now
for number in 0..<50 {
    let picture = try pool.makeBuffer(.argb, width: 320, height: 240) { pixels in
        pixels.fill(plane: 0) { column, row in
            column % 4 == 0 ? 255 : UInt8(truncatingIfNeeded: column / 4 + row + 5 * number)
        }
    }
    // The time that the picture belongs to; without one it is that of the call.
    capture.push(picture, timestamp: start + .milliseconds(40 * number))
}
capture.finish()
for await event in events { if case .ended = event { break } }
try publisher.stop()
for output in publisher.statistics.outputs { print(output.statistics.summary) }
