import AudioCapturing
import FileOutput
import Glibc
import MediaContainers
import MediaPublishing
import OpusCodec
import TestTools
import Testing
import VP8Codec
import VideoCapturing

/// Flash and beep: a white picture, and a beep of 30 ms that begins with it, at each whole second.
private struct FlashAndBeep {
    /// The error of the sound card's clock.
    var ppm: Double
    /// The sound's time from the first sample to the first picture.
    var lead = 0.3
    /// Seconds of sound that are lost.
    var hole: Range<Double>?
    var format = AudioFormat(.float32, .mono, sampleRate: 48_000)

    /// The time of the first picture.
    static let begin = MediaTime(nanoseconds: 40_000_000_000)

    func video(_ index: Int) throws -> (PixelBuffer, MediaTime) {
        let isWhite = index % 30 == 0
        let buffer = try PixelBuffer.make(.i420, width: 64, height: 48) { pixels in
            pixels.fill(plane: 0, with: isWhite ? 235 : 16)
            pixels.fill(plane: 1, with: 128)
            pixels.fill(plane: 2, with: 128)
        }
        return (buffer, Self.begin.advanced(by: .nanoseconds(Int64(index) * 1_000_000_000 / 30)))
    }

    /// The first chunk that ends after a time, in seconds from the first picture.
    func chunk(endingAfter time: Double) -> Int { Int(((time + lead) * (1 + ppm * 1e-6) * 50).rounded(.down)) }

    /// A chunk of 20 ms of the card, and when it ends; nil where it is lost.
    func sound(_ index: Int) throws -> (chunk: AudioChunk?, end: Double) {
        let rate = Double(format.sampleRate) * (1 + ppm * 1e-6)
        let frames = format.sampleRate / 50
        let first = index * frames
        func time(_ frame: Int) -> Double { Double(frame) / rate - lead }
        let end = time(first + frames)
        if let hole, hole.overlaps(time(first)..<end) { return (nil, end) }
        let samples = (first..<first + frames).map { frame -> Float in
            let since = time(frame) - time(frame).rounded(.down)
            return time(frame) > 0.5 && since < 0.03 ? Float(0.7 * cos(2 * .pi * 1000 * since)) : 0
        }
        var chunk = AudioChunk(
            buffer: try AudioBuffer(copying: samples, channels: .mono, sampleRate: format.sampleRate),
            timestamp: Self.begin.advanced(by: .nanoseconds(Int64((time(first) * 1e9).rounded()))),
            firstFrame: Int64(first))
        if index == 0 { chunk.discontinuity = .start }
        if let hole, time(first - frames) < hole.upperBound, time(first) >= hole.upperBound {
            chunk.discontinuity = .lost(frames: Int64((hole.upperBound - hole.lowerBound) * rate))
        }
        return (chunk, end)
    }
}

/// One after the other, since each needs a processor of its own.
@Suite(.serialized) struct SoundTests {
    private let folder = TemporaryFolder()

    /// Publishes flash and beep to a file: the sound slightly before the pictures, so that neither waits for the clock.
    ///
    /// - Parameters:
    ///   - pattern: what the sound capture gives.
    ///   - replacement: what another one gives, which takes over after a number of seconds.
    ///   - newCamera: when another capture of the pictures takes over, in seconds.
    private func record(
        _ pattern: FlashAndBeep, seconds: Int, replacement: (pattern: FlashAndBeep, at: Int)? = nil,
        newCamera: Int? = nil, to path: String
    ) throws -> MediaPublisher.Statistics {
        func makeVideo() -> PushCapturer {
            PushCapturer(
                format: VideoFormat(.i420, width: 64, height: 48, estimatedFramesPerSecond: 30), queueCapacity: 4,
                policy: .block)
        }
        var video = makeVideo()
        var pattern = pattern
        var sound = ScriptedSound(pattern.format)
        var settings = MediaPublisher.Settings(encoders: [.vp8], audioEncoders: [.opus])
        // The sound is handed over ahead of the pictures, and ends with them.
        settings.maximumDuration = .seconds(seconds)
        settings.maximumFrames = UInt64(seconds * 30)
        let publisher = MediaPublisher(video: video, audio: sound, settings: settings)
        try publisher.add(FileOutput(path))
        let log = RunLog(publisher)
        try publisher.start()
        var chunk = 0
        for index in 0..<seconds * 30 {
            if let replacement, index == replacement.at * 30 {
                pattern = replacement.pattern
                chunk = pattern.chunk(endingAfter: Double(index) / 30 + 0.3)
                let new = ScriptedSound(pattern.format, first: try pattern.sound(chunk).chunk)
                try publisher.replaceCapture(with: new)
                #expect(sound.state == .idle)
                sound = new
                chunk += 1
            }
            if let newCamera, index == newCamera * 30 {
                // What still waits in the queue of a camera is lost when another one takes over.
                #expect(eventually { publisher.statistics.framesPublished == index })
                let new = makeVideo()
                let (buffer, time) = try pattern.video(index)
                try CaptureThread(name: "pusher") {
                    while !new.push(buffer, timestamp: time) { sched_yield() }
                }
                try publisher.replaceCapture(with: new, timeout: .seconds(60))
                #expect(video.state == .idle)
                video = new
                continue
            }
            while true {
                let (next, end) = try pattern.sound(chunk)
                guard end < Double(index) / 30 + 0.3 else { break }
                if let next { sound.deliver(next) }
                chunk += 1
            }
            try awaitSound(publisher, upTo: Double(index - 2) / 30 - 0.6)
            let (buffer, time) = try pattern.video(index)
            #expect(video.push(buffer, timestamp: time))
        }
        _ = try log.waitForEnd()
        try publisher.stop()
        #expect(log.failures.isEmpty, "\(log.failures)")
        defer { publisher.close() }
        return publisher.statistics
    }

