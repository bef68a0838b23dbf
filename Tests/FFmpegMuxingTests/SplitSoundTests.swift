import AudioCapturing
import FFmpegCodec
import FFmpegMuxing
import FileOutput
import Glibc
import MediaContainers
import MediaPublishing
import OpusCodec
import TestTools
import Testing
import VideoCapturing

/// The sound of files that follow each other goes on without a hole.
@Suite struct SplitSoundTests {
    private let folder = TemporaryFolder()

    /// A tone that rises, so that each moment is unlike the others.
    private static func sample(_ index: Int) -> Float {
        let time = Double(index) / 48_000
        return Float(0.4 * sin(2 * .pi * (300 + 100 * time) * time))
    }

    private func record(_ ending: String, _ encoder: any AudioEncoder, hasPictures: Bool) throws -> [DecodedSound] {
        let frames = 48_000 * 16 / 5
        let (track, sound) = try SoundFileTests.encode(encoder, frames: frames, SplitSoundTests.sample)
        let clip = try Clip.h264.get()
        let split = try SplitOutput(folder.file("a-%03d.\(ending)"), every: .duration(.seconds(1))) { path in
            if let format = try? OutputFormat(path: path) { return FileOutput(path, format: format) }
            return try FFmpegOutput(path)
        }
        let context = OutputContext(format: VideoFormat(.i420, width: 64, height: 48), warn: { Issue.record("\($0)") })
        guard case .sink(let sink) = try split.open(context) else { throw Failure() }
        try sink.begin(hasPictures ? [clip.track, track] : [track])
        let packets = sound + (hasPictures ? clip.packets : [])
        for packet in packets.sorted(by: { $0.timestamp < $1.timestamp }) { try sink.write(packet) }
        try sink.finish()
        try split.close(at: nil)
        return try (1...9).map { folder.file("a-00\($0).\(ending)") }.filter { access($0, F_OK) == 0 }
            .map { try DecodedSound($0) }
    }

    private struct Failure: Error {}

    /// - Parameter inset: the frames at the beginning of the first file, and of the others, that the file before has too.
    private func expectWhole(_ files: [DecodedSound], inset: (first: Int, others: Int) = (0, 0)) {
        #expect(files.count >= 3)
        var joined: [Float] = []
        for (number, file) in files.enumerated() {
            joined += file.samples.dropFirst(number == 0 ? inset.first : inset.others)
        }
        let errors = (0..<48_000 * 5 / 2).map { abs(joined[$0] - SplitSoundTests.sample($0)) }
        let worst = errors.indices.max { errors[$0] < errors[$1] } ?? 0
        #expect(errors[worst] < 0.1, "\(errors[worst]) at \(worst), files of \(files.map(\.samples.count))")
    }

    @Test(arguments: [("m4a", false), ("mp4", true)])
    func aac(_ ending: String, _ hasPictures: Bool) throws {
        expectWhole(try record(ending, try AACEncoder(), hasPictures: hasPictures))
    }

    /// Matroska states no delay of AAC.
    @Test func aacInMatroska() throws {
        expectWhole(try record("mkv", try AACEncoder(), hasPictures: true), inset: (1024, 1024))
    }

    /// In MP4 the sound begins with the first picture, of which the packet before has 13.5 ms already.
    @Test(arguments: [("weba", false, 0), ("mp4", true, 648), ("mkv", true, 0)])
    func opus(_ ending: String, _ hasPictures: Bool, twice: Int) throws {
        expectWhole(try record(ending, try OpusEncoder(), hasPictures: hasPictures), inset: (0, twice))
    }
}
