// Two cameras and a microphone in one Matroska file with three tracks; the first camera to browsers, too.
import FFmpegMuxing
import MJPEGServer
import MediaPublishing
import OpusCodec
import PatternCapturer
import ToneCapturer
import VP8Codec
import VideoCapturing

var settings = MediaPublisher.Settings(encoders: [.vp8], audioEncoders: [.opus])
settings.maximumDuration = .seconds(3)

/// In place of the pattern a `CameraCapturer`, and in place of the tone a `MicrophoneCapturer`.
let joined = JoinedCapture { [settings] in
    let front = MediaPublisher(video: PatternCapturer(.clock), audio: ToneCapturer(), settings: settings)
    let back = MediaPublisher(video: PatternCapturer(.bars), settings: settings)
    // A part is a publisher like any other.
    try front.add(MJPEGServer())
    return [front, back]
}
let publisher = MediaPublisher(packets: joined)
try publisher.add(FFmpegOutput("both.mkv"))
let events = publisher.events()
try publisher.start()
print(publisher.tracks.map(\.codec))
for await event in events {
    print(event)
    if case .ended = event { break }
}
try publisher.stop()
publisher.close()  // ends the parts, too
let output = publisher.statistics.outputs[0]
print(output.statistics.summary)
precondition(output.passedOn?.tracks == [.vp8, .opus, .vp8])
