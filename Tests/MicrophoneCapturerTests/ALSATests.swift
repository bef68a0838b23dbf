import AudioCapturing
import AudioRendering
import CALSA
import Glibc
import Loudspeaker
import TestTools
import Testing

@testable import MicrophoneCapturer

/// Devices of ALSA that need no sound card: a file that is recorded, one that is played into.
private struct Configuration {
    let folder = TemporaryFolder()

    /// ALSA reads its configuration once in a process, so it is the same for all tests.
    nonisolated(unsafe) static let shared = Configuration()

    var recorded: String { folder.file("recorded.raw") }
    var played: String { folder.file("played.raw") }

    private init() {
        let text = """
            </usr/share/alsa/alsa.conf>
            pcm.nowhere { type null }
            pcm.tonein { type file slave.pcm "nowhere" infile "\(recorded)" file "/dev/null" format "raw" }
            pcm.mono { type plug slave { pcm "tonein" channels 1 } }
            pcm.speaker { type file slave.pcm "nowhere" file "\(played)" format "raw" }
            """
        let path = folder.file("asound.conf")
        text.withCString { bytes in
            let file = open(path, O_CREAT | O_WRONLY, 0o600)
            _ = write(file, bytes, strlen(bytes))
            close(file)
        }
        setenv("ALSA_CONFIG_PATH", path, 1)
        let samples = (0..<48_000 * 2).map { Int16(truncatingIfNeeded: $0 * 7) }
        samples.withUnsafeBytes { bytes in
            let file = open(recorded, O_CREAT | O_WRONLY, 0o600)
            _ = write(file, bytes.baseAddress, bytes.count)
            close(file)
        }
    }
}

/// One after the other, since the configuration belongs to the process.
@Suite(.serialized) struct ALSATests {
    private let configuration = Configuration.shared

    @Test func whatTheDeviceGivesIsReadSampleForSample() throws {
        let device = try PCMDevice("tonein", wanted: .int16At48kStereo, period: .milliseconds(20))
        #expect(device.format == .int16At48kStereo)
        #expect(device.framesPerPeriod > 0 && device.bufferDuration >= .milliseconds(100))
        try device.start()
        var samples = [Int16](repeating: 0, count: device.framesPerPeriod * 2)
        var read: [Int16] = []
        while read.count < 9600 {
            #expect(device.wait(stop: -1, until: MonotonicClock().now.advanced(by: .seconds(60))))
            let reading = try samples.withUnsafeMutableBytes { try device.read(into: $0) }
            guard case .frames(let count, _) = reading else { continue }
            read += samples[..<(count * 2)]
        }
        #expect(read[..<9600] == (0..<9600).map { Int16(truncatingIfNeeded: $0 * 7) }[...])
        device.stop()
    }

    /// The plug-in around it would make two channels of its one.
    @Test func aMonoCardIsRecordedInMono() throws {
        let mono = try PCMDevice("mono", wanted: .int16At48kStereo, period: .milliseconds(20))
        #expect(mono.format == AudioFormat(.int16, .mono, sampleRate: 48_000))
    }

    @Test func samplesOf24And32BitsAreExact() {
        let values: [Int32] = [0, 1, -1, 8_388_607, -8_388_608, 0x12_3456, -0x12_3456]
        for wire in [WireFormat.int24Packed, .int24, .int32] {
            let bytes = values.flatMap { value -> [UInt8] in
                let stored = UInt32(bitPattern: wire == .int32 ? value << 8 : value)
                return (0..<wire.bytesPerSample).map { UInt8(truncatingIfNeeded: stored >> (8 * UInt32($0))) }
            }
            var samples = [Float](repeating: 9, count: values.count)
            samples.withUnsafeMutableBytes { samples in
                bytes.withUnsafeBytes { wire.convert($0, count: values.count, into: samples) }
            }
            #expect(samples == values.map { Float($0) / 8_388_608 }, "\(wire)")
        }
    }

