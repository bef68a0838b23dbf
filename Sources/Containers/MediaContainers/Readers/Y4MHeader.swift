import VideoCapturing

/// The first line of a YUV4MPEG2 file: `YUV4MPEG2 W640 H480 F30000:1001 Ip A1:1 C420jpeg …`.
struct Y4MHeader {
    /// How chroma is sampled, of what can be read here.
    enum Chroma {
        case planar420, monochrome
    }

    var width = 0
    var height = 0
    var rate: FrameRate = 25
    var chroma = Chroma.planar420
    var range = ColorDescription.Range.limited

    static let magic = "YUV4MPEG2"
    /// The longest header line that is read; those in use have under 200 bytes.
    static let lengthLimit = 4096

    /// Reads the line. Interlaced frames are taken as they are, both fields in one picture; the pixel's
    /// aspect ratio and unknown parameters are passed over, as the format asks for.
    init(_ line: UnsafeRawBufferPointer, path: String) throws(MediaFileError) {
        let tokens = line.split(separator: UInt8(ascii: " "))
        guard let first = tokens.first, first.elementsEqual(Y4MHeader.magic.utf8) else {
            throw Y4MHeader.corrupt(path, "The file does not begin with \(Y4MHeader.magic), so it is no Y4M file.")
        }
        for token in tokens.dropFirst() {
            let value = String(decoding: token.dropFirst(), as: UTF8.self)
            switch token.first {
            case UInt8(ascii: "W"): width = try Y4MHeader.side(value, "width", path)
            case UInt8(ascii: "H"): height = try Y4MHeader.side(value, "height", path)
            case UInt8(ascii: "F"): rate = try Y4MHeader.rate(value, path)
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
                .limitExceeded, operation: "read the file", path: path,
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

    private static func chroma(_ text: String, _ path: String) throws(MediaFileError) -> Chroma {
        switch text {
        // They differ in where between the pixels chroma lies, which VP8 and I420 do not tell apart.
        case "420", "420jpeg", "420paldv", "420mpeg2": return .planar420
        case "mono": return .monochrome
        default:
            throw MediaFileError(
                .formatUnsupported, operation: "read the file", path: path,
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
        MediaFileError(.corruptData, operation: "read the file", path: path, message: message)
    }
}
