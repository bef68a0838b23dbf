import FrameProcessing
import MediaContainers
import VideoCapturing

/// Reads a size: `640x480`, or the name of one.
public enum PictureSizeOption {
    /// The names, from small to large.
    public static let presets: [(name: String, size: PixelSize)] = [
        ("sqcif", PixelSize(width: 128, height: 96)), ("qcif", PixelSize(width: 176, height: 144)),
        ("qvga", PixelSize(width: 320, height: 240)), ("cif", PixelSize(width: 352, height: 288)),
        ("360p", PixelSize(width: 640, height: 360)), ("vga", PixelSize(width: 640, height: 480)),
        ("4cif", PixelSize(width: 704, height: 576)), ("ntsc", PixelSize(width: 720, height: 480)),
        ("pal", PixelSize(width: 720, height: 576)), ("480p", PixelSize(width: 854, height: 480)),
        ("svga", PixelSize(width: 800, height: 600)), ("540p", PixelSize(width: 960, height: 540)),
        ("xga", PixelSize(width: 1024, height: 768)), ("720p", PixelSize(width: 1280, height: 720)),
        ("1080p", PixelSize(width: 1920, height: 1080)), ("1440p", PixelSize(width: 2560, height: 1440)),
        ("2160p", PixelSize(width: 3840, height: 2160)), ("4k", PixelSize(width: 3840, height: 2160)),
    ]

    /// The size that `text` stands for; upper and lower case are the same.
    public static func parse(_ text: String) throws(OptionError) -> PixelSize {
        let name = text.lowercased()
        if let preset = presets.first(where: { $0.name == name }) { return preset.size }
        let sides = name.split(separator: "x", omittingEmptySubsequences: false).map(String.init)
        if sides.count == 2, let width = parseDigits(sides[0], as: Int.self),
            let height = parseDigits(sides[1], as: Int.self)
        {
            let valid = 1...VideoFormat.maximumSide
            guard valid.contains(width), valid.contains(height) else {
                throw OptionError("--size", text, "each side has 1 to \(VideoFormat.maximumSide) pixels.")
            }
            return PixelSize(width: width, height: height)
        }
        let names = presets.map(\.name)
        let guess = nearestName(to: name, in: names).map { " Did you mean \($0)?" } ?? ""
        throw OptionError(
            "--size", text, "no size.\(guess) Give WIDTHxHEIGHT or one of \(names.joined(separator: ", ")).")
    }
}
