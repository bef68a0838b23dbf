import AudioCapturing
import FileOutput
import Glibc
import MediaPublishing
import OpusCodec
import TestTools
import Testing
import VP8Codec
import VideoCapturing

/// Flash and beep for a long time: every ten seconds a white picture, and a beep of 30 ms that begins when it was captured.
/// The pictures have times between the milliseconds, as those of cameras. In the middle the microphone is unplugged, and
/// plugged in shortly before a beep. All else is silence, which costs little.
private struct RareFlashAndBeep {
    /// The error of the sound card's clock.
    let ppm: Double
    let seconds: Int

    static let begin = MediaTime(nanoseconds: 40_000_000_000)
    static let framesPerSecond = 4
    private static let period = 10
    /// The sound's time from the first sample to the first picture.
    private static let lead = 0.3

    private let white: PixelBuffer
    private let black: PixelBuffer
    private let beepingFormat = AudioFormat(.float32, .mono, sampleRate: 48_000)
    private let silence: AudioBuffer
    private let shortSilence: AudioBuffer
    /// The number of the card's next frame.
    private var frame = 0

    init(ppm: Double, seconds: Int) throws {
        func picture(_ luma: UInt8) throws -> PixelBuffer {
            try PixelBuffer.make(.i420, width: 64, height: 48) { pixels in
                pixels.fill(plane: 0, with: luma)
                pixels.fill(plane: 1, with: 128)
                pixels.fill(plane: 2, with: 128)
            }
        }
        self.ppm = ppm
        self.seconds = seconds
        white = try picture(235)
        black = try picture(16)
        let pool = AudioBufferPool(capacity: 2)
        silence = try pool.makeSilence(beepingFormat, frameCount: 4800)
        shortSilence = try pool.makeSilence(beepingFormat, frameCount: 960)
    }

    var pictures: Int { seconds * RareFlashAndBeep.framesPerSecond }
    private static var picturesPerFlash: Int { period * framesPerSecond }

    /// When the microphone is unplugged, in seconds from the first picture.
    var away: Range<Double> { Double(seconds / 2) + 1.3..<Double(seconds / 2) + 9.4 }

    /// When a picture was captured, in nanoseconds from the first one.
    func time(ofPicture index: Int) -> Int64 {
        Int64(index) * (1_000_000_000 / Int64(RareFlashAndBeep.framesPerSecond)) + Int64(index * 618_034 % 1_000_000)
    }

    /// The times of all white pictures.
    var flashes: [Int64] {
        stride(from: RareFlashAndBeep.picturesPerFlash, to: pictures, by: RareFlashAndBeep.picturesPerFlash)
            .map { time(ofPicture: $0) }
    }

    func picture(_ index: Int) -> (PixelBuffer, MediaTime) {
        (
            index > 0 && index % RareFlashAndBeep.picturesPerFlash == 0 ? white : black,
            RareFlashAndBeep.begin.advanced(by: .nanoseconds(time(ofPicture: index)))
        )
    }

    /// The next chunk of the card: of 20 ms near a beep, of 100 ms elsewhere.
    mutating func nextSound() throws -> AudioChunk {
        let rate = 48_000 * (1 + ppm * 1e-6)
        func time(_ frame: Int) -> Double { Double(frame) / rate - RareFlashAndBeep.lead }
        var discontinuity: AudioChunk.Discontinuity? = frame == 0 ? .start : nil
        if away.contains(time(frame)) {
            let next = Int(((away.upperBound + RareFlashAndBeep.lead) * rate).rounded(.up))
            discontinuity = .lost(frames: Int64(next - frame))
            frame = next
        }
        let number = (time(frame) / Double(RareFlashAndBeep.period)).rounded()
        let since = time(frame) - number * Double(RareFlashAndBeep.period)
        var buffer = (-0.12..<0.04).contains(since) ? shortSilence : silence
        if number > 0, (-0.02..<0.04).contains(since) {
            let flash = Double(self.time(ofPicture: Int(number) * RareFlashAndBeep.picturesPerFlash)) * 1e-9
            let samples = (frame..<frame + 960).map { frame -> Float in
                let since = time(frame) - flash
                return (0..<0.03).contains(since) ? Float(0.7 * cos(2 * .pi * 1000 * since)) : 0
            }
            buffer = try AudioBuffer(copying: samples, channels: .mono, sampleRate: 48_000)
        }
        defer { frame += buffer.frameCount }
        return AudioChunk(
            buffer: buffer,
            timestamp: RareFlashAndBeep.begin.advanced(by: .nanoseconds(Int64((time(frame) * 1e9).rounded()))),
            firstFrame: Int64(frame), discontinuity: discontinuity)
    }
}

/// An hour where CAPTURER_SYNC_MINUTES says so, as `make test-all` does; two minutes otherwise.
@Suite(.serialized) struct LongSyncTests {
    private let folder = TemporaryFolder()
    private static let minutes =
        getenv("CAPTURER_SYNC_MINUTES").flatMap { Int(String(cString: $0)) }.map { max(1, $0) } ?? 2

