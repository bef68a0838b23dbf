import FFmpegMuxing
import FileOutput
import H264Codec
import MJPEGServer
import MediaPublishing
import VP8Codec
import VideoCapturing

struct Gradient: FrameSource {
    let settings = CaptureSettings(
        format: VideoFormat(.nv12, width: 320, height: 240, estimatedFramesPerSecond: 30))
    var count = 0

    mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        guard count < 150 else { return nil }  // the end, after five seconds
        count += 1
        return try context.makeFrame(settings.format) { [count] pixels in
            pixels.fill(plane: 0) { column, row in UInt8(truncatingIfNeeded: column + row + 2 * count) }
            pixels.fill(plane: 1) { column, _ in column % 2 == 0 ? 100 : 160 }
        }
    }
}

let publisher = MediaPublisher(
    video: SourceCapturer(Gradient()), settings: .init(encoders: [.vp8, .openH264]))  // of VP8Codec and H264Codec
let server = MJPEGServer()
do {
    try publisher.add(FileOutput("gradient.webm"))  // VP8
    try publisher.add(FFmpegOutput("gradient.mp4"))  // H.264
    try publisher.add(server)  // live in any browser
    let events = publisher.events()
    try publisher.start()
    print("Open \(server.address?.url ?? "")")
    for await event in events {
        print(event)
        if case .ended = event { break }
    }
    try publisher.stop()  // completes the files
} catch {
    print(error)
}
