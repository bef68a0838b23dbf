// A frame as a JPEG and a PNG file, its bytes in memory, and a second of sound as WAV: one call each.
import AudioCapturing
import Foundation
import PatternCapturer
import StillCapture
import Synchronization
import ToneCapturer
import VideoCapturing

let publisher = VideoPublisher(PatternCapturer(.clock))
try publisher.start()
for await frame in publisher.frames(bufferingNewest: 1) {
    try frame.write(to: "frame.jpg", overwrites: true)
    try frame.write(to: "frame.png", overwrites: true)
    let bytes = try frame.encoded(.init(format: .jpeg, quality: 80))
    let data = bytes.withUnsafeBytes { Data($0) }
    print("\(data.count) bytes of JPEG")
    break
}
publisher.close()

final class Recorder: AudioCaptureConsumer {
    let chunks = Mutex<[AudioChunk]>([])
    func consumeAudio(_ chunk: AudioChunk) { chunks.withLock { $0.append(chunk) } }
}

let recorder = Recorder()
let sound = AudioPublisher(ToneCapturer())
try sound.add(recorder, name: "recorder")
try sound.start()
try await Task.sleep(for: .seconds(1))
sound.close()
let wav = try recorder.chunks.withLock { try $0.wavData() }
try Data(wav).write(to: URL(fileURLWithPath: "tone.wav"))
print("\(wav.count) bytes of WAV")
