import VideoCapturing

/// The changes to make to a picture: crop, scale, rotate upright, mirror, convert. Each step is optional;
/// ``FrameProcessor`` does the chosen ones in the fewest passes.
public struct FrameTransform: Sendable, Hashable {
    /// The part to keep, in pixels of the picture as it lies in memory, before it is turned; nil for all.
    ///
    /// Any offset is right to the pixel for luma and for RGB. Chroma of 4:2:0 and 4:2:2 has half as many
    /// samples; its offset is rounded down, so at an odd offset chroma lies half a chroma sample further
    /// to the left (or top) than it did.
    public var crop: PixelRect?
    /// The size of the result, after it was turned; nil to keep that of the part.
    public var size: PixelSize?
    /// Whether pixels of another shape are made square. Without a ``size`` the picture is scaled for that.
    ///
    /// A size alone does not change the shape that a frame states: give one of the frame's aspect.
    public var squaresPixels: Bool
    /// How pixels are mixed for a new size.
    public var filter: FrameTransform.Filter
    /// Whether to turn the picture by the frame's orientation.
    public var appliesOrientation: Bool
    /// Whether to exchange left and right, as seen when upright.
    public var mirrors: Bool
    /// The format of the result; nil to keep it. 4:2:2, RGB24 and MJPEG cannot be scaled or turned, nor 4:2:2
    /// and MJPEG be cut; where nothing else is asked for they become NV12, and RGB24 becomes ARGB.
    public var pixelFormat: PixelFormat?
    /// The matrix and range of the result; nil to keep the frame's, for which RGB becomes luma and chroma
    /// of limited range. An RGB result is of full range always.
    public var color: ColorDescription?

    public init(
        crop: PixelRect? = nil, size: PixelSize? = nil, squaresPixels: Bool = false,
        filter: FrameTransform.Filter = .box, appliesOrientation: Bool = false, mirrors: Bool = false,
        pixelFormat: PixelFormat? = nil, color: ColorDescription? = nil
    ) {
        self.crop = crop
        self.size = size
        self.squaresPixels = squaresPixels
        self.filter = filter
        self.appliesOrientation = appliesOrientation
        self.mirrors = mirrors
        self.pixelFormat = pixelFormat
        self.color = color
    }
}

/// The passes that a ``FrameTransform`` takes for a given picture, in order: crop and convert, scale, rotate,
/// convert. Cropping takes no separate pass if another one follows.
struct TransformPlan: Equatable {
    let crop: PixelRect
    /// The conversion before scaling and turning.
    private(set) var first: PixelFormat?
    /// The size to scale to, before the turn.
    private(set) var scaled: PixelSize?
    let turn: Turn
    /// The conversion at the end.
    private(set) var last: PixelFormat?
    let sourceColor: ColorDescription
    let color: ColorDescription
    /// The format and size of the result.
    let pixelFormat: PixelFormat
    let size: PixelSize
    /// Whether the result is the picture as it was, but for the name of its colour.
    let isIdentity: Bool
    /// Whether each pixel is where it was.
    let keepsGeometry: Bool

    /// Throws `invalidConfiguration` for a part that is not inside of the picture and for a size out of range,
    /// and `formatUnsupported` for a format that nothing can be converted to.
    init(
        _ transform: FrameTransform, pixelFormat source: PixelFormat, size sourceSize: PixelSize,
        color sourceColor: ColorDescription, orientation: VideoOrientation
    ) throws(CaptureError) {
        let whole = PixelRect(x: 0, y: 0, width: sourceSize.width, height: sourceSize.height)
        crop = transform.crop ?? whole
        try TransformPlan.check(crop, in: sourceSize)
        turn = Turn(transform, orientation)
        let kept = PixelSize(width: crop.width, height: crop.height)
        let natural = turn.rotation.swapsDimensions ? kept.transposed : kept
        size = transform.size ?? natural
        try VideoFormat(source, width: size.width, height: size.height).validate()
        if size != natural { scaled = turn.rotation.swapsDimensions ? size.transposed : size }

        let isReshaped = scaled != nil || !turn.isNothing
        let isCut = crop != whole
        keepsGeometry = !isReshaped && !isCut
        let target =
            transform.pixelFormat
            ?? (isReshaped || (isCut && source.layout != .rgb24) ? source.geometricSubstitute : source)
        self.pixelFormat = target
        self.sourceColor = sourceColor
        color = TransformPlan.color(transform.color, from: source, sourceColor, to: target)

        let isRecolored = !source.isRGB && !target.isRGB && color != sourceColor
        isIdentity = !isReshaped && !isCut && target == source && !isRecolored
        if isIdentity { return }
        guard target.isConversionTarget else { throw TransformPlan.targetError(from: source, to: target) }

        if source.layout == .compressed, target.isRGB {
            (first, last) = (.i420, target)
        } else if !isReshaped {
            // A mere cut is a conversion to the same format.
            first = target
        } else if !source.isGeometric {
            // Chroma is dropped before, and interpolated after, so that fewer bytes are moved.
            first = source.isRGB == target.isRGB || source.isRGB ? target.geometricSubstitute : .nv12
            last = first == target ? nil : target
        } else if target != source || isRecolored {
            let shrinks = scaled.map { $0.pixelCount < kept.pixelCount } ?? false
            if source.isRGB, !target.isRGB, !shrinks { first = target } else { last = target }
        }
    }

