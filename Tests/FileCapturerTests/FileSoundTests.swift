import AudioCapturing
import FFmpegContainers
import FileCapturer
import TestTools
import Testing
import VideoCapturing

/// When beeps were captured, by the times of the chunks.
private final class Ear: AudioCaptureConsumer {
    private struct Contents {
        var beeps: [MediaTime] = []
        var frames = 0
        var format: AudioFormat?
        var quiet = 1_000_000
    }

    private let contents = Locked(Contents())

    var beeps: [MediaTime] { contents.withLock { $0.beeps } }
    var frames: Int { contents.withLock { $0.frames } }
    var format: AudioFormat? { contents.withLock { $0.format } }

    func consumeAudio(_ chunk: AudioChunk) {
        contents.withLock { contents in
            contents.frames += chunk.frameCount
            contents.format = chunk.format
            let channels = chunk.format.channels.count
            chunk.buffer.withSamples(as: Float.self) { samples in
                for frame in 0..<chunk.frameCount {
                    contents.quiet += 1
                    guard abs(samples[frame * channels]) > 0.25 else { continue }
                    if contents.quiet > 2000 {
                        contents.beeps.append(
                            chunk.timestamp.advanced(by: chunk.format.duration(ofFrames: Int64(frame))))
                    }
                    contents.quiet = 0
                }
            }
        }
    }
}

/// The sound of films, beside their pictures.
@Suite struct FileSoundTests {
    private let folder = TemporaryFolder()

    /// A film of 25 pictures per second that beeps at each half second, from 0.5 s on.
    private func film(_ name: String, seconds: Double = 1.4, channels: Int = 2, _ options: String = "") throws -> String
    {
        let path = folder.file(name)
        // Of all channels, since more than two are mixed.
        let beep = "if(gte(t\\,0.4)*lt(mod(t\\,0.5)\\,0.03)\\,0.8*cos(2*PI*1000*mod(t\\,0.5))\\,0)"
        let all = Array(repeating: beep, count: channels).joined(separator: "|")
        _ = try run(
            "ffmpeg",
            [
                "-v", "error", "-y", "-f", "lavfi", "-i", "color=gray:size=64x48:rate=25:duration=\(seconds)", "-f",
                "lavfi",
                "-i", "aevalsrc=exprs=\(all):sample_rate=48000:duration=\(seconds)",
            ] + options.split(separator: " ").map(String.init) + [path])
        return path
    }

    private func capture(_ path: String, _ playback: FileCapturer.Playback = .realTime) -> FileCapturer {
        FileCapturer(path: path, readers: [.ffmpeg], playback: playback)
    }

    /// Plays pictures and sound; the sound is stopped once it has beeped so often.
    private func play(
        _ capture: FileCapturer, beeps: Int, onFrame: @escaping @Sendable (Int) -> Void = { _ in }
    ) throws -> (frames: [VideoFrame], beeps: [MediaTime]) {
        let sound = try #require(capture.makeSound(isAlone: false))
        let ear = Ear()
        let eye = Collector(onFrame: onFrame)
        sound.audioCaptureConsumer = ear
        capture.videoCaptureConsumer = eye
        try sound.initCapture()
        try capture.initCapture()
        try sound.startCapture()
        try capture.startCapture()
        let limit = MonotonicClock().now.advanced(by: .seconds(60))
        while ear.beeps.count < beeps, MonotonicClock().now < limit { _ = eventually { ear.beeps.count >= beeps } }
        #expect(sound.isCaptureStarted, "it waits for the pictures' next jump")
        try sound.stopCapture()
        capture.releaseCapture()
        sound.releaseCapture()
        return (eye.collected, ear.beeps)
    }

    private func seconds(_ time: MediaTime, after frame: VideoFrame) -> Double { (time - frame.timestamp).seconds }

    @Test(
        arguments: [
            ("a.mkv", "-c:v mjpeg -c:a pcm_s16le"), ("a.mp4", "-c:v mpeg4 -c:a aac"),
            ("a.webm", "-c:v libvpx -c:a libvorbis"),
            ("a.mov", "-c:v mjpeg -c:a pcm_s24le"), ("a.avi", "-c:v mjpeg -c:a libmp3lame"),
            ("b.mkv", "-c:v mjpeg -c:a flac"),
            ("c.mkv", "-c:v mjpeg -c:a libopus"),
        ])
    func soundIsAtThePlaceOfThePictures(_ name: String, _ options: String) throws {
        let path = try film(name, options)
        let (frames, beeps) = try play(capture(path), beeps: 2)
        let first = try #require(frames.first)
        #expect(beeps.count == 2)
        // Some of FFmpeg's muxers are off by the delay of their own encoder.
        let limit = ["a.mkv", "a.mp4", "a.mov", "b.mkv"].contains(name) ? 0.002 : 0.03
        for (beep, due) in zip(beeps, [0.5, 1.0]) {
            #expect(abs(seconds(beep, after: first) - due) < limit, "\(seconds(beep, after: first)) s")
        }
    }

    @Test func moreChannelsAreMixedToTwo() throws {
        let path = try film("a.mkv", channels: 6, "-c:v mjpeg -c:a pcm_s16le")
        let sound = try #require(capture(path).makeSound(isAlone: true))
        #expect(sound.captureSettings().format == .float48kStereo)
        let (frames, beeps) = try play(capture(path), beeps: 1)
        #expect(abs(seconds(try #require(beeps.first), after: frames[0]) - 0.5) < 0.002)
    }

