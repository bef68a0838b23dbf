import VideoCapturing

/// Reads YUV4MPEG2 (`.y4m`): 8-bit 4:2:0 of every chroma siting, and mono, whose chroma becomes 128. Returns
/// I420.
///
/// Memory is bounded by the frames in use; a file that is shorter than its header states allocates none.
public final class Y4MReader: FrameReader {
    public let format: VideoFormat
    /// The range is that of the header; the matrix, which Y4M does not carry, is assumed to be BT.601.
    public let color: ColorDescription
    public let estimatedFrameCount: Int64?

    /// The line before nearly every frame.
    private static let plainFrameLine = "FRAME\n"

    private let file: InputFile
    private let header: Y4MHeader
    /// The bytes of a frame's samples.
    private let sampleBytes: Int
    private let pool = PixelBufferPool()
    // Touched for each frame, by one thread at a time.
    @exclusivity(unchecked) private var frames: EqualFrames

    /// Reads the header.
    ///
    /// - Parameter file: the file, at its beginning.
    /// - Throws: `MediaFileError`; `corruptData` when it is not a Y4M file, `formatUnsupported` for another sampling or depth,
    ///   `limitExceeded` for a side over 16383 pixels.
    public init(_ file: InputFile) throws(MediaFileError) {
        let start = file.position
        header = try Y4MReader.readHeader(file)
        let headerBytes = file.position - start
        self.file = file
        format = VideoFormat(
            .i420, width: header.width, height: header.height, pixelAspect: header.pixelAspect,
            estimatedFramesPerSecond: header.rate)
        color = ColorDescription(matrix: .bt601, range: header.range)
        sampleBytes =
            header.chroma == .monochrome
            ? header.width * header.height
            : PixelFormat.i420.packedByteCount(width: header.width, height: header.height)
        let frames = EqualFrames(
            start: headerBytes, frameBytes: Y4MReader.plainFrameLine.utf8.count + sampleBytes, rate: header.rate)
        estimatedFrameCount = file.bytesRemaining.map(frames.count)
        self.frames = frames
    }

    public var canRewind: Bool { file.isSeekable }
    public var sourceDescription: String { "Y4M" }
    public var isInterlaced: Bool { header.isInterlaced }

    public func nextFrame() throws -> (buffer: PixelBuffer, timestamp: Duration)? {
        try frames.next(file, readPicture)
    }

    /// Nil at the end of the file.
    private func readPicture() throws -> PixelBuffer? {
        guard try takeFrameHeader() else { return nil }
        try file.checkHolds(sampleBytes)
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
        frames.moveOn(to: 0)
    }

    /// Seeks directly; where frames have parameters, so that their lengths differ, from frame to frame.
    public func seek(to time: Duration) throws {
        let wanted = frames.frameIndex(at: time, in: file)
        try file.seek(to: frames.offset(of: wanted))
        if try file.peek(Y4MReader.plainFrameLine.utf8.count, { $0.elementsEqual(Y4MReader.plainFrameLine.utf8) }) {
            frames.moveOn(to: wanted)
            return
        }
        try rewind()
        while frames.index < wanted, try takeFrameHeader() {
            guard try file.skip(sampleBytes) == sampleBytes else { throw file.endsWithinFrame() }
            frames.moveOn(to: frames.index + 1)
        }
    }