    /// Until the sound that was handed over has been taken, and sound up to a time has been encoded: pictures come faster
    /// here than any clock, and silence follows them by half a second.
    private func awaitSound(_ publisher: MediaPublisher, upTo end: Double = 0) throws {
        let limit = RunLog.limit
        let audio = try #require(publisher.audio)
        func isBehind() -> Bool {
            let packets = publisher.statistics.audio?.encoders.first?.encoding.packets ?? 0
            return Double(packets) * 0.02 < end || audio.statistics.consumers.contains { $0.waiting > 0 }
        }
        while isBehind() {
            try #require(MonotonicClock().now < limit, "the sound is not taken")
            sched_yield()
        }
    }

    /// Sound minus picture at each whole second, in seconds, as FFmpeg decodes the file.
    private func offsets(_ path: String) throws -> [Double] {
        func rows(_ stream: String, _ entries: String) throws -> [[Double]] {
            let text = try run(
                "ffprobe", "-v", "error", "-select_streams", stream, "-show_entries", "frame=\(entries)", "-of",
                "csv=p=0", path)
            return text.split(separator: "\n").map { line in line.split(separator: ",").compactMap { Double($0) } }
        }
        let pictures = try rows("v", "pts_time").compactMap(\.first)
        let flashes = stride(from: 0, to: pictures.count, by: 30).dropFirst().map { pictures[$0] }
        // FFmpeg states the decoder's delay of 6.5 ms as 7.
        let packets = try run(
            "ffprobe", "-v", "error", "-select_streams", "a", "-show_entries", "packet=pts_time", "-of", "csv=p=0", path
        )
        let times = packets.split(separator: "\n").compactMap { line in Double(line.prefix { $0 != "," }) }
        for (index, time) in times.enumerated() { #expect(abs(time - Double(index) * 0.02 + 0.007) < 0.0011) }
        let raw = folder.file("sound.raw")
        _ = try run("ffmpeg", "-y", "-v", "error", "-i", path, "-map", "0:a", "-ac", "1", "-f", "f32le", raw)
        let samples = try readBytes(raw).withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
        var beeps: [Double] = []
        var quiet = 4800
        for (index, sample) in samples.enumerated() {
            if abs(sample) > 0.2 {
                if quiet >= 2400 { beeps.append(Double(index) / 48_000) }
                quiet = 0
            } else {
                quiet += 1
            }
        }
        return beeps.map { beep in beep - (flashes.min { abs($0 - beep) < abs($1 - beep) } ?? 0) }
    }

    /// Within half a millisecond from capture to file, whatever the clock of the card, from the first beep to the last.
    @Test(arguments: [0.0, 100, -100, 1000, -1000]) func soundAndPictureStayTogether(ppm: Double) throws {
        let path = folder.file("av.webm")
        let statistics = try record(FlashAndBeep(ppm: ppm), seconds: 10, to: path)
        let offsets = try offsets(path)
        #expect(offsets.count == 9)
        for offset in offsets { #expect(abs(offset) < 0.0005, "\(offset * 1000) ms at \(ppm) ppm") }
        #expect(statistics.framesPublished == 300)
        let streams = try run("ffprobe", "-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0", path)
        #expect(streams == "vp8\nopus\n")
        let duration = try run("ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", path)
        #expect(abs((Double(duration.filter { !$0.isWhitespace }) ?? 0) - 10) < 0.05)
    }

    /// A microphone that was pulled: silence as long as it was gone, and the last beep as true as the first.
    @Test func afterAHoleTheyAreTogether() throws {
        let path = folder.file("hole.webm")
        let statistics = try record(FlashAndBeep(ppm: 300, hole: 4.21..<7.437), seconds: 12, to: path)
        let offsets = try offsets(path)
        // Those of seconds 5, 6 and 7 are missing.
        #expect(offsets.count == 8)
        for offset in offsets { #expect(abs(offset) < 0.0005, "\(offset * 1000) ms") }
        let silence = try #require(statistics.audio).framesOfSilence
        #expect(abs(Double(silence) / 48_000 - 3.24) < 0.03)
    }

    /// Another microphone takes over, then another camera: the run goes on, its limits hold, and beeps stay with flashes.
    @Test func aReplacementOfEitherLeavesThemTogether() throws {
        let path = folder.file("replaced.webm")
        let other = FlashAndBeep(ppm: -400, lead: 0.31, format: AudioFormat(.float32, .mono, sampleRate: 44_100))
        let statistics = try record(
            FlashAndBeep(ppm: 300), seconds: 9, replacement: (other, at: 3), newCamera: 6, to: path)
        let offsets = try offsets(path)
        #expect(offsets.count == 8)
        for offset in offsets { #expect(abs(offset) < 0.0005, "\(offset * 1000) ms") }
        #expect(statistics.framesPublished == 270)
        // Less than the time between the last chunk of the one and the first of the other.
        #expect(try #require(statistics.audio).framesOfSilence < 3000)
        let duration = try run("ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", path)
        #expect(abs((Double(duration.filter { !$0.isWhitespace }) ?? 0) - 9) < 0.05)
    }

    /// A camera that gives nothing does not take over, and the run goes on with the one before.
    @Test func aReplacementThatFailsChangesNothing() throws {
        let publisher = noisePublisher(frames: 90, rate: 60)
        defer { publisher.close() }
        let sink = ProbeSink()
        try publisher.add(ProbeOutput(sink, .init(codecs: [.vp8])))
        let log = RunLog(publisher)
        try publisher.start()
        try sink.waitForPackets(3)
        let silent = PushCapturer(format: .i420(width: 16, height: 8))
        #expect(throws: CaptureError.self) {
            try publisher.replaceCapture(with: silent, timeout: .milliseconds(50))
        }
        #expect(silent.state == .idle)
        #expect(throws: CaptureError.self) { try publisher.replaceCapture(with: ScriptedSound(.float48kStereo)) }
        #expect(try log.waitForEnd() == .limitReached)
        try publisher.stop()
        #expect(sink.packets.count == 90)
    }

    /// A microphone at 44.1 kHz that begins after the pictures.
    @Test func soundMayBeginLate() throws {
        let path = folder.file("late.webm")
        let pattern = FlashAndBeep(
            ppm: -50, lead: -1.507, format: AudioFormat(.float32, .mono, sampleRate: 44_100))
        _ = try record(pattern, seconds: 6, to: path)
        let offsets = try offsets(path)
        #expect(offsets.count == 4)
        for offset in offsets { #expect(abs(offset) < 0.0005, "\(offset * 1000) ms") }
    }

    /// A microphone that gives nothing: the file has silence as long as the pictures.
    @Test func withoutAnySoundThereIsSilence() throws {
        let path = folder.file("silent.webm")
        _ = try record(FlashAndBeep(ppm: 0, hole: -1..<1000), seconds: 3, to: path)
        let text = try run(
            "ffprobe", "-v", "error", "-select_streams", "a", "-count_packets", "-show_entries",
            "stream=nb_read_packets",
            "-of", "csv=p=0", path)
        let count = Int(text.filter(\.isNumber)) ?? 0
        #expect((150...152).contains(count))
    }

    @Test func soundAloneIsPublished() throws {
        let path = folder.file("alone.webm")
        let sound = ScriptedSound(.float48kStereo)
        var settings = MediaPublisher.Settings(audioEncoders: [.opus])
        settings.maximumDuration = .seconds(2)
        let publisher = MediaPublisher(audio: sound, settings: settings)
        defer { publisher.close() }
        try publisher.add(FileOutput(path))
        let log = RunLog(publisher)
        try publisher.start()
        for index in 0..<150 {
            sound.deliver(
                AudioChunk(
                    buffer: try AudioBuffer(
                        copying: [Float](repeating: 0.1, count: 1920), channels: .stereo, sampleRate: 48_000),
                    timestamp: MediaTime(nanoseconds: 7_000_000_000 + Int64(index) * 20_000_000),
                    firstFrame: Int64(index) * 960))
            try awaitSound(publisher)
        }
        #expect(try log.waitForEnd() == .limitReached)
        try publisher.stop()
        let duration = try run("ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", path)
        #expect(abs((Double(duration.filter { !$0.isWhitespace }) ?? 0) - 2) < 0.001)
        #expect(log.failures.isEmpty)
    }

    /// What takes no sound gets the pictures; sound alone needs something that takes it.
    @Test func outputsWithoutSoundGetThePictures() throws {
        let publisher = noisePublisher(frames: 3, rate: 30)
        defer { publisher.close() }
        #expect(publisher.audio == nil)
        let alone = MediaPublisher(audio: ScriptedSound(.float48kStereo), settings: .init(audioEncoders: [.opus]))
        defer { alone.close() }
        try alone.add(FileOutput(folder.file("a.ivf")))
        #expect(throws: OptionError.self) { try alone.start() }
        #expect(access(folder.file("a.ivf"), F_OK) != 0)
        // No encoder for what the output takes.
        let poor = MediaPublisher(audio: ScriptedSound(.float48kStereo))
        defer { poor.close() }
        try poor.add(FileOutput(folder.file("b.webm")))
        #expect(throws: OptionError.self) { try poor.start() }
        #expect(access(folder.file("b.webm"), F_OK) != 0)
    }

    /// An output that cannot have the sound says so at the start, where another one has it.
    @Test func outputsWithoutSoundSayWhy() throws {
        let video = PushCapturer(format: VideoFormat(.i420, width: 64, height: 48), queueCapacity: 4, policy: .block)
        let settings = MediaPublisher.Settings(encoders: [.vp8], audioEncoders: [.opus])
        let publisher = MediaPublisher(video: video, audio: ScriptedSound(.float48kStereo), settings: settings)
        defer { publisher.close() }
        try publisher.add(FileOutput(folder.file("a.webm")))
        try publisher.add(FileOutput(folder.file("a.ivf")))
        // WAV takes samples, for which there is no encoder here.
        try publisher.add(PicturesAndSamples())
        try publisher.add(FileOutput("", format: .null))
        let log = RunLog(publisher)
        try publisher.open()
        #expect(
            log.warnings.map { $0.replacing(folder.path + "/", with: "") } == [
                "a.ivf has no sound: ivf holds pictures only.",
                "both has no sound: it takes pcm, for which this program has no encoder.",
            ])
    }

    /// A disk that is full for both is one failure, and the other output goes on.
    @Test func aFailureEndsOneOutput() throws {
        let video = PushCapturer(
            format: VideoFormat(.i420, width: 64, height: 48, estimatedFramesPerSecond: 30), queueCapacity: 4,
            policy: .block)
        let sound = ScriptedSound(.init(.float32, .mono, sampleRate: 48_000))
        var settings = MediaPublisher.Settings(encoders: [.vp8], audioEncoders: [.opus])
        settings.maximumFrames = 90
        let publisher = MediaPublisher(video: video, audio: sound, settings: settings)
        defer { publisher.close() }
        let good = folder.file("good.webm")
        try publisher.add(FileOutput("/dev/full", format: .webm, overwrites: true))
        try publisher.add(FileOutput(good))
        let log = RunLog(publisher)
        try publisher.start()
        let pattern = FlashAndBeep(ppm: 0)
        for index in 0..<90 {
            for chunk in (index * 5 / 3)..<((index + 1) * 5 / 3) {
                if let chunk = try pattern.sound(chunk).chunk { sound.deliver(chunk) }
            }
            try awaitSound(publisher)
            let (buffer, time) = try pattern.video(index)
            _ = video.push(buffer, timestamp: time)
        }
        _ = try log.waitForEnd()
        try publisher.stop()
        #expect(log.failures.map(\.outputs) == [[0]])
        let streams = try run("ffprobe", "-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0", good)
        #expect(streams == "vp8\nopus\n")
    }
}

/// An output of pictures with samples.
private final class PicturesAndSamples: MediaOutput {
    let name = "both"
    let kind = "both"
    let feed = OutputContext.Feed.packets(.init(codecs: [.vp8]))
    let audioFeed: OutputContext.AudioFeed? = .packets([.pcm])
    let outputStatistics = OutputStatistics(bytes: 0)

    func open(_ context: OutputContext) throws -> OutputContext.Destination { .sink(NoSink()) }

    private final class NoSink: PacketSink {
        func begin(_ tracks: [TrackDescription]) {}
        func write(_ packet: MediaPacket) {}
        func finish() {}
    }
}
