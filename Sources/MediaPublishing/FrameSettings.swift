import FrameProcessing
public import VideoCapturing

extension MediaPublisher {
    /// How the frames of an output differ from the capture's: fewer, a part of them, another size, with text. The steps are
    /// done in the order of the properties, once for all outputs with the same settings.
    ///
    /// ```swift
    /// try publisher.add(FileOutput("small.webm"), frames: .init(frameRate: 10, size: .init(width: 320, height: 240)))
    /// ```
    public struct FrameSettings: Sendable, Hashable {
        /// How a picture of another aspect gets into a size.
        public enum Fit: String, Sendable, Hashable, CaseIterable {
            /// All of it, with black at two sides.
            case pad
            /// The middle of it.
            case crop
            /// All of it, with another aspect.
            case stretch
        }

        /// The size of the pictures of an output: in pixels, or relative to those that it gets.
        public enum Size: Sendable, Hashable {
            /// Both sides in pixels.
            case pixels(PixelSize)
            /// The width in pixels; the height follows from the aspect.
            case width(Int)
            /// The height in pixels; the width follows from the aspect.
            case height(Int)
            /// Both sides in percent.
            case percent(Int)

            /// Both sides in pixels.
            public init(width: Int, height: Int) { self = .pixels(PixelSize(width: width, height: height)) }

            /// Whether it follows from the picture, so that it needs no ``Fit``.
            var keepsAspect: Bool { if case .pixels = self { false } else { true } }

            /// The size for a picture of the size `own`. A side that follows from the aspect is even, so that chroma fits.
            func resolved(_ own: PixelSize) -> PixelSize {
                func side(_ length: Int, _ part: Int, _ whole: Int) -> Int {
                    let exact = (Int64(length) * Int64(part) + Int64(whole)) / Int64(2 * whole)
                    return min(VideoFormat.maximumSide, max(2, Int(clamping: exact) * 2))
                }
                return switch self {
                case .pixels(let size): size
                case .width(let width): PixelSize(width: width, height: side(own.height, width, own.width))
                case .height(let height): PixelSize(width: side(own.width, height, own.height), height: height)
                case .percent(100): own
                case .percent(let percent):
                    PixelSize(width: side(own.width, percent, 100), height: side(own.height, percent, 100))
                }
            }
        }

        /// A text on the picture.
        public struct Overlay: Sendable, Hashable {
            /// A corner of the picture.
            public enum Corner: String, Sendable, Hashable, CaseIterable {
                case topLeft = "top-left"
                case topRight = "top-right"
                case bottomLeft = "bottom-left"
                case bottomRight = "bottom-right"
            }

            /// The text in ASCII, with fields of strftime(3) for the time of the capture: `Door %Y-%m-%d %H:%M:%S`. `%f` are
            /// milliseconds, and `%{elapsed}` is the time since the first frame, which in a film is the film's.
            public var text: String
            /// Where it is.
            public var corner: Corner
            /// The height of the letters in percent of the picture's, 1 to 50; nil for about 3.
            public var sizePercent: Int?

            /// An overlay; see the properties.
            public init(_ text: String, corner: Corner = .bottomLeft, sizePercent: Int? = nil) {
                self.text = text
                self.corner = corner
                self.sizePercent = sizePercent
            }
        }

        /// The rate, which leaves frames out; nil for that of the capture.
        public var frameRate: FrameRate?
        /// The part to keep, in pixels of the picture when it is upright; nil for all.
        public var crop: PixelRect?
        /// The size; nil for that of the part.
        public var size: Size?
        /// How the part gets into ``size``.
        public var fit: Fit
        /// The text on top; nil for none.
        public var overlay: Overlay?

        /// Settings; without any the frames stay as they are.
        public init(
            frameRate: FrameRate? = nil, crop: PixelRect? = nil, size: Size? = nil, fit: Fit = .pad,
            overlay: Overlay? = nil
        ) {
            self.frameRate = frameRate
            self.crop = crop
            self.size = size
            self.fit = fit
            self.overlay = overlay
        }

        /// Whether the pictures change, not only their number.
        var changesPictures: Bool { crop != nil || size != nil || overlay != nil }

        /// The rate, where it is lower than the one given.
        func limited(_ rate: FrameRate?) -> FrameRate? {
            guard let frameRate, rate.map({ $0.framesPerSecond > frameRate.framesPerSecond }) ?? true else {
                return rate
            }
            return frameRate
        }

        /// The format of the frames that come of those of a capture.
        ///
        /// - Throws: `OptionError` for a part that is not inside of the picture.
        func format(of source: VideoFormat, _ orientation: VideoOrientation) throws(OptionError) -> VideoFormat {
            var format = source
            format.estimatedFramesPerSecond = limited(source.estimatedFramesPerSecond)
            guard changesPictures else { return format }
            let stored = PixelSize(width: source.imageWidth, height: source.imageHeight)
            var upright = orientation.swapsDimensions ? stored.transposed : stored
            if let crop {
                guard crop.width <= upright.width - crop.x, crop.height <= upright.height - crop.y else {
                    throw OptionError(
                        "crop", "\(crop.x),\(crop.y),\(crop.width)x\(crop.height)",
                        "is not inside of the picture, which is \(upright).")
                }
                upright = PixelSize(width: crop.width, height: crop.height)
            }
            let aspect = orientation.swapsDimensions ? source.pixelAspect.transposed : source.pixelAspect
            format.pixelAspect = size == nil ? aspect : .square
            let result = size?.resolved(upright.squared(aspect)) ?? upright
            if size != nil || overlay != nil, !TextPainter.paints(on: format.pixelFormat) { format.pixelFormat = .nv12 }
            return format.resized(width: result.width, height: result.height)
        }
    }
}

