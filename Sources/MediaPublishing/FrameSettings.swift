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

        /// A text on the picture.
        public struct Overlay: Sendable, Hashable {
            /// A corner of the picture.
            public enum Corner: String, Sendable, Hashable, CaseIterable {
                case topLeft = "top-left"
                case topRight = "top-right"
                case bottomLeft = "bottom-left"
                case bottomRight = "bottom-right"
            }

            /// The text in ASCII, with fields of strftime(3) for the time of the capture: `Door %Y-%m-%d %H:%M:%S`.
            public var text: String
            /// Where it is.
            public var corner: Corner

            /// An overlay; see the properties.
            public init(_ text: String, corner: Corner = .bottomLeft) {
                self.text = text
                self.corner = corner
            }
        }

        /// The rate, which leaves frames out; nil for that of the capture.
        public var frameRate: FrameRate?
        /// The part to keep, in pixels of the picture when it is upright; nil for all.
        public var crop: PixelRect?
        /// The size; nil for that of the part.
        public var size: PixelSize?
        /// How the part gets into ``size``.
        public var fit: Fit
        /// The text on top; nil for none.
        public var overlay: Overlay?

        /// Settings; without any the frames stay as they are.
        public init(
            frameRate: FrameRate? = nil, crop: PixelRect? = nil, size: PixelSize? = nil, fit: Fit = .pad,
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
            let result = size ?? upright
            if size != nil || overlay != nil, !TextPainter.paints(on: format.pixelFormat) { format.pixelFormat = .nv12 }
            return format.resized(width: result.width, height: result.height)
        }
    }
}

extension MediaPublisher.FrameSettings {
    /// The options that describe them, for programs with a catalogue.
    package static let options =
        [
            OptionDescription.size(default: "the source's"),
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
            "overlay", .text("TEXT"), "text on the picture, with the time: %Y-%m-%d %H:%M:%S", default: "none"),
        OptionDescription(
            "overlay-position", .choice(Overlay.Corner.allCases.map(\.rawValue)), "where the text is",
            default: "bottom-left"),
    ]

    /// The settings that options describe.
    package init(_ values: OptionValues) throws(OptionError) {
        self.init(
            crop: try values.parsed("crop", MediaPublisher.FrameSettings.parseCrop), size: try values.size("size"),
            fit: try values.choice("fit", Fit.allCases.map { ($0.rawValue, $0) }) ?? .pad)
        switch try values.rate("fps") {
        case .frames(let rate): frameRate = rate
        case .maximum, nil: break
        }
        if size == nil, let fit = values["fit"] {
            throw OptionError("fit", fit, "has no effect without a size; add size=WIDTHxHEIGHT.")
        }
        let corner = try values.choice("overlay-position", Overlay.Corner.allCases.map { ($0.rawValue, $0) })
        guard let text = values["overlay"] else {
            guard let corner else { return }
            throw OptionError("overlay-position", corner.rawValue, "has no effect without --overlay.")
        }
        guard (1...100).contains(text.utf8.count), text.utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) else {
            throw OptionError("overlay", text, "give 1 to 100 letters of ASCII.")
        }
        overlay = Overlay(text, corner: corner ?? .bottomLeft)
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