    @Test func repetitionsStayTogether() throws {
        // The sound is longer than the pictures.
        let path = try film("a.mkv", seconds: 0.8, "-c:v mjpeg -c:a pcm_s16le -frames:v 16")
        let (frames, beeps) = try play(capture(path, FileCapturer.Playback(plays: nil)), beeps: 3)
        for (play, beep) in beeps.prefix(3).enumerated() {
            let first = try #require(frames.dropFirst(play * 16).first)
            #expect(abs(seconds(beep, after: first) - 0.5) < 0.002, "play \(play)")
        }
    }

    @Test func aPartOfTheFile() throws {
        let path = try film("a.mkv", seconds: 2.4, "-c:v mjpeg -c:a pcm_s16le")
        let playback = FileCapturer.Playback(start: .milliseconds(840), end: .milliseconds(1700))
        let (frames, beeps) = try play(capture(path, playback), beeps: 2)
        #expect(beeps.count == 2)
        for (beep, due) in zip(beeps, [0.16, 0.66]) {
            #expect(abs(seconds(beep, after: frames[0]) - due) < 0.002)
        }
    }

    @Test func pausesAndSeeksAreFollowed() throws {
        let path = try film("a.mkv", seconds: 5, "-c:v mjpeg -c:a pcm_s16le")
        let capture = capture(path)
        let (frames, beeps) = try play(capture, beeps: 3) { [unowned capture] index in
            if index == 3 { capture.pause() }
            if index == 3 { capture.resume() }
            // Picture 4 is the last one before 3.2 s.
            if index == 4 { try? capture.seek(to: .milliseconds(3200)) }
        }
        // Picture 5 is that of 3.2 s.
        let sought = try #require(frames.dropFirst(5).first)
        for (beep, due) in zip(beeps, [0.3, 0.8, 1.3]) {
            #expect(abs(seconds(beep, after: sought) - due) < 0.002, "\(seconds(beep, after: sought)) s")
        }
    }

    /// Without a clock the sound comes with the pictures, and is as long: silence where the file has none.
    @Test(arguments: [1.4, 0.9, 3]) func asFastAsPossible(secondsOfSound: Double) throws {
        let path = try film("film.mkv", seconds: secondsOfSound, "-c:v mjpeg -c:a pcm_s16le")
        let pictures = try film("pictures.mkv", "-map 0:v -c:v mjpeg")
        let both = folder.file("both.mkv")
        _ = try run(
            "ffmpeg", "-v", "error", "-i", pictures, "-i", path, "-map", "0:v", "-map", "1:a", "-c", "copy", both)
        let capture = capture(both, .asFastAsPossible)
        let sound = try #require(capture.makeSound(isAlone: false))
        let (ear, isInStep) = (Ear(), Locked(true))
        let eye = Collector { index in
            // Each picture finds the sound before it, and none beyond its end, to a millisecond: as fine as times in Matroska.
            let due = index * 1920
            if !(due - 48...due + 1920 + 48).contains(ear.frames) { isInStep.withLock { $0 = false } }
        }
        sound.audioCaptureConsumer = ear
        capture.videoCaptureConsumer = eye
        try sound.initCapture()
        try capture.initCapture()
        try sound.startCapture()
        try capture.startCapture()
        let whole = 67_200 - 48...67_200 + 48
        #expect(eventually { !capture.isCaptureStarted && whole.contains(ear.frames) }, "\(ear.frames) frames")
        try sound.stopCapture()
        #expect(eye.collected.count == 35)
        #expect(isInStep.withLock { $0 })
        let first = try #require(eye.collected.first)
        let beeps = ear.beeps
        #expect(beeps.count == (secondsOfSound > 1 ? 2 : 1))
        for (beep, due) in zip(beeps, [0.5, 1.0]) {
            #expect(abs(seconds(beep, after: first) - due) < 0.002, "\(seconds(beep, after: first)) s")
        }
        #expect(whole.contains(ear.frames), "no sound beyond the pictures")
        capture.releaseCapture()
        sound.releaseCapture()
    }

    @Test func aloneItGoesByTheClock() throws {
        let path = try film("a.mkv", "-c:v mjpeg -c:a pcm_s16le")
        let sound = try #require(capture(path).makeSound(isAlone: true))
        let ear = Ear()
        sound.audioCaptureConsumer = ear
        try sound.initCapture()
        try sound.startCapture()
        #expect(eventually { !sound.isCaptureStarted })
        #expect(sound.state == .stopped(.endOfStream))
        #expect(ear.frames == 67_200)
        let beeps = ear.beeps
        #expect(beeps.count == 2)
        #expect(abs((beeps[1] - beeps[0]).seconds - 0.5) < 0.002)
        sound.releaseCapture()
    }

    @Test func whereThereIsNone() throws {
        let path = try film("a.mkv", "-map 0:v -c:v mjpeg")
        #expect(capture(path).makeSound(isAlone: false) == nil)
        #expect(capture(folder.file("nothing.mkv")).makeSound(isAlone: false) == nil)
        let both = try film("b.mkv", "-c:v mjpeg -c:a pcm_s16le")
        #expect(capture(both, FileCapturer.Playback(rate: 2)).makeSound(isAlone: false) == nil)
        #expect(FileCapturer(path: both).makeSound(isAlone: false) == nil, "a reader of sound is needed")
    }
}