extension MediaPublisher.FrameSettings {
    /// The options that describe them, for programs with a catalogue.
    package static let options =
        [
            OptionDescription.size("WIDTHxHEIGHT, a name such as vga, 320x, x240 or 50%", default: "the source's"),
            .frameRate("frames per second, at most the source's", default: "the source's"),
            OptionDescription(
                "crop", .text("X,Y,SIZE"), "a part of the picture, such as 0,0,320x240", default: "all of it"),
            OptionDescription(
                "fit", .choice(Fit.allCases.map(\.rawValue)), "how a picture of another aspect gets into the size",
                default: "pad"),
        ] + overlayOptions

    /// The options of an overlay.
    package static let overlayOptions = [
        OptionDescription(
            "overlay", .text("TEXT"), "text on the picture: %Y-%m-%d %H:%M:%S.%f, or %{elapsed}", default: "none"),
        OptionDescription(
            "overlay-size", .text("PERCENT"), "height of the letters, of that of the picture", default: "3"),
        OptionDescription(
            "overlay-position", .choice(Overlay.Corner.allCases.map(\.rawValue)), "where the text is",
            default: "bottom-left"),
    ]

    /// The settings that options describe.
    package init(_ values: OptionValues) throws(OptionError) {
        self.init(
            crop: try values.parsed("crop", MediaPublisher.FrameSettings.parseCrop),
            size: try MediaPublisher.FrameSettings.size(values),
            fit: try values.choice("fit", Fit.allCases.map { ($0.rawValue, $0) }) ?? .pad)
        switch try values.rate("fps") {
        case .frames(let rate): frameRate = rate
        case .maximum, nil: break
        }
        if size?.keepsAspect ?? true, let fit = values["fit"] {
            throw OptionError("fit", fit, "has no effect without a size of both sides; add size=WIDTHxHEIGHT.")
        }
        let corner = try values.choice("overlay-position", Overlay.Corner.allCases.map { ($0.rawValue, $0) })
        guard let text = values["overlay"] else {
            for name in ["overlay-position", "overlay-size"] where values.contains(name) {
                throw OptionError(name, values[name], "has no effect without --overlay.")
            }
            return
        }
        guard (1...100).contains(text.utf8.count), text.utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) else {
            throw OptionError("overlay", text, "give 1 to 100 letters of ASCII.")
        }
        overlay = Overlay(
            text, corner: corner ?? .bottomLeft, sizePercent: try values.count("overlay-size", in: 1...50))
    }

    private static func size(_ values: OptionValues) throws(OptionError) -> Size? {
        if let relative = try relativeSize(values) { return relative }
        return try values.size("size").map { .pixels($0) }
    }

    /// A size that follows from the picture: `50%`, `320x`, `x240`, or as ffmpeg has it `320x-1`, `320x-2`; nil for others.
    ///
    /// - Throws: the error of one that is out of range.
    package static func relativeSize(_ values: OptionValues) throws(OptionError) -> Size? {
        guard let text = values["size"] else { return nil }
        var word = text.lowercased()
        if word == "half" { word = "50%" }
        if word.hasPrefix("0.") || word.hasPrefix(".") {
            throw OptionError("size", text, "not a size. Give a factor in percent, such as 50%.")
        }
        if word.hasSuffix("%") {
            guard let percent = parseDigits(String(word.dropLast()), as: Int.self), (1...1000).contains(percent) else {
                throw OptionError("size", text, "give a whole number of percent from 1 to 1000, such as 50%.")
            }
            return .percent(percent)
        }
        let sides = word.replacing(":", with: "x").split(separator: "x", omittingEmptySubsequences: false).map {
            ["-1", "-2"].contains($0) ? "" : String($0)
        }
        guard sides.count == 2, sides.contains(""), let length = parseDigits(sides.joined(), as: Int.self) else {
            return nil
        }
        guard (1...VideoFormat.maximumSide).contains(length) else {
            throw OptionError("size", text, "out of range; a side is 1 to \(VideoFormat.maximumSide) pixels.")
        }
        return sides[1].isEmpty ? .width(length) : .height(length)
    }

    private static func parseCrop(_ text: String, _ option: String) throws(OptionError) -> PixelRect {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let x = parseDigits(parts[0], as: Int.self),
            let y = parseDigits(parts[1], as: Int.self), max(x, y) <= VideoFormat.maximumSide,
            let size = try? OptionValues(["size": [parts[2]]]).size("size")
        else { throw OptionError(option, text, "give X,Y,WIDTHxHEIGHT, such as 0,0,640x480.") }
        return PixelRect(x: x, y: y, width: size.width, height: size.height)
    }
}