    private static func check(_ crop: PixelRect, in size: PixelSize) throws(CaptureError) {
        guard crop.width > 0, crop.height > 0, crop.x >= 0, crop.y >= 0, crop.width <= size.width,
            crop.height <= size.height, crop.x <= size.width - crop.width, crop.y <= size.height - crop.height
        else {
            throw CaptureError(
                .invalidConfiguration, operation: "crop a picture",
                subject: "\(crop.width)x\(crop.height) at (\(crop.x), \(crop.y))",
                message:
                    "The part to keep is not inside of the picture's \(size.width)x\(size.height) pixels; choose one that is."
            )
        }
    }

    private static func color(
        _ wanted: ColorDescription?, from source: PixelFormat, _ color: ColorDescription, to target: PixelFormat
    ) -> ColorDescription {
        if target.isRGB { return ColorDescription(matrix: wanted?.matrix ?? color.matrix, range: .full) }
        if let wanted { return wanted }
        return source.isRGB ? ColorDescription(matrix: color.matrix, range: .limited) : color
    }

    private static func targetError(from source: PixelFormat, to target: PixelFormat) -> CaptureError {
        CaptureError(
            .formatUnsupported, operation: "convert a picture", subject: "\(source) to \(target)",
            message: "\(target) pictures can be read but not made; choose NV12, I420 or an RGB format.")
    }
}

extension Turn {
    init(_ transform: FrameTransform, _ orientation: VideoOrientation) {
        if transform.appliesOrientation {
            self.init(rotation: orientation, mirrors: transform.mirrors)
        } else if transform.mirrors {
            // Left and right of a picture that lies on its side are its top and bottom in memory.
            self.init(rotation: orientation.swapsDimensions ? .down : .up, mirrors: true)
        } else {
            self.init()
        }
    }
}

/// Carries damage over from a picture to the result of a ``TransformPlan``. The damage of the result holds at least
/// all pixels that may differ.
struct DamageMap {
    private let crop: PixelRect
    private let scaled: PixelSize
    private let turn: Turn
    /// How far, in pixels of the result, a scaled pixel reaches.
    private let reach: (x: Int, y: Int)
    /// Whether neighbours share their chroma.
    private let sharesChroma: Bool

    init(_ plan: TransformPlan, from pixelFormat: PixelFormat) {
        crop = plan.crop
        turn = plan.turn
        scaled = plan.scaled ?? PixelSize(width: plan.crop.width, height: plan.crop.height)
        sharesChroma = !pixelFormat.isRGB || !plan.pixelFormat.isRGB
        reach =
            plan.scaled == nil
            ? (0, 0)
            : (2 + 2 * scaled.width / plan.crop.width, 2 + 2 * scaled.height / plan.crop.height)
    }

    /// The rectangles of the result; those that were cut away are left out.
    func map(_ damage: [PixelRect]) -> [PixelRect] { damage.compactMap(map) }

    private func map(_ rect: PixelRect) -> PixelRect? {
        guard rect.width > 0, rect.height > 0 else { return nil }
        var x = interval(rect.x, rect.width, crop.x, crop.width, scaled.width, reach.x)
        var y = interval(rect.y, rect.height, crop.y, crop.height, scaled.height, reach.y)
        guard !x.isEmpty, !y.isEmpty else { return nil }
        switch turn.rotation {
        case .up: break
        case .down: (x, y) = (reversed(x, scaled.width), reversed(y, scaled.height))
        case .left: (x, y) = (reversed(y, scaled.height), x)
        case .right: (x, y) = (y, reversed(x, scaled.width))
        }
        if turn.mirrors { x = reversed(x, turn.rotation.swapsDimensions ? scaled.height : scaled.width) }
        return PixelRect(x: x.lowerBound, y: y.lowerBound, width: x.count, height: y.count)
    }

    /// One side of a rectangle, cut and scaled, rounded outwards.
    private func interval(
        _ start: Int, _ length: Int, _ cutStart: Int, _ cutLength: Int, _ target: Int, _ reach: Int
    ) -> Range<Int> {
        // Two pixels cover a neighbour in the same chroma sample before and after an odd cut or turn.
        let margin = sharesChroma ? 2 : 0
        // Clamped before the sums: the numbers come from outside and may be of any size.
        let first = min(max(start, cutStart - margin), cutStart + cutLength + margin)
        let (sum, overflow) = start.addingReportingOverflow(length)
        let end = overflow ? cutStart + cutLength : min(max(sum, cutStart - margin), cutStart + cutLength + margin)
        guard end > first else { return 0..<0 }
        let lower = max(0, first - margin - cutStart) * target / cutLength - reach
        let upper = (min(cutLength, end + margin - cutStart) * target + cutLength - 1) / cutLength + reach
        let clamped = max(0, lower)..<min(target, max(upper, 0))
        return clamped
    }

    private func reversed(_ range: Range<Int>, _ length: Int) -> Range<Int> {
        length - range.upperBound..<length - range.lowerBound
    }
}