    /// In the file each picture has the millisecond that is nearest to its capture time, which is as fine as times in WebM
    /// are, and each beep is within 50 µs of its own: from the first to the last, and after the microphone was away.
    @Test(arguments: [0.0, 100, -100, 1000, -1000]) func fileHasTheCaptureTimes(ppm: Double) throws {
        let path = folder.file("long.webm")
        let pattern = try RareFlashAndBeep(ppm: ppm, seconds: LongSyncTests.minutes * 60)
        let statistics = try record(pattern, to: path)
        let silence = Double(try #require(statistics.audio).framesOfSilence) / 48_000
        #expect(abs(silence - 8.1) < 0.2, "what lies between the chunks is the hole alone")

        let bytes = try readBytes(path)
        let file = WebMBlocks(bytes)
        #expect(file.pictures.count == pattern.pictures)
        for (index, block) in file.pictures.enumerated() {
            let error = block.time - pattern.time(ofPicture: index)
            guard abs(error) > 500_000 else { continue }
            Issue.record("picture \(index) is off by \(error) ns")
        }
        // A player that counts samples and one that follows the times agree.
        let stray = file.sound.indices.first { file.sound[$0].time != Int64($0) * 20_000_000 }
        #expect(stray == nil, "a packet of sound is not where the one before it ends")
        #expect((0...2).contains(file.sound.count - pattern.seconds * 50), "\(file.sound.count) packets")

        let flashes = pattern.flashes
        let seen = try whitePictures(file, bytes)
        #expect(seen.count == flashes.count)
        var worst = (sound: 0.0, both: 0.0)
        for (capture, flash) in zip(flashes, seen) {
            guard !pattern.away.contains(Double(capture) * 1e-9) else { continue }
            let beep = try #require(try beep(file, bytes, near: capture), "no beep at \(capture) ns")
            let (sound, both) = (Double(beep - capture) / 1e6, Double(beep - flash) / 1e6)
            #expect(abs(sound) < 0.05, "the beep is off by \(sound) ms at \(capture) ns and \(ppm) ppm")
            // Half a millisecond, and a sample.
            #expect(abs(both) < 0.521, "beep and flash are \(both) ms apart at \(capture) ns and \(ppm) ppm")
            worst = (max(worst.sound, abs(sound)), max(worst.both, abs(both)))
        }
        print("\(ppm) ppm: the beeps are off by at most \(worst.sound) ms, and by \(worst.both) ms from the flashes")
    }

    /// Publishes it, as fast as both encoders take it.
    private func record(_ pattern: RareFlashAndBeep, to path: String) throws -> MediaPublisher.Statistics {
        var pattern = pattern
        let video = PushCapturer(
            format: VideoFormat(.i420, width: 64, height: 48, estimatedFramesPerSecond: 4), queueCapacity: 4,
            policy: .block)
        let sound = ScriptedSound(AudioFormat(.float32, .mono, sampleRate: 48_000))
        var settings = MediaPublisher.Settings(encoders: [.vp8], audioEncoders: [.opus])
        // The sound is handed over ahead of the pictures, and ends with them.
        settings.maximumDuration = .seconds(pattern.seconds)
        settings.maximumFrames = UInt64(pattern.pictures)
        let publisher = MediaPublisher(video: video, audio: sound, settings: settings)
        defer { publisher.close() }
        let counter = PacketCounter()
        try publisher.add(FileOutput(path))
        try publisher.add(counter)
        let log = RunLog(publisher)
        try publisher.start()
        var next = try pattern.nextSound()
        for index in 0..<pattern.pictures {
            let (buffer, time) = pattern.picture(index)
            while next.endTimestamp < time.advanced(by: .milliseconds(300)) {
                sound.deliver(next)
                next = try pattern.nextSound()
            }
            // Neither runs ahead by the second for which the file waits. Where there is no sound, silence follows the
            // picture before by half a second, and a few packets.
            let isDue = max(0, Double(pattern.time(ofPicture: index)) * 1e-9 - 0.93)
            try counter.wait(pictures: index, sound: Int(isDue * 50))
            #expect(video.push(buffer, timestamp: time))
        }
        _ = try log.waitForEnd()
        try publisher.stop()
        #expect(log.failures.isEmpty, "\(log.failures)")
        return publisher.statistics
    }

    /// The times of the pictures that are white, and follow one that is not.
    private func whitePictures(_ file: WebMBlocks, _ bytes: [UInt8]) throws -> [Int64] {
        let decoder = try VP8Decoder()
        var times: [Int64] = []
        var wasWhite = false
        for block in file.pictures {
            try bytes.withUnsafeBytes { bytes in
                try decoder.decode(UnsafeRawBufferPointer(rebasing: bytes[block.data])) { picture in
                    let isWhite = picture.withRow(24, ofPlane: 0) { $0[32] > 125 }
                    if isWhite, !wasWhite { times.append(block.time) }
                    wasWhite = isWhite
                }
            }
        }
        return times
    }

    /// When a beep begins, by the times of the packets and CodecDelay, in nanoseconds.
    private func beep(_ file: WebMBlocks, _ bytes: [UInt8], near time: Int64) throws -> Int64? {
        let decoder = try OpusDecoder(file.soundHeader.withUnsafeBytes { PacketBuffer(copying: $0) })
        // Opus needs 80 ms before it is right.
        let first = Int(time / 20_000_000) - 6
        var samples: [Float] = []
        for block in file.sound[first..<first + 9] {
            try bytes.withUnsafeBytes { bytes in
                try decoder.decode(UnsafeRawBufferPointer(rebasing: bytes[block.data])) { samples += $0 }
            }
        }
        let skipped = Int64(file.soundHeader[10]) | Int64(file.soundHeader[11]) << 8
        let begin = file.sound[first].time - file.codecDelay + skipped * 1_000_000_000 / 48_000
        return samples.firstIndex { abs($0) > 0.2 }.map { begin + Int64($0) * 1_000_000_000 / 48_000 }
    }
}
