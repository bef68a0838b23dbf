import FFmpegContainers
import MediaContainers
import TestTools
import Testing
import VideoCapturing

/// Every pixel and every time as ffmpeg's own.
@Suite struct PictureTests {
    struct Kind: Sendable, CustomTestStringConvertible {
        var name: String
        var options: String
        var description: String
        var format: PixelFormat = .i420
        var color: ColorDescription = .bt601
        var size = (64, 48)
        var testDescription: String { "\(name) \(options)" }
    }

    static let kinds = [
        Kind(name: "a.mp4", options: "-c:v libx264 -pix_fmt yuv420p", description: "H.264 in MP4"),
        Kind(name: "odd.mp4", options: "-c:v libx264 -pix_fmt yuv444p", description: "H.264 in MP4", size: (35, 27)),
        Kind(name: "odd.mkv", options: "-c:v ffv1 -pix_fmt yuv420p", description: "FFV1 in Matroska", size: (35, 27)),
        Kind(name: "odd.webm", options: "-c:v libvpx", description: "VP8 in WebM", size: (35, 27)),
        Kind(name: "a.webm", options: "-c:v libvpx-vp9 -cpu-used 8 -pix_fmt yuv420p", description: "VP9 in WebM"),
        Kind(name: "a.mov", options: "-c:v prores -pix_fmt yuv422p10le", description: "ProRes in QuickTime"),
        Kind(name: "a.avi", options: "-c:v mjpeg -pix_fmt yuvj420p", description: "JPEG in AVI", color: .jpeg),
        Kind(name: "b.avi", options: "-c:v mjpeg -pix_fmt yuvj422p", description: "JPEG in AVI", color: .jpeg),
        Kind(name: "c.avi", options: "-c:v mpeg4", description: "MPEG-4 in AVI"),
        Kind(name: "422.mkv", options: "-c:v libx264 -pix_fmt yuv422p", description: "H.264 in Matroska"),
        Kind(name: "444p10.mkv", options: "-c:v libx264 -pix_fmt yuv444p10le", description: "H.264 in Matroska"),
        Kind(name: "grey.mkv", options: "-c:v ffv1 -pix_fmt gray", description: "FFV1 in Matroska", color: .jpeg),
        Kind(name: "alpha.mkv", options: "-c:v ffv1 -pix_fmt yuva420p", description: "FFV1 in Matroska"),
        Kind(name: "nv12.nut", options: "-c:v rawvideo -pix_fmt nv12", description: "raw video in NUT", format: .nv12),
        Kind(
            name: "709.mp4", options: "-c:v libx264 -pix_fmt yuv420p -colorspace bt709", description: "H.264 in MP4",
            color: .bt709),
        Kind(
            name: "full.mp4", options: "-c:v libx264 -pix_fmt yuvj420p -colorspace bt709 -color_range pc",
            description: "H.264 in MP4", color: ColorDescription(matrix: .bt709, range: .full)),
        Kind(
            name: "hevc.mp4", options: "-c:v libx265 -x265-params log-level=0 -pix_fmt yuv420p",
            description: "H.265 in MP4"),
        Kind(
            name: "rgb.mkv", options: "-c:v libx264rgb", description: "H.264 in Matroska", format: .argb, color: .jpeg),
        Kind(name: "a.gif", options: "", description: "GIF", format: .argb, color: .jpeg, size: (35, 27)),
        Kind(name: "a.apng", options: "-plays 0 -pix_fmt rgba", description: "APNG", format: .argb, color: .jpeg),
    ]

    @Test(arguments: kinds) func isAsFFmpegDecodes(_ kind: Kind) throws {
        let folder = try MediaFolder()
        let (width, height) = kind.size
        let path = try folder.make(kind.name, size: "\(width)x\(height)", kind.options)
        let reader = try openReader(path)
        #expect(reader.format.pixelFormat == kind.format)
        #expect(reader.format.imageWidth == width && reader.format.imageHeight == height)
        #expect(reader.format.estimatedFramesPerSecond?.framesPerSecond ?? 0 >= 24.9)
        #expect(reader.color == kind.color)
        #expect(reader.sourceDescription == kind.description)
        #expect(reader.orientation == .up && !reader.isMirrored)
        let frames = try readAll(reader)
        let isFull = kind.format == .i420 && kind.color.range == .full
        let wanted = try ffmpegFrames(
            path, as: kind.format == .argb ? "argb" : kind.format == .nv12 ? "nv12" : isFull ? "yuvj420p" : "yuv420p",
            size: kind.format.packedByteCount(width: width, height: height))
        #expect(frames.count == 12 && wanted.count == 12)
        for (frame, wanted) in zip(frames, wanted) { expectEqual(samples(of: frame.buffer), wanted) }
        let times = try ffprobeTimes(path)
        #expect(times.count == frames.count)
        for (frame, time) in zip(frames, times) {
            #expect(abs(frame.timestamp.seconds - (time - times[0])) < 0.000_002)
        }
        #expect(reader.damagedPackets == 0)
        #expect(try reader.nextFrame() == nil)
        try reader.rewind()
        let again = try readAll(reader)
        #expect(again.map(\.timestamp) == frames.map(\.timestamp))
        for (frame, wanted) in zip(again, wanted) { expectEqual(samples(of: frame.buffer), wanted) }
    }

