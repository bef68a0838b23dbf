import VideoCapturing

/// Reads raw samples, frame after frame without padding, whose format the caller must state.
public final class RawFrameReader: FrameReader {
    public let format: VideoFormat
    public let color: ColorDescription
    public let estimatedFrameCount: Int64?

    private let file: InputFile
    private let pool = PixelBufferPool()
    // Touched for each frame, by one thread at a time.
    @exclusivity(unchecked) private var frames: EqualFrames

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - file: the samples, read from its current position on.
    ///   - format: pixel format, size and rate; 30 frames per second without a rate.
    ///   - color: color matrix and range; nil for the usual ones of the pixel format.
    /// - Throws: `formatUnsupported` for a compressed format or a size out of range.
    public init(_ file: InputFile, format: VideoFormat, color: ColorDescription? = nil) throws(MediaFileError) {
        let sides = 1...VideoFormat.maximumSide
        guard !format.pixelFormat.isCompressed, sides.contains(format.imageWidth), sides.contains(format.imageHeight)
        else {
            throw MediaFileError(
                .formatUnsupported, operation: "read raw frames", subject: file.path,
                message:
                    "\(format.pixelFormat) \(format.imageWidth)x\(format.imageHeight) is not a raw format; give an "
                    + "uncompressed one with sides of 1 to \(VideoFormat.maximumSide) pixels.")
        }
        self.file = file
        let rate = format.estimatedFramesPerSecond ?? 30
        self.format = VideoFormat(
            format.pixelFormat, width: format.imageWidth, height: format.imageHeight, estimatedFramesPerSecond: rate)
        self.color = color ?? .assumed(for: format.pixelFormat)
        let frames = EqualFrames(
            start: 0,
            frameBytes: format.pixelFormat.packedByteCount(width: format.imageWidth, height: format.imageHeight),
            rate: rate)
        estimatedFrameCount = file.bytesRemaining.map(frames.count)
        self.frames = frames
    }

    public var canRewind: Bool { file.isSeekable }
    public var sourceDescription: String { "raw \(format.pixelFormat)" }

    public func nextFrame() throws -> (buffer: PixelBuffer, timestamp: Duration)? {
        try frames.next(file, readPicture)
    }

    /// Nil at the end of the file.
    private func readPicture() throws -> PixelBuffer? {
        guard try hasMore() else { return nil }
        try file.checkHolds(frames.frameBytes)
        return try pool.makeBuffer(format.pixelFormat, width: format.imageWidth, height: format.imageHeight) {
            pixels in
            guard try file.readPixels(into: pixels) else { throw file.endsWithinFrame() }
        }
    }

    public func rewind() throws {
        try file.rewind()
        frames.moveOn(to: 0)
    }

    public func seek(to time: Duration) throws {
        let wanted = frames.frameIndex(at: time, in: file)
        try file.seek(to: frames.offset(of: wanted))
        frames.moveOn(to: wanted)
    }

    /// Of a pipe, by reading ahead, which costs a copy; of a file, by its size.
    private func hasMore() throws(MediaFileError) -> Bool {
        if file.isSeekable { return file.mayHold(1) }
        return try file.peek(1) { $0.count } == 1
    }
}

extension InputFile {
    /// Reads one plane without padding directly into the rows of a buffer. False when the file ends within it.
    func readPixels(into pixels: borrowing PixelWriter, plane: Int) throws(MediaFileError) -> Bool {
        let shape = pixels.planes[plane]
        if shape.bytesPerRow == shape.rowBytes {
            return try pixels.withBytes(ofPlane: plane) { (bytes) throws(MediaFileError) in
                try read(into: bytes) == bytes.count
            }
        }
        for row in 0..<shape.rows {
            let isWhole = try pixels.withRow(row, ofPlane: plane) { (bytes) throws(MediaFileError) in
                try read(into: bytes) == bytes.count
            }
            if !isWhole { return false }
        }
        return true
    }

    /// Reads all planes, at once where their layout in memory is that of the file.
    func readPixels(into pixels: borrowing PixelWriter) throws(MediaFileError) -> Bool {
        let isWhole = try pixels.withPackedBytes { (bytes) throws(MediaFileError) in
            try read(into: bytes) == bytes.count
        }
        if let isWhole { return isWhole }
        for plane in pixels.planes.indices where try !readPixels(into: pixels, plane: plane) { return false }
        return true
    }

    /// Throws `corruptData` when fewer bytes follow than a frame needs, before memory is allocated for a size that only a
    /// damaged header states. Never throws for a pipe.
    func checkHolds(_ byteCount: Int) throws(MediaFileError) {
        if !mayHold(byteCount) { throw endsWithinFrame() }
    }

    func endsWithinFrame() -> MediaFileError {
        corrupt("The file ends within a frame; the frames before it are whole.")
    }

    func corrupt(_ message: String) -> MediaFileError {
        MediaFileError(.corruptData, operation: "read the file", subject: path, message: message)
    }
}
