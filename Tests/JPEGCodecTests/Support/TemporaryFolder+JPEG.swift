import TestTools

extension TemporaryFolder {
    /// Runs a program in the folder; fails the test when it fails.
    func run(_ program: String, _ arguments: [String]) throws {
        try TestTools.run(program, arguments, in: path)
    }

    /// A colourful picture as JPEG, made by libjpeg-turbo's `cjpeg` (Debian: `libjpeg-turbo-progs`).
    func makeJPEG(width: Int, height: Int, _ arguments: [String] = []) throws -> [UInt8] {
        try write(Array("P6\n\(width) \(height)\n255\n".utf8) + colours(width: width, height: height), to: "in.ppm")
        try run("cjpeg", ["-quality", "85"] + arguments + ["-outfile", "made.jpg", "in.ppm"])
        return try read("made.jpg")
    }

    /// The luma of a JPEG as `djpeg` decodes it.
    func luma(of jpeg: [UInt8], width: Int, height: Int) throws -> [UInt8] {
        try write(jpeg, to: "luma.jpg")
        try run("djpeg", ["-grayscale", "-pnm", "-outfile", "luma.pgm", "luma.jpg"])
        return try read("luma.pgm").suffix(width * height)
    }

    /// The planes of a JPEG as ffmpeg decodes them, in the sampling that they have.
    func planes(of jpeg: [UInt8], pixelFormat: String) throws -> [UInt8] {
        try write(jpeg, to: "planes.jpg")
        try run(
            "ffmpeg",
            [
                "-nostdin", "-y", "-v", "error", "-idct", "int", "-i", "planes.jpg", "-f", "rawvideo", "-pix_fmt",
                pixelFormat, "planes.yuv",
            ])
        return try read("planes.yuv")
    }
}

/// Red, green and blue of a picture with gradients and an edge.
func colours(width: Int, height: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(width * height * 3)
    for y in 0..<height {
        for x in 0..<width {
            let isInside = x % 24 < 10 && y % 20 < 9
            bytes.append(isInside ? 230 : UInt8(truncatingIfNeeded: 40 + min(x, 150)))
            bytes.append(isInside ? 40 : UInt8(truncatingIfNeeded: 60 + min(y, 150)))
            bytes.append(UInt8(truncatingIfNeeded: 90 + (x + y) % 80))
        }
    }
    return bytes
}
