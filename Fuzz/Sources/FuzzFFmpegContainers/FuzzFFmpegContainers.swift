import FFmpegContainers
import FuzzSupport
import MediaContainers
import VideoCapturing

/// Any bytes end in pictures whose times increase, or in an error; and what was read once is read again.
///
/// FFmpeg itself is not built for the fuzzer, which so sees only what our code does with it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFFmpegMedia(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    withFuzzFiles(UnsafeRawBufferPointer(start: start, count: count)) { file in
        guard let reader = try? FFmpegReader(FrameReaderFactory.Request(path: "file", file: file, threads: 1)) else {
            return
        }
        // Large pictures of few bytes are slow and show nothing that small ones do not.
        guard reader.format.imageWidth * reader.format.imageHeight < 1 << 16 else { return }
        let frames = countFrames(reader)
        guard reader.canSeek else { return }
        try? reader.seek(to: .milliseconds(40))
        _ = try? reader.nextFrame()
        guard frames < limit, (try? reader.rewind()) != nil else { return }
        precondition(countFrames(reader) == frames, "what was read once is read again")
    }
    playWithReports(readers: [.ffmpeg])
    return 0
}

/// A few bytes may stand for many repeated pictures.
private let limit = 50

private func countFrames(_ reader: FFmpegReader) -> Int {
    var last = Duration.seconds(-1)
    var frames = 0
    while frames < limit, let frame = try? reader.nextFrame() {
        precondition(frame.timestamp > last)
        precondition(FFmpegReader.maximumPixelCount >= frame.buffer.width * frame.buffer.height)
        last = frame.timestamp
        frames += 1
    }
    return frames
}
