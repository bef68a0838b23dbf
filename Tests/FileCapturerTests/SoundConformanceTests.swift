import AudioCapturing
import CapturerTestKit
import FFmpegContainers
import FileCapturer
import TestTools
import Testing
import VideoCapturing

/// The contract on the sound of files: alone, and beside the pictures that it follows.
@Suite struct SoundConformanceTests {
    private final class Film: Sendable {
        private nonisolated(unsafe) let folder = TemporaryFolder()
        var path: String { folder.file("film.mkv") }
        let playback: FileCapturer.Playback

        init(seconds: Double, plays: Int?) throws {
            playback = FileCapturer.Playback(plays: plays)
            try TestTools.run(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "color=gray:size=64x48:rate=25:duration=\(seconds)", "-f",
                    "lavfi", "-i", "sine=sample_rate=48000:duration=\(seconds)", "-c:v", "mjpeg", "-c:a", "pcm_s16le",
                    path,
                ])
        }

        func capturer() -> FileCapturer { FileCapturer(path: path, readers: [.ffmpeg], playback: playback) }
    }

    private func expectContract(_ name: String, _ make: @escaping @Sendable () throws -> any AudioCapture) async {
        let report = await AudioConformanceSuite(name: name, makeCapture: make).runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }

    /// Without an end; with one in the middle of a check; with repetitions in each.
    @Test(arguments: [(60.0, 1 as Int?), (0.5, 1), (0.25, nil)])
    func aloneItKeepsTheContract(seconds: Double, plays: Int?) async throws {
        let film = try Film(seconds: seconds, plays: plays)
        await expectContract("sound of \(seconds) s") {
            try #require(film.capturer().makeSound(isAlone: true))
        }
    }

    @Test(arguments: [60.0, 1])
    func besideItsPicturesItKeepsTheContract(seconds: Double) async throws {
        let film = try Film(seconds: seconds, plays: nil)
        await expectContract("sound of a film of \(seconds) s") { try SoundOfFilm(film.capturer()) }
    }
}

/// The sound of a film whose pictures play for as long as it lives.
private final class SoundOfFilm: ForwardingAudioCapture {
    let forwardedCapture: AudioSourceCapturer
    private let film: FileCapturer

    init(_ film: FileCapturer) throws {
        self.film = film
        forwardedCapture = try #require(film.makeSound(isAlone: false) as? AudioSourceCapturer)
        try film.initCapture()
        try film.startCapture()
    }

    deinit { film.releaseCapture() }
}
