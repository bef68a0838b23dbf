import VideoCapturing

/// Reads YUV4MPEG2 (`.y4m`): 8-bit 4:2:0 of every chroma siting, and mono, whose chroma becomes 128. Gives
/// I420.
///
/// Memory is bounded by the pictures in use; a file that is shorter than its header claims takes none.
public final class Y4MReader: FrameReader {
    public let format: VideoFormat
    /// The range is the header's; the matrix, which Y4M does not carry, is taken for BT.601.
    public let color: ColorDescription
    public let estimatedFrameCount: Int64?

    /// What stands before nearly every frame.
    private static let plainFrameLine = "FRAME\n"

    private let file: InputFile
    private let header: Y4MHeader
    private let rate: FrameRate
    private let frameBytes: Int
    private let pool = PixelBufferPool()
    private let headerBytes: Int64
    private var index: Int64 = 0
    private var hasEnded = false

    /// Reads the header.
    ///
    /// - Throws: `corruptData` for what is no Y4M file, `formatUnsupported` for another sampling or depth,
    ///   `limitExceeded` for a side over 16383 pixels.
    public init(_ file: InputFile) throws(MediaFileError) {
        let start = file.position
        header = try Y4MReader.readHeader(file)
        headerBytes = file.position - start
        self.file = file
        rate = header.rate
        format = VideoFormat(.i420, width: header.width, height: header.height, estimatedFramesPerSecond: header.rate)
        color = ColorDescription(matrix: .bt601, range: header.range)
        frameBytes =
            header.chroma == .monochrome
            ? header.width * header.height
            : PixelFormat.i420.packedByteCount(width: header.width, height: header.height)
        estimatedFrameCount = file.bytesRemaining.map { [frameBytes] in $0 / Int64(frameBytes + 6) }
    }

    public var canRewind: Bool { file.isSeekable }
    public var sourceDescription: String { "Y4M" }

    public func nextFrame() throws -> (buffer: PixelBuffer, timestamp: Duration)? {
        guard !hasEnded else { return nil }
        // True until the frame is whole, so that an error is the last thing that comes.
        hasEnded = true
        do {
            guard let buffer = try file.whole(readPicture) else { return nil }
            hasEnded = false
            defer { index += 1 }
            return (buffer, rate.time(ofFrame: index))
        } catch let error as MediaFileError where error.code == .interrupted {
            hasEnded = false
            throw error
        }
    }

    /// Nil at the end of the file.
    private func readPicture() throws -> PixelBuffer? {
        guard try takeFrameHeader() else { return nil }
        try file.checkHolds(frameBytes)
        return try pool.makeBuffer(.i420, width: header.width, height: header.height) { pixels in
            if header.chroma == .monochrome {
                guard try file.readPixels(into: pixels, plane: 0) else { throw file.endsWithinFrame() }
                pixels.fill(plane: 1, with: 128)
                pixels.fill(plane: 2, with: 128)
            } else {
                guard try file.readPixels(into: pixels) else { throw file.endsWithinFrame() }
            }
        }
    }

    public func rewind() throws {
        try file.rewind()
        _ = try Y4MReader.readHeader(file)
        index = 0
        hasEnded = false
    }

    /// Goes straight there; where frames have parameters, so that they are not of one length, from frame to frame.
    public func seek(to time: Duration) throws {
        let frame = Int64(Y4MReader.plainFrameLine.utf8.count + frameBytes)
        let count = file.size.map { ($0 - headerBytes) / frame } ?? 0
        let wanted = max(0, min(rate.frameIndex(at: time), count - 1))
        try file.seek(to: headerBytes + wanted * frame)
        if try file.peek(Y4MReader.plainFrameLine.utf8.count, { $0.elementsEqual(Y4MReader.plainFrameLine.utf8) }) {
            index = wanted
            hasEnded = false
            return
        }
        try rewind()
        while index < wanted, try takeFrameHeader() {
            guard try file.skip(frameBytes) == frameBytes else { throw file.endsWithinFrame() }
            index += 1
        }
    }

    /// Takes the line before a frame, its parameters included; false at the end of the file.
    private func takeFrameHeader() throws(MediaFileError) -> Bool {
        try file.readLine(limit: Y4MHeader.lengthLimit) { (line, end) throws(MediaFileError) in
            if end == .endOfFile, line.isEmpty { return false }
            let isFrame = line.starts(with: "FRAME".utf8) && (line.count == 5 || line[5] == UInt8(ascii: " "))
            if end == .endOfFile { throw file.endsWithinFrame() }
            guard isFrame, end == .newline else {
                throw file.corrupt("Where a frame should begin there is none; the frames before it are whole.")
            }
            return true
        }
    }

    private static func readHeader(_ file: InputFile) throws(MediaFileError) -> Y4MHeader {
        try file.readLine(limit: Y4MHeader.lengthLimit) { (line, end) throws(MediaFileError) in
            guard end == .newline else {
                throw file.corrupt("The file has no complete Y4M header; check that it is a Y4M file.")
            }
            return try Y4MHeader(line, path: file.path)
        }
    }
}