    @Test func aDeviceThatIsNotThereIsSaidToBe() throws {
        for name in ["hw:CARD=NoSuchCard", "nosuchdevice"] {
            let error = #expect(throws: CaptureError.self) {
                try PCMDevice(name, wanted: .int16At48kStereo, period: .milliseconds(20))
            }
            #expect(error?.code == .deviceNotFound, "\(String(describing: error))")
            let capturer = MicrophoneCapturer(name)
            #expect(throws: CaptureError.self) { try capturer.initCapture() }
            #expect(capturer.state == .idle)
        }
        let error = #expect(throws: AudioRendererError.self) {
            _ = try Loudspeaker("hw:CARD=NoSuchCard").open(.int16At48kStereo)
        }
        #expect(error?.code == .deviceNotFound, "\(String(describing: error))")
    }

    /// Starts, delivers, stops and starts again with a real PCM of the library.
    @Test func theCapturerDeliversAndStops() throws {
        let capturer = MicrophoneCapturer("tonein")
        let log = ChunkLog()
        capturer.audioCaptureConsumer = log
        try capturer.initCapture()
        #expect(capturer.captureSettings().format == .int16At48kStereo)
        for _ in 0..<2 {
            let before = log.frames
            try capturer.startCapture()
            #expect(log.wait(forMoreThan: before))
            try capturer.stopCapture()
        }
        capturer.releaseCapture()
        #expect(capturer.statistics.starts == 2)
    }

    @Test func soundIsPlayedSampleForSample() throws {
        let loudspeaker = Loudspeaker("speaker")
        let format = try loudspeaker.open(.int16At48kStereo)
        #expect(format == .int16At48kStereo && loudspeaker.bufferFrames > 0)
        let samples = (0..<9600).map { Int16(truncatingIfNeeded: $0 * 3) }
        var written = 0
        try samples.withUnsafeBytes { bytes in
            while written < 4800 {
                let count = try loudspeaker.write(UnsafeRawBufferPointer(rebasing: bytes[(written * 4)...]))
                try #require(count >= 0)
                written += count
            }
        }
        #expect(try loudspeaker.queuedFrames() >= 0)
        loudspeaker.close()
        let played = try readBytes(configuration.played).withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
        #expect(played == samples)
        #expect(throws: AudioRendererError.self) { try loudspeaker.flush() }
    }

    @Test func namesAreFound() {
        #expect(MicrophoneDirectory.pcmName(of: "") == "default")
        #expect(MicrophoneDirectory.pcmName(of: "hw:3,1") == "hw:3,1")
        #expect(MicrophoneDirectory.pcmName(of: "tonein") == "tonein")
        #expect(Microphone(cardID: "Mic", cardNumber: 0, device: 1, name: "A").pcmName == "plughw:CARD=Mic,DEV=1")
    }
}

/// On a card that cannot pause, which CAPTURER_LOUDSPEAKER names: that of the guest's kernel.
@Suite(.enabled(if: getenv("CAPTURER_LOUDSPEAKER") != nil)) struct LoudspeakerCardTests {
    /// At the end of a file nothing is written after a pause that would take its rest along.
    @Test func whatAPauseHoldsIsPlayedAfterIt() throws {
        let loudspeaker = Loudspeaker(String(cString: try #require(getenv("CAPTURER_LOUDSPEAKER"))))
        let format = try loudspeaker.open(.int16At48kStereo)
        let frames = loudspeaker.bufferFrames / 2
        let samples = [UInt8](repeating: 0, count: frames * format.bytesPerFrame)
        #expect(try samples.withUnsafeBytes { try loudspeaker.write($0) } == frames)
        try loudspeaker.pause()
        #expect(try loudspeaker.queuedFrames() > 0)
        try loudspeaker.resume()
        let limit = MonotonicClock().now.advanced(by: .seconds(60))
        while try loudspeaker.queuedFrames() > 0 {
            try #require(MonotonicClock().now < limit, "it is never played")
            usleep(1000)
        }
        loudspeaker.close()
    }
}

/// Counts frames.
private final class ChunkLog: AudioCaptureConsumer {
    private let count = Locked(0)

    var frames: Int { count.withLock { $0 } }

    func consumeAudio(_ chunk: AudioChunk) {
        count.withLock { $0 += chunk.frameCount }
        count.wakeAll()
    }

    func wait(forMoreThan frames: Int) -> Bool {
        count.wait(until: MonotonicClock().now.advanced(by: .seconds(60))) { $0 > frames ? () : nil } != nil
    }
}
