import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A picture that says which parts are watched: white is watched, black is ignored. It is stretched over the picture.
public struct MotionMask: Sendable, Hashable {
    /// The size of the mask.
    public let size: PixelSize
    private let watched: [Bool]

    /// A mask of samples of which those from 128 on are watched.
    ///
    /// - Parameters:
    ///   - size: the size of the mask; each side from 1 to `VideoFormat.maximumSide`.
    ///   - samples: the samples, row after row.
    /// - Throws: `invalidConfiguration` for another number of samples, and for a size out of range.
    public init(size: PixelSize, samples: [UInt8]) throws(CaptureError) {
        try VideoFormat(.i420, width: size.width, height: size.height).validate()
        guard samples.count == size.pixelCount else {
            throw MotionMask.error("It has \(samples.count) samples in place of \(size.pixelCount).")
        }
        self.size = size
        watched = samples.map { $0 >= 128 }
    }

    /// A mask from a file of PGM, binary (`P5`) or plain (`P2`), as GIMP exports and Motion's `mask_file` takes.
    ///
    /// - Parameter pgm: the bytes of the file.
    /// - Throws: `invalidConfiguration` for bytes that are not PGM of at most 255 levels.
    public init(pgm: [UInt8]) throws(CaptureError) {
        var reader = PGMReader(bytes: pgm[...])
        let isPlain = pgm.starts(with: [0x50, 0x32])
        guard isPlain || pgm.starts(with: [0x50, 0x35]) else {
            throw MotionMask.error("It does not begin with P5 or P2; export it as PGM in shades of gray.")
        }
        reader.bytes = reader.bytes.dropFirst(2)
        guard let width = reader.number(), let height = reader.number(), let levels = reader.number(),
            PixelSize(width: width, height: height).isValid, (1...255).contains(levels)
        else { throw MotionMask.error("Its head does not state a size and 1 to 255 levels; export it again as PGM.") }
        let size = PixelSize(width: width, height: height)
        var samples: [UInt8] = []
        if isPlain {
            // Each takes two bytes at least, so that a false size takes no memory.
            guard reader.bytes.count >= size.pixelCount else {
                throw MotionMask.error("It ends too early; copy it again.")
            }
            samples.reserveCapacity(size.pixelCount)
            while samples.count < size.pixelCount, let sample = reader.number() {
                samples.append(UInt8(clamping: sample * 255 / levels))
            }
        } else {
            samples = reader.bytes.dropFirst().prefix(size.pixelCount).map { UInt8(clamping: Int($0) * 255 / levels) }
        }
        guard samples.count == size.pixelCount else { throw MotionMask.error("It ends too early; copy it again.") }
        try self.init(size: size, samples: samples)
    }

    /// A mask from a file of PGM; see ``init(pgm:)``.
    ///
    /// - Parameter path: the path of the file, of at most 64 MiB.
    /// - Throws: `invalidConfiguration` for a file that cannot be read or is not such a picture.
    public init(pgmFile path: String) throws(CaptureError) {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        var content: [UInt8] = []
        guard let file = fopen(path, "rb") else {
            throw MotionMask.error("It cannot be opened; check the path.", errno)
        }
        defer { fclose(file) }
        while case let count = fread(&bytes, 1, bytes.count, file), count > 0 {
            content += bytes.prefix(count)
            guard content.count <= 64 << 20 else { throw MotionMask.error("It has more than 64 MiB; make it smaller.") }
        }
        guard ferror(file) == 0 else { throw MotionMask.error("It cannot be read; check the path.", errno) }
        try self.init(pgm: content)
    }

    /// Whether the middle of a cell of a grid is watched.
    func isWatched(_ column: Int, _ row: Int, of grid: PixelSize) -> Bool {
        let x = (2 * column + 1) * size.width / (2 * grid.width)
        let y = (2 * row + 1) * size.height / (2 * grid.height)
        return watched[min(y, size.height - 1) * size.width + min(x, size.width - 1)]
    }

    private static func error(_ message: String, _ code: Int32? = nil) -> CaptureError {
        CaptureError(
            .invalidConfiguration, operation: "read a mask", subject: "the mask of the motion", errno: code,
            message: message)
    }
}

/// The numbers in the head of a PGM file.
private struct PGMReader {
    var bytes: ArraySlice<UInt8>

    /// The next number, after white space and comments; nil where there is not one, or one above 99,999,999.
    mutating func number() -> Int? {
        while let byte = bytes.first {
            if byte == 0x23 {
                bytes = bytes.drop { $0 != 0x0A }
            } else if byte == 0x20 || (0x09...0x0D).contains(byte) {
                bytes = bytes.dropFirst()
            } else {
                break
            }
        }
        var value: Int?
        while let byte = bytes.first, (0x30...0x39).contains(byte), value ?? 0 < 10_000_000 {
            value = (value ?? 0) * 10 + Int(byte - 0x30)
            bytes = bytes.dropFirst()
        }
        return value
    }
}
