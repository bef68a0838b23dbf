import VideoCapturing

/// The passes that a ``FrameTransform`` takes for a given picture, in order: cut and convert, scale, turn,
/// convert. A cut is no pass of its own before another.
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
            // Chroma is thrown away before, and made up after, so that less is to be moved.
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
