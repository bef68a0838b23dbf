import FFmpegContainers
import TestTools
import Testing
import VideoCapturing

/// Turned as the file asks, and then mirrored, a picture is the one that ffmpeg shows.
@Suite struct OrientationTests {
    /// The matrices of ISO/IEC 14496-12: a, b, c, d.
    @Test(
        arguments: [
            (VideoOrientation.up, false, [1, 0, 0, 1]), (.left, false, [0, 1, -1, 0]), (.down, false, [-1, 0, 0, -1]),
            (.right, false, [0, -1, 1, 0]), (.up, true, [-1, 0, 0, 1]), (.down, true, [1, 0, 0, -1]),
        ])
    func isAsFFmpegTurns(_ orientation: VideoOrientation, _ isMirrored: Bool, _ matrix: [Int]) throws {
        let folder = try MediaFolder()
        let path = try folder.make("a.mov", size: "64x48", frames: 2, "-c:v mjpeg -pix_fmt yuvj420p")
        var bytes = try readBytes(path)
        let header = try #require(
            bytes.indices.dropLast(4).first { Array(bytes[$0..<$0 + 4]) == Array("tkhd".utf8) })
        // Version 0: the matrix begins 40 bytes after the version.
        let place = header + 4 + 40
        for (number, offset) in zip(matrix, [0, 4, 12, 16]) {
            for byte in 0..<4 {
                bytes[place + offset + byte] = UInt8(truncatingIfNeeded: (number << 16) >> (24 - 8 * byte))
            }
        }
        try writeBytes(bytes, to: path)
        let reader = try openReader(path)
        #expect(reader.orientation == orientation && reader.isMirrored == isMirrored)
        let buffer = try #require(try reader.nextFrame()).buffer
        // As ffmpeg does it by itself, the luma of the first picture.
        let shown = try run(
            "ffmpeg",
            ["-nostdin", "-v", "error", "-i", path, "-frames:v", "1", "-pix_fmt", "gray", "-f", "rawvideo", "-"])
        let exact = try run(
            "ffmpeg",
            [
                "-nostdin", "-v", "error", "-i", path, "-frames:v", "1", "-pix_fmt", "yuvj420p", "-f", "rawvideo", "-",
            ])
        #expect(shown.count == 64 * 48)
        #expect(turned(buffer, orientation, isMirrored) == Array(exact.prefix(64 * 48)))
    }

    /// The shape of pixels that a stream or its container states, and whether its frames have two fields.
    @Test(arguments: [
        ("a.mp4", "-c:v libx264 -aspect 16:9", false), ("a.mkv", "-c:v mjpeg -pix_fmt yuvj420p -aspect 16:9", false),
        ("a.ts", "-c:v mpeg2video -aspect 16:9 -flags +ildct+ilme -top 1", true),
        ("a.webm", "-c:v libvpx -aspect 16:9", false),
        ("b.mp4", "-c:v libx264", false),
    ]) func aspectAndFieldsAreRead(_ name: String, _ options: String, isInterlaced: Bool) throws {
        let folder = try MediaFolder()
        let reader = try openReader(try folder.make(name, size: "96x72", frames: 3, options))
        let isWide = options.contains("16:9")
        #expect(reader.pixelAspect == (isWide ? PixelAspect(width: 4, height: 3) : .square))
        #expect(reader.format.pixelAspect == reader.pixelAspect)
        #expect(reader.isInterlaced == isInterlaced)
    }

    private func turned(_ buffer: PixelBuffer, _ orientation: VideoOrientation, _ isMirrored: Bool) -> [UInt8] {
        var rows = (0..<buffer.height).map { row in buffer.withRow(row, ofPlane: 0) { Array($0) } }
        for _ in 0..<orientation.clockwiseDegrees / 90 {
            let source = rows
            rows = source[0].indices.map { column in source.reversed().map { $0[column] } }
        }
        return rows.flatMap { isMirrored ? $0.reversed() : $0 }
    }
}
