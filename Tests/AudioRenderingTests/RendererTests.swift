import AudioCapturing
import CapturerTestKit
import Glibc
import TestTools
import Testing

@testable import AudioRendering

@Suite struct RendererTests {
    static let format = AudioFormat(.int16, .stereo, sampleRate: 48_000)

    static func silence(_ frames: Int) -> [UInt8] { [UInt8](repeating: 1, count: frames * format.bytesPerFrame) }

    @Test func `What is written is played at its rate, and no more is taken than fits`() throws {
        let clock = VirtualClock(.manual)
        let renderer = NullRenderer(clock: clock, capacity: .milliseconds(200))
        #expect(try renderer.open(Self.format) == Self.format)
        #expect(renderer.bufferFrames == 9600)
        #expect(try Self.silence(20_000).withUnsafeBytes { try renderer.write($0) } == 9600)
        clock.advance(by: .milliseconds(50))
        #expect(try renderer.queuedFrames() == 7200)
        #expect(try Self.silence(20_000).withUnsafeBytes { try renderer.write($0) } == 2400)
        clock.advance(by: .seconds(5))
        #expect(try renderer.queuedFrames() == 0)
        // After an underrun the next frame is heard at once.
        #expect(try Self.silence(4800).withUnsafeBytes { try renderer.write($0) } == 4800)
        clock.advance(by: .milliseconds(10))
        #expect(try renderer.queuedFrames() == 4320)
    }

    @Test func `A pause holds the level, and a flush drops it`() throws {
        let clock = VirtualClock(.manual)
        let renderer = NullRenderer(clock: clock)
        _ = try renderer.open(Self.format)
        #expect(try Self.silence(4800).withUnsafeBytes { try renderer.write($0) } == 4800)
        clock.advance(by: .milliseconds(25))
        try renderer.pause()
        clock.advance(by: .seconds(60))
        #expect(try renderer.queuedFrames() == 3600)
        try renderer.resume()
        clock.advance(by: .milliseconds(25))
        #expect(try renderer.queuedFrames() == 2400)
        try renderer.flush()
        #expect(try renderer.queuedFrames() == 0)
    }

    @Test func `Looks at any time lose no part of a frame`() throws {
        let clock = VirtualClock(.manual)
        let renderer = NullRenderer(clock: clock, capacity: .seconds(2))
        _ = try renderer.open(Self.format)
        #expect(try Self.silence(96_000).withUnsafeBytes { try renderer.write($0) } == 96_000)
        for _ in 0..<1000 {
            clock.advance(by: .microseconds(777))
            _ = try renderer.queuedFrames()
        }
        // 777 ms are 37,296 frames.
        #expect(try abs(renderer.queuedFrames() - (96_000 - 37_296)) <= 1)
    }

    @Test func `A WAV file has a head that fits at each moment`() throws {
        let folder = TemporaryFolder()
        let clock = VirtualClock(.manual)
        let renderer = WAVRenderer(path: folder.file("a.wav"), clock: clock)
        let format = try renderer.open(AudioFormat(.float32, .stereo, sampleRate: 48_000))
        #expect(format == Self.format)
        for _ in 0..<12 {
            #expect(try Self.silence(4800).withUnsafeBytes { try renderer.write($0) } == 4800)
            clock.advance(by: .milliseconds(100))
        }
        func size(_ bytes: [UInt8], at offset: Int) -> Int {
            (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
        }
        let cut = try folder.read("a.wav")
        #expect(size(cut, at: 76) == 48_000 * 4)
        renderer.close()
        let whole = try folder.read("a.wav")
        #expect(whole.count == 80 + 12 * 4800 * 4)
        #expect(size(whole, at: 76) == whole.count - 80)
        #expect(size(whole, at: 4) == whole.count - 8)
        #expect(
            try run(
                "ffprobe", "-v", "error", "-show_entries", "stream=codec_name,duration_ts,channels", "-of", "csv=p=0",
                folder.file("a.wav")) == "pcm_s16le,2,57600\n")
    }

    @Test func `Beyond 4 GB the head is that of RF64`() throws {
        let folder = TemporaryFolder()
        let bytes: UInt64 = 5_000_000_000
        let path = try folder.write(WAVRenderer.head(Self.format, bytes), to: "large.wav")
        // Holes take no room.
        try #require(truncate(path, 80 + Int(bytes)) == 0)
        #expect(
            try run(
                "ffprobe", "-v", "error", "-show_entries", "stream=duration_ts", "-of", "csv=p=0", path)
                == "\(bytes / 4)\n")
        let largest = UInt64(UInt32.max) - 72
        #expect(WAVRenderer.head(Self.format, largest).starts(with: "RIFF".utf8))
        #expect(WAVRenderer.head(Self.format, largest + 1).starts(with: "RF64".utf8))
    }

    @Test func `Errors name the file and what to do`() throws {
        let folder = TemporaryFolder()
        let absent = WAVRenderer(path: folder.file("no/a.wav"))
        let error = #expect(throws: AudioRendererError.self) { try absent.open(Self.format) }
        #expect(error?.code == .deviceNotFound)
        #expect(error?.description.contains("no/a.wav") == true)
        let full = WAVRenderer(path: "/dev/full")
        #expect(throws: AudioRendererError.self) { try full.open(Self.format) }
        let closed = WAVRenderer(path: folder.file("b.wav"))
        #expect(throws: AudioRendererError.self) { try Self.silence(1).withUnsafeBytes { try closed.write($0) } }
        closed.close()
    }
}