    /// Consumes the line before a frame, including its parameters; false at the end of the file.
    private func takeFrameHeader() throws(MediaFileError) -> Bool {
        try file.readLine(limit: Y4MHeader.lengthLimit) { (line, end) throws(MediaFileError) in
            if end == .endOfFile, line.isEmpty { return false }
            let isFrame = line.starts(with: "FRAME".utf8) && (line.count == 5 || line[5] == UInt8(ascii: " "))
            if end == .endOfFile { throw file.endsWithinFrame() }
            guard isFrame, end == .newline else {
                throw file.corrupt("The header of a frame is missing; the frames before it are complete.")
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

/// The first line of a YUV4MPEG2 file: `YUV4MPEG2 W640 H480 F30000:1001 Ip A1:1 C420jpeg …`.
struct Y4MHeader {
    /// The chroma samplings that can be read.
    enum Chroma {
        case planar420, monochrome
    }

    var width = 0
    var height = 0
    var rate: FrameRate = 25
    var chroma = Chroma.planar420
    var range = ColorDescription.Range.limited
    var pixelAspect = PixelAspect.square
    var isInterlaced = false

    static let magic = "YUV4MPEG2"
    /// The longest header line that is read; actual ones have less than 200 bytes.
    static let lengthLimit = 4096

    /// Parses the line. Unknown parameters are ignored, as the format requires.
    init(_ line: UnsafeRawBufferPointer, path: String) throws(MediaFileError) {
        let tokens = line.split(separator: UInt8(ascii: " "))
        guard let first = tokens.first, first.elementsEqual(Y4MHeader.magic.utf8) else {
            throw Y4MHeader.corrupt(path, "The file does not begin with \(Y4MHeader.magic), so it is not a Y4M file.")
        }
        for token in tokens.dropFirst() {
            let value = String(decoding: token.dropFirst(), as: UTF8.self)
            switch token.first {
            case UInt8(ascii: "W"): width = try Y4MHeader.side(value, "width", path)
            case UInt8(ascii: "H"): height = try Y4MHeader.side(value, "height", path)
            case UInt8(ascii: "F"): rate = try Y4MHeader.rate(value, path)
            case UInt8(ascii: "A"): pixelAspect = Y4MHeader.pixelAspect(value)
            // Top or bottom field first; `Im` leaves it to each frame.
            case UInt8(ascii: "I"): isInterlaced = value == "t" || value == "b"
            case UInt8(ascii: "C"): chroma = try Y4MHeader.chroma(value, path)
            case UInt8(ascii: "X") where value == "COLORRANGE=FULL": range = .full
            default: break
            }
        }
        guard width > 0, height > 0 else {
            throw Y4MHeader.corrupt(path, "The header does not state width and height; the file cannot be read.")
        }
    }

    private static func side(_ text: String, _ name: String, _ path: String) throws(MediaFileError) -> Int {
        guard let side = decimal(text), side > 0 else {
            throw corrupt(path, "The \(name) in the header is not a number above zero.")
        }
        guard side <= VideoFormat.maximumSide else {
            throw MediaFileError(
                .limitExceeded, operation: "read the file", subject: path,
                message: "The \(name) is \(side) pixels; scale the video to at most \(VideoFormat.maximumSide).")
        }
        return side
    }

    /// `F0:0` means that the rate is unknown; FFmpeg takes 25 then, and so does this.
    private static func rate(_ text: String, _ path: String) throws(MediaFileError) -> FrameRate {
        if text == "0:0" { return 25 }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let frames = decimal(parts[0]), let seconds = decimal(parts[1]),
            let frames = Int32(exactly: frames), let seconds = Int32(exactly: seconds),
            let rate = FrameRate(frames, per: seconds)
        else { throw corrupt(path, "The frame rate in the header is not a ratio of two numbers above zero.") }
        return rate
    }

    /// Square where it is unknown, `0:0`, or no ratio.
    private static func pixelAspect(_ text: String) -> PixelAspect {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let width = decimal(parts[0]), let height = decimal(parts[1]) else { return .square }
        return PixelAspect(width: width, height: height) ?? .square
    }

    private static func chroma(_ text: String, _ path: String) throws(MediaFileError) -> Chroma {
        switch text {
        // They differ in the chroma siting, which VP8 and I420 do not distinguish.
        case "420", "420jpeg", "420paldv", "420mpeg2": return .planar420
        case "mono": return .monochrome
        default:
            throw MediaFileError(
                .formatUnsupported, operation: "read the file", subject: path,
                message: "The file's pixels are C\(text.prefix(32)); only 8-bit 4:2:0 and mono are read. Convert it "
                    + "with `ffmpeg -i in.y4m -pix_fmt yuv420p out.y4m`.")
        }
    }

    /// Digits only, no sign: at most ten, as 32 bits have.
    private static func decimal(_ text: some StringProtocol) -> Int? {
        guard (1...10).contains(text.utf8.count), text.utf8.allSatisfy({ 48...57 ~= $0 }) else { return nil }
        return Int(text)
    }

    private static func corrupt(_ path: String, _ message: String) -> MediaFileError {
        MediaFileError(.corruptData, operation: "read the file", subject: path, message: message)
    }
}
