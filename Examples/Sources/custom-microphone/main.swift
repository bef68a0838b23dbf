// A sound capturer of one's own: a type that gives the next samples, here what arecord writes. Shows the level for 5 s.
import AudioCapturing
import Glibc

struct PipedMicrophone: AudioSource {
    let settings = AudioSettings(format: AudioFormat(.int16, .mono, sampleRate: 48_000), sourceName: "arecord")
    var pacing: AudioPacing { .device }
    private var pipe: UnsafeMutablePointer<FILE>?

    mutating func start(_ context: AudioContext) throws {
        pipe = popen("arecord -q -t raw -f S16_LE -r 48000 -c 1", "r")
    }

    mutating func nextChunk(_ context: AudioContext) throws -> SourceAudio? {
        guard let pipe, context.waitForInput(fileno(pipe)) == .ready else { return nil }
        let audio = try context.makeAudio(settings.format, frameCapacity: settings.framesPerChunk) { writer in
            writer.withUnsafeBytes { max(0, read(fileno(pipe), $0.baseAddress, $0.count)) / 2 }
        }
        return audio.buffer.frameCount > 0 ? audio : nil
    }

    mutating func stop() { _ = pipe.map { pclose($0) } }
}

let publisher = AudioPublisher(AudioSourceCapturer(PipedMicrophone()))
let meter = LevelMeter()
try publisher.add(meter, name: "meter")
try publisher.start()
for _ in 1...50 {
    try await Task.sleep(for: .milliseconds(100))
    guard let level = meter.levels.channels.first else { continue }
    let bars = String(repeating: "#", count: Int(max(0, 60 + level.peakDecibels)))
    print("\(level.peakDecibels) dB \(bars)")
}
try publisher.stop()
print(publisher.statistics.capture)
