import FFmpegContainers
import Glibc
import MediaContainers
import TestTools
import Testing
import VideoCapturing

/// A folder with files that ffmpeg makes.
final class MediaFolder {
    private let folder: TemporaryFolder

    init() throws { folder = TemporaryFolder() }

    func file(_ name: String) -> String { folder.file(name) }

    /// Makes a file of a test picture that moves, and returns its path.
    ///
    /// - Parameters:
    ///   - size: as in `64x48`.
    ///   - options: ffmpeg's, between the input and the name.
    @discardableResult
    func make(_ name: String, size: String = "64x48", frames: Int = 12, rate: String = "25", _ options: String...)
        throws
        -> String
    {
        let path = file(name)
        // The source has even sides only.
        let sides = size.split(separator: "x").compactMap { Int($0) }
        let source = "testsrc2=s=\(sides[0] + sides[0] % 2)x\(sides[1] + sides[1] % 2):r=\(rate)"
        let input = ["-f", "lavfi", "-i", "\(source),format=rgb24,crop=\(sides[0]):\(sides[1]):0:0"]
        try ffmpeg(input + ["-frames:v", "\(frames)"] + options.flatMap(words) + [path])
        return path
    }

    func ffmpeg(_ arguments: [String]) throws {
        try run("ffmpeg", ["-nostdin", "-v", "error", "-y", "-threads", "1"] + arguments)
    }

    private func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }
}

/// What ffmpeg itself decodes of a file: the samples of each frame, packed.
func ffmpegFrames(_ path: String, as pixels: String, size: Int, _ input: [String] = []) throws -> [[UInt8]] {
    let filter = "scale=flags=bicubic+accurate_rnd+full_chroma_inp+full_chroma_int,format=\(pixels)"
    let bytes = try run(
        "ffmpeg",
        ["-nostdin", "-v", "error", "-noautorotate"] + input
            + ["-i", path, "-map", "0:v:0", "-vsync", "passthrough", "-vf", filter, "-f", "rawvideo", "-"])
    return stride(from: 0, to: bytes.count - size + 1, by: size).map { Array(bytes[$0..<$0 + size]) }
}

/// The times of the pictures of a file, in seconds, as ffprobe tells them.
func ffprobeTimes(_ path: String) throws -> [Double] {
    let text = String(
        decoding: try run(
            "ffprobe",
            [
                "-v", "error", "-select_streams", "v:0", "-show_entries", "frame=best_effort_timestamp_time", "-of",
                "csv=p=0", path,
            ]), as: UTF8.self)
    return text.split(whereSeparator: { $0 == "\n" || $0 == "," }).compactMap { Double($0) }
}

func openReader(_ path: String, threads: Int? = 1) throws -> FFmpegReader {
    try FFmpegReader(FrameReaderFactory.Request(path: path, file: InputFile(path: path), threads: threads))
}

/// A pipe that holds the whole of a small file.
func openPipe(_ path: String) throws -> FFmpegReader {
    let file = InputFile(descriptor: try pipeHolding(try readBytes(path)), name: "pipe", closing: true)
    return try FFmpegReader(FrameReaderFactory.Request(path: "-", file: file, threads: 1))
}

/// The packed samples of a picture.
func samples(of buffer: PixelBuffer) -> [UInt8] {
    var bytes: [UInt8] = []
    for plane in buffer.planes.indices {
        for row in 0..<buffer.planes[plane].rows {
            buffer.withRow(row, ofPlane: plane) { bytes += Array($0) }
        }
    }
    return bytes
}

/// All that is left of a file.
func readAll(_ reader: FFmpegReader) throws -> [(buffer: PixelBuffer, timestamp: Duration)] {
    var frames: [(buffer: PixelBuffer, timestamp: Duration)] = []
    while let frame = try reader.nextFrame() {
        frames.append(frame)
        try #require(frames.count <= 1000)
    }
    return frames
}

/// Runs `body`, which must throw a `MediaFileError`, and returns it.
func mediaFileError<Result>(_ body: () throws -> Result) -> MediaFileError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? MediaFileError
    }
}

/// Expects two pictures to be equal, and does not print either.
func expectEqual(_ first: [UInt8], _ second: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) {
    let areEqual = first == second
    #expect(areEqual, sourceLocation: sourceLocation)
}

/// The bytes of memory that this process occupies.
func residentMemory() -> Int {
    let text = try? String(decoding: readBytes("/proc/self/statm"), as: UTF8.self)
    return (text?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
}
