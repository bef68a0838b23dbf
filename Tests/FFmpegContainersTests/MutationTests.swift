import FFmpegContainers
import MediaContainers
import TestTools
import Testing
import VideoCapturing

/// Hundreds of damaged files of each kind: each ends in pictures or in a typed error, soon and in little memory.
@Suite struct MutationTests {
    @Test(
        arguments: [
            ("a.mp4", "-c:v libx264"), ("a.mov", "-c:v mjpeg -pix_fmt yuvj420p"), ("a.webm", "-c:v libvpx"),
            ("b.webm", "-c:v libvpx-vp9 -cpu-used 8 -pix_fmt yuv420p"), ("a.avi", "-c:v mpeg4"), ("a.gif", ""),
            ("a.png", "-frames:v 1"),
            ("a.jpg", "-frames:v 1 -pix_fmt yuvj420p"), ("a.ts", "-c:v mpeg2video"),
        ])
    func survives(_ name: String, _ options: String) throws {
        let folder = try MediaFolder()
        let path = try folder.make(name, size: "32x24", frames: 4, options)
        let sound = try readBytes(path)
        let began = ContinuousClock.now
        var errors = 0
        for seed in 0..<UInt64(200) {
            var random = SeededRandom(state: seed)
            let bytes = mutate(sound, &random)
            let file: InputFile
            if seed % 2 == 0 || bytes.count > 60_000 {
                try writeBytes(bytes, to: path)
                file = try InputFile(path: path)
            } else {
                file = InputFile(descriptor: try pipeHolding(bytes), name: "pipe", closing: true)
            }
            do {
                let reader = try FFmpegReader(FrameReaderFactory.Request(path: "a", file: file, threads: 1))
                var last: Duration?
                var frames = 0
                while frames < 1000, let frame = try reader.nextFrame() {
                    if let last { #expect(frame.timestamp > last) }
                    last = frame.timestamp
                    frames += 1
                }
                if reader.canSeek { try reader.seek(to: .milliseconds(80)) }
            } catch {
                #expect(error is MediaFileError || error is CaptureError)
                errors += 1
            }
        }
        #expect(errors > 0)
        #expect(ContinuousClock.now - began < .seconds(60))
        #expect(peakMemory() < 3 << 29)
    }

    private func mutate(_ sound: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        var bytes = sound
        for _ in 0..<Int.random(in: 1...8, using: &random) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes[place] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random)!
            case 2: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 3: if Int.random(in: 0..<4, using: &random) == 0 { bytes.removeSubrange(place...) }
            case 4: bytes.remove(at: place)
            default: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
            }
        }
        return bytes
    }
}
