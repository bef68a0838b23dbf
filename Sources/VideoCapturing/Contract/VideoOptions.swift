// Options that several capturers, codecs and outputs have: described once, and parsed in one way.

extension OptionDescription {
    /// `--size`, also `--preset`: WIDTHxHEIGHT or a name.
    ///
    /// - Parameters:
    ///   - help: what it is the size of, where that is not obvious.
    ///   - defaultText: what applies without it, in words.
    public static func size(
        _ help: String = "WIDTHxHEIGHT, or a name such as cif, vga or 720p", default defaultText: String
    ) -> OptionDescription {
        OptionDescription("size", .text("SIZE"), help, default: defaultText, aliases: ["preset"])
    }

    /// `--fps`: a frame rate.
    ///
    /// - Parameters:
    ///   - help: what it is the rate of, where that is not obvious.
    ///   - defaultText: what applies without it, in words.
    public static func frameRate(
        _ help: String = "frames per second (30, 12.5, 30000/1001), or max", default defaultText: String
    ) -> OptionDescription {
        OptionDescription("fps", .text("RATE"), help, default: defaultText)
    }

    /// `--pixel-format`: one of several formats.
    ///
    /// - Parameters:
    ///   - formats: the formats that the capturer delivers.
    ///   - help: what it is the format of, where that is not obvious.
    ///   - defaultText: what applies without it, in words.
    public static func pixelFormat(
        _ formats: [PixelFormat], _ help: String = "how the samples are stored", default defaultText: String
    ) -> OptionDescription {
        OptionDescription("pixel-format", .choice(formats.map(\.optionName)), help, default: defaultText)
    }

    /// `--deinterlace`: whether one field of interlaced video is kept, or both.
    package static let deinterlace = OptionDescription(
        "deinterlace", .choice(["yes", "no"]), "one field of interlaced video, without combs", default: "yes")

    /// The end of a notice that begins with the interlaced source.
    package static let deinterlacingNotice = "it is deinterlaced, and --deinterlace no keeps both fields."
}

extension CapturerEntry.Request {
    /// Whether to deinterlace interlaced video, by ``OptionDescription/deinterlace``.
    package func deinterlaces() throws(OptionError) -> Bool {
        try options.choice("deinterlace", [("yes", true), ("no", false)]) ?? true
    }
}

extension PixelFormat {
    fileprivate var optionName: String { rawValue.lowercased() }
}

extension OptionValues {
    /// The names of sizes that ``size(_:)`` reads, from small to large.
    package static let sizeNames: [(name: String, size: PixelSize)] = [
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

    /// A part of a picture: `10,20,640x480`, the left and top edge and the size.
    package func region(_ name: String) throws(OptionError) -> PixelRect? {
        try parsed(name) { (text, option) throws(OptionError) in
            let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            let maximum = VideoFormat.maximumSide
            guard parts.count == 3, let x = parseDigits(parts[0], as: Int.self),
                let y = parseDigits(parts[1], as: Int.self), x <= maximum, y <= maximum,
                let size = try? OptionValues(["size": [parts[2]]]).size("size")
            else { throw OptionError(option, text, "give X,Y,WIDTHxHEIGHT, such as 0,0,640x480.") }
            return PixelRect(x: x, y: y, width: size.width, height: size.height)
        }
    }

    /// A frame size: `640x480`, or the name of a size; upper and lower case are the same.
    public func size(_ name: String) throws(OptionError) -> PixelSize? {
        try parsed(name) { (text, option) throws(OptionError) in
            let word = text.lowercased()
            if let preset = OptionValues.sizeNames.first(where: { $0.name == word }) { return preset.size }
            let sides = word.split(separator: "x", omittingEmptySubsequences: false).map(String.init)
            if sides.count == 2, let width = parseDigits(sides[0], as: Int.self),
                let height = parseDigits(sides[1], as: Int.self)
            {
                let size = PixelSize(width: width, height: height)
                guard size.isValid else {
                    throw OptionError(
                        option, text, "out of range; width and height are 1 to \(VideoFormat.maximumSide) pixels.")
                }
                return size
            }
            let names = OptionValues.sizeNames.map(\.name)
            let guess = nearestName(to: word, in: names).map { " Did you mean \($0)?" } ?? ""
            let example = parseDigits(word, as: Int.self).map { "; \($0)x is that width" } ?? ""
            throw OptionError(
                option, text,
                "not a size\(example).\(guess) Give WIDTHxHEIGHT or one of \(names.joined(separator: ", ")).")
        }
    }

    /// A frame rate from 1/3600 to 1000: `30`, `30fps`, `12.5`, `30000/1001`, or `max` for as fast as possible.
    public func rate(_ name: String) throws(OptionError) -> CapturerEntry.Request.Rate? {
        try parsed(name) { (text, option) throws(OptionError) in
            if text.lowercased() == "max" { return .maximum }
            guard let rate = FrameRate(withoutUnit(text, ["fps"])) else {
                throw OptionError(
                    option, text, "not a frame rate. Give frames per second (30, 12.5, 30000/1001) or max.")
            }
            guard (FrameRate(1, per: 3600)!...1000).contains(rate) else {
                throw OptionError(
                    option, text, "out of range; a frame rate is 1/3600 to 1000 frames per second, or max.")
            }
            return .frames(rate)
        }
    }

    /// A pixel format by its name: `nv12`, `i420`, `argb` and the others.
    public func pixelFormat(_ name: String) throws(OptionError) -> PixelFormat? {
        try choice(name, PixelFormat.allCases.map { ($0.optionName, $0) })
    }
}