    @Test(arguments: ["png", "jpg", "bmp", "webp", "tiff", "ppm"]) func readsASinglePicture(_ ending: String) throws {
        let folder = try MediaFolder()
        let path = try folder.make("a.\(ending)", size: "35x27", frames: 1, ending == "jpg" ? "-pix_fmt yuvj420p" : "")
        let reader = try openReader(path)
        let isRGB = reader.format.pixelFormat == .argb
        #expect(isRGB == !["jpg", "webp"].contains(ending))
        let frames = try readAll(reader)
        let wanted = try ffmpegFrames(
            path, as: isRGB ? "argb" : ending == "jpg" ? "yuvj420p" : "yuv420p",
            size: reader.format.pixelFormat.packedByteCount(width: 35, height: 27))
        expectEqual(frames.flatMap { samples(of: $0.buffer) }, wanted.flatMap { $0 })
        #expect(frames.count == 1)
    }

    @Test func readsASequenceOfPictures() throws {
        let folder = try MediaFolder()
        let pattern = try folder.make("img%03d.png", frames: 5, "-start_number 7")
        let reader = try FFmpegReader(FrameReaderFactory.Request(path: pattern, file: nil, frameRate: 10, threads: 1))
        #expect(reader.format.estimatedFramesPerSecond == 10)
        #expect(reader.sourceDescription == "PNG")
        #expect(reader.duration == .milliseconds(500))
        let frames = try readAll(reader)
        #expect(frames.map(\.timestamp) == (0..<5).map { .milliseconds(100 * $0) })
        let wanted = try ffmpegFrames(pattern, as: "argb", size: 64 * 48 * 4, ["-start_number", "7"])
        expectEqual(frames.flatMap { samples(of: $0.buffer) }, wanted.flatMap { $0 })
        try reader.seek(to: .milliseconds(250))
        #expect(try reader.nextFrame()?.timestamp == .milliseconds(200))
        let missing = mediaFileError {
            try FFmpegReader(FrameReaderFactory.Request(path: folder.file("no%03d.png"), file: nil))
        }
        #expect(missing?.code == .notFound)
    }

    @Test func keepsVariableTimesAndMakesEqualOnesIncrease() throws {
        let folder = try MediaFolder()
        let path = try folder.make(
            "vfr.mkv", frames: 10, "-vf setpts=if(gt(N\\,4)\\,N*3+7\\,N)/25/TB -vsync vfr -c:v libx264")
        let reader = try openReader(path)
        let frames = try readAll(reader)
        let times = try ffprobeTimes(path)
        #expect(frames.count == 10 && times.count == 10)
        for (frame, time) in zip(frames, times) { #expect(abs(frame.timestamp.seconds - time) < 0.000_002) }
        #expect(frames[5].timestamp - frames[4].timestamp > .milliseconds(500))
    }

    @Test func threadsGiveTheSamePictures() throws {
        let folder = try MediaFolder()
        let path = try folder.make("a.mp4", size: "160x96", frames: 30, "-c:v libx264 -g 10 -slices 4")
        let one = try readAll(try openReader(path, threads: 1))
        let four = try readAll(try openReader(path, threads: 4))
        let any = try readAll(try openReader(path, threads: nil))
        #expect(one.count == 30 && four.count == 30 && any.count == 30)
        for index in one.indices {
            expectEqual(samples(of: one[index].buffer), samples(of: four[index].buffer))
            #expect(one[index].timestamp == four[index].timestamp && any[index].timestamp == one[index].timestamp)
        }
    }

    @Test func changesItsSizeMidway() throws {
        let folder = try MediaFolder()
        let first = try folder.make("1.mpg", size: "64x48", "-c:v mpeg2video -g 4 -f mpeg2video")
        let second = try folder.make("2.mpg", size: "96x32", "-c:v mpeg2video -g 4 -f mpeg2video")
        try writeBytes(try readBytes(first) + readBytes(second), to: folder.file("both.m2v"))
        let frames = try readAll(try openReader(folder.file("both.m2v")))
        #expect(Set(frames.map { $0.buffer.width }) == [64, 96])
        #expect(frames.count >= 20)
        for (earlier, later) in zip(frames, frames.dropFirst()) { #expect(earlier.timestamp < later.timestamp) }
    }
}
