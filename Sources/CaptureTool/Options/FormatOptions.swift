import CameraCapturer
import FrameProcessing
import MediaContainers
import VideoCapturing

/// Parses a frame size: `640x480`, or the name of a size.
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
                throw OptionError(
                    "--size", text, "out of range; width and height are 1 to \(VideoFormat.maximumSide) pixels.")
            }
            return PixelSize(width: width, height: height)
        }
        let names = presets.map(\.name)
        let guess = nearestName(to: name, in: names).map { " Did you mean \($0)?" } ?? ""
        throw OptionError(
            "--size", text, "not a size.\(guess) Give WIDTHxHEIGHT or one of \(names.joined(separator: ", ")).")
    }
}

/// Parses a region of a frame: `10,20,640x480`, the left and top edge and the size.
public enum RegionOption {
    /// The region that `text` stands for, in pixels.
    public static func parse(_ text: String) throws(OptionError) -> PixelRect {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let maximum = VideoFormat.maximumSide
        guard parts.count == 3, let x = parseDigits(parts[0], as: Int.self),
            let y = parseDigits(parts[1], as: Int.self), x <= maximum, y <= maximum
        else { throw OptionError("--region", text, "give X,Y,WIDTHxHEIGHT, such as 0,0,640x480.") }
        let size: PixelSize
        do throws(OptionError) {
            size = try PictureSizeOption.parse(parts[2])
        } catch {
            throw OptionError("--region", text, "give X,Y,WIDTHxHEIGHT, such as 0,0,640x480.")
        }
        return PixelRect(x: x, y: y, width: size.width, height: size.height)
    }
}

/// Parses the name of a camera's format: `NV12`, `YUYV`, `MJPG`.
public enum CaptureFormatOption {
    /// The format of that name; upper and lower case are the same where that names a known format.
    public static func parse(_ text: String) throws(OptionError) -> FourCC {
        for name in [text, text.uppercased()] {
            if let fourCC = FourCC(name), CaptureFormat.of(fourCC) != nil { return fourCC }
        }
        guard let fourCC = FourCC(text) else {
            throw OptionError(
                "--capture-format", text,
                "not a format. A format's name has four characters, such as NV12, YUYV or MJPG; "
                    + "capturer-demo list --modes shows the camera's formats.")
        }
        return fourCC
    }
}

/// Parses one name of a list.
public enum ChoiceOption {
    /// The value with that name; upper and lower case are the same.
    ///
    /// - Throws: an error with the nearest name and the list.
    public static func parse<Value>(
        _ text: String, option: String, choices: [(name: String, value: Value)]
    ) throws(OptionError) -> Value {
        let name = text.lowercased()
        if let choice = choices.first(where: { $0.name == name }) { return choice.value }
        let names = choices.map(\.name)
        let guess = nearestName(to: name, in: names).map { " Did you mean \($0)?" } ?? ""
        throw OptionError(option, text, "unknown.\(guess) Choose one of \(names.joined(separator: ", ")).")
    }

    /// The clockwise rotation to apply for display: `0`, `90`, `180`, `270`.
    public static func orientation(_ text: String) throws(OptionError) -> VideoOrientation {
        try parse(
            text, option: "--orientation",
            choices: [("0", .up), ("90", .left), ("180", .down), ("270", .right)])
    }

    /// `none`, `motion`, `detail`, `text`.
    public static func contentHint(_ text: String) throws(OptionError) -> VideoContentHint {
        try parse(text, option: "--content-hint", choices: VideoContentHint.allCases.map { ($0.rawValue, $0) })
    }

    /// `nv12`, `i420`, `argb` and the other formats by name.
    public static func pixelFormat(_ text: String) throws(OptionError) -> PixelFormat {
        try parse(
            text, option: "--pixel-format", choices: PixelFormat.allCases.map { ($0.rawValue.lowercased(), $0) })
    }

    /// `text`, `json`, `none`.
    public static func statistics(_ text: String) throws(OptionError) -> StatisticsStyle {
        try parse(text, option: "--stats", choices: StatisticsStyle.allCases.map { ($0.rawValue, $0) })
    }
}

/// How the tool reports statistics while it runs.
public enum StatisticsStyle: String, Sendable, Hashable, CaseIterable {
    /// Text for people.
    case text
    /// One JSON object on each line.
    case json
    /// Only a line for each output, at the end.
    case none
}
