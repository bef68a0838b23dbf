import VideoCapturing

/// Converts, crops, scales, rotates and mirrors pictures, with libyuv.
///
/// Keeps its memory from frame to frame. While formats and sizes of input and output stay the same, it allocates nothing
/// (but libyuv allocates some rows while it scales). So use one processor for each place that processes frames, not one
/// for all.
///
/// May be used from any thread, one call at a time: others wait. For work in parallel use several.
public final class FrameProcessor: Sendable {
    /// One pool for each step, since a pool gives its memory up when the size changes.
    private let firsts: PixelBufferPool
    private let scaled: PixelBufferPool
    private let turned: PixelBufferPool
    private let lasts: PixelBufferPool
    private let cut: PixelBufferPool
    let fields: PixelBufferPool
    /// Pictures of some rows, for their luma.
    let samples: PixelBufferPool
    private let scratch = Locked(ScratchMemory())

    /// - Parameter capacity: the most pictures of each step that are kept for reuse; the default serves
    ///   several queues behind.
    public init(capacity: Int = 32) {
        firsts = PixelBufferPool(capacity: capacity)
        scaled = PixelBufferPool(capacity: capacity)
        turned = PixelBufferPool(capacity: capacity)
        lasts = PixelBufferPool(capacity: capacity)
        cut = PixelBufferPool(capacity: capacity)
        fields = PixelBufferPool(capacity: capacity)
        samples = PixelBufferPool(capacity: capacity)
    }

    /// Does what `transform` asks for to a picture. The very same buffer comes back where there is nothing
    /// to do.
    ///
    /// - Parameters:
    ///   - transform: the changes to make.
    ///   - buffer: the picture; it is not changed.
    ///   - color: color matrix and range of the picture; nil for the format's usual ones.
    ///   - orientation: the clockwise rotation to apply for display.
    /// - Returns: the picture, and how its numbers map to light.
    /// - Throws: `invalidConfiguration` for a part outside of the picture or a size out of range,
    ///   `formatUnsupported` for a format that cannot be made and for JPEG of rare kinds, `corruptData` for damaged JPEG pictures,
    ///   `outOfMemory`.
    public func apply(
        _ transform: FrameTransform, to buffer: PixelBuffer, color: ColorDescription? = nil,
        orientation: VideoOrientation = .up
    ) throws(CaptureError) -> (buffer: PixelBuffer, color: ColorDescription) {
        let plan = try TransformPlan(
            transform, pixelFormat: buffer.pixelFormat, size: PixelSize(width: buffer.width, height: buffer.height),
            color: color ?? .assumed(for: buffer.pixelFormat), orientation: orientation)
        return (try run(plan, filter: transform.filter, on: buffer), plan.color)
    }

    /// Draws an upright frame as blue, green, red, alpha into the caller's memory, such as a window's, in one pass where
    /// only the format differs.
    ///
    /// - Parameters:
    ///   - frame: the frame; its orientation is applied, and its color converted.
    ///   - memory: where the first pixel goes; `bytesPerRow` times the height are written.
    ///   - bytesPerRow: the distance between rows, a multiple of four.
    ///   - size: the size to draw it in.
    ///   - filter: how pixels are mixed for a new size.
    ///   - mirrors: whether to exchange left and right, as seen when upright.
    /// - Throws: `invalidConfiguration` for a size out of range, `formatUnsupported` and `corruptData` for JPEG,
    ///   `outOfMemory`.
    package func draw(
        _ frame: VideoFrame, to memory: UnsafeMutablePointer<UInt8>, bytesPerRow: Int, size: PixelSize,
        filter: FrameTransform.Filter, mirrors: Bool
    ) throws(CaptureError) {
        let transform = FrameTransform(
            size: size, filter: filter, appliesOrientation: true, mirrors: mirrors, pixelFormat: .bgra)
        let plan = try TransformPlan(
            transform, pixelFormat: frame.pixelFormat, size: PixelSize(width: frame.width, height: frame.height),
            color: frame.color, orientation: frame.orientation)
        let target = Picture(
            pixelFormat: .bgra, width: size.width, height: size.height,
            planes: [PicturePlane(base: memory, stride: Int32(bytesPerRow))])
        try run(plan, filter: filter, on: frame.buffer, into: MutablePicture(picture: target))
    }

    /// Runs `body` with memory for what lies between two steps.
    func withScratch(_ body: (inout ScratchMemory) throws(CaptureError) -> Void) throws(CaptureError) {
        try scratch.withLock { (scratch) throws(CaptureError) in try body(&scratch) }
    }

    func run(
        _ plan: TransformPlan, filter: FrameTransform.Filter, on buffer: PixelBuffer
    ) throws(CaptureError) -> PixelBuffer {
        if plan.isIdentity { return buffer }
        return try scratch.withLock { (scratch) throws(CaptureError) -> PixelBuffer in
            let work = try run(plan, filter, on: buffer, except: nil, &scratch)
            if work.isWhole { return work.buffer }
            return try work.withPicture { (source) throws(CaptureError) in
                try cut.makePicture(source.pixelFormat, PixelSize(width: source.width, height: source.height)) {
                    source.copy(into: $0)
                }
            }
        }
    }

    /// As `run`, but the last pass writes into the caller's memory. For plans that crop nothing.
    private func run(
        _ plan: TransformPlan, filter: FrameTransform.Filter, on buffer: PixelBuffer, into target: MutablePicture
    ) throws(CaptureError) {
        try scratch.withLock { (scratch) throws(CaptureError) in
            let work = try run(plan, filter, on: buffer, except: plan.lastPass, &scratch)
            try work.withPicture { (source) throws(CaptureError) in
                switch plan.lastPass {
                case .firstConversion:
                    try source.convert(from: plan.sourceColor, into: target, plan.color, scratch: &scratch)
                case .scaling: try source.scale(into: target, filter: filter, scratch: &scratch)
                case .turn: try source.turn(plan.turn, into: target, scratch: &scratch)
                case .lastConversion:
                    let color = plan.first.map { plan.firstColor($0) } ?? plan.sourceColor
                    try source.convert(from: color, into: target, plan.color, scratch: &scratch)
                case nil: source.copy(into: target)
                }
            }
        }
    }

    /// Runs all passes of a plan, or all but one.
    private func run(
        _ plan: TransformPlan, _ filter: FrameTransform.Filter, on buffer: PixelBuffer, except omitted: TransformPass?,
        _ scratch: inout ScratchMemory
    ) throws(CaptureError) -> CutPicture {
        var work = CutPicture(buffer: buffer, rect: plan.crop)
        if let format = plan.first, omitted != .firstConversion {
            let color = plan.last == nil ? plan.color : plan.firstColor(format)
            work = try convert(work, from: plan.sourceColor, to: format, color, in: firsts, &scratch)
        }
        if let size = plan.scaled, omitted != .scaling {
            work = CutPicture(
                whole: try work.withPicture { (source) throws(CaptureError) in
                    try scaled.makePicture(source.pixelFormat, size) { (target) throws(CaptureError) in
                        try source.scale(into: target, filter: filter, scratch: &scratch)
                    }
                })
        }
        if !plan.turn.isNothing, omitted != .turn {
            work = CutPicture(
                whole: try work.withPicture { (source) throws(CaptureError) in
                    let size = PixelSize(width: source.width, height: source.height)
                    return try turned.makePicture(
                        source.pixelFormat, plan.turn.rotation.swapsDimensions ? size.transposed : size
                    ) { (target) throws(CaptureError) in
                        try source.turn(plan.turn, into: target, scratch: &scratch)
                    }
                })
        }
        if let format = plan.last, omitted != .lastConversion {
            let color = plan.first.map { plan.firstColor($0) } ?? plan.sourceColor
            work = try convert(work, from: color, to: format, plan.color, in: lasts, &scratch)
        }
        return work
    }

    /// Converts the part that is kept; more of it where the format can't be cut there, with the rest to
    /// be cut later.
    private func convert(
        _ work: CutPicture, from color: ColorDescription, to format: PixelFormat, _ targetColor: ColorDescription,
        in pool: PixelBufferPool, _ scratch: inout ScratchMemory
    ) throws(CaptureError) -> CutPicture {
        let (now, later) = work.cutBeforeConversion
        let converted = try now.withPicture { (source) throws(CaptureError) in
            try pool.makePicture(format, PixelSize(width: source.width, height: source.height)) {
                (target) throws(CaptureError) in
                try source.convert(from: color, into: target, targetColor, scratch: &scratch)
            }
        }
        return CutPicture(buffer: converted, rect: later)
    }
}

/// One of the passes of a ``TransformPlan``.
private enum TransformPass {
    case firstConversion, scaling, turn, lastConversion
}

extension TransformPlan {
    /// The pass that makes the result; nil where nothing but a copy does.
    fileprivate var lastPass: TransformPass? {
        if last != nil { return .lastConversion }
        if !turn.isNothing { return .turn }
        if scaled != nil { return .scaling }
        return first == nil ? nil : .firstConversion
    }

    /// The colour between two conversions: as it came, for the last one to change.
    fileprivate func firstColor(_ format: PixelFormat) -> ColorDescription {
        let isRGB = format.isRGB
        return isRGB ? ColorDescription(matrix: sourceColor.matrix, range: .full) : sourceColor
    }
}

/// A picture and the part of it that is kept.
private struct CutPicture {
    let buffer: PixelBuffer
    let rect: PixelRect

    init(buffer: PixelBuffer, rect: PixelRect) {
        self.buffer = buffer
        self.rect = rect
    }

    init(whole buffer: PixelBuffer) {
        self.init(buffer: buffer, rect: PixelRect(x: 0, y: 0, width: buffer.width, height: buffer.height))
    }

    var isWhole: Bool { rect.width == buffer.width && rect.height == buffer.height }

    func withPicture<Result>(_ body: (Picture) throws(CaptureError) -> Result) throws(CaptureError) -> Result {
        try buffer.withPicture { (picture) throws(CaptureError) in
            try body(isWhole ? picture : picture.cropped(to: rect))
        }
    }

    /// What can be cut while it is read, and the rest.
    var cutBeforeConversion: (now: CutPicture, later: PixelRect) {
        switch buffer.pixelFormat.layout {
        case .compressed:
            return (CutPicture(whole: buffer), rect)
        case .packed where rect.x % 2 == 1:
            let even = PixelRect(x: rect.x - 1, y: rect.y, width: rect.width + 1, height: rect.height)
            return (
                CutPicture(buffer: buffer, rect: even), PixelRect(x: 1, y: 0, width: rect.width, height: rect.height)
            )
        default:
            return (self, PixelRect(x: 0, y: 0, width: rect.width, height: rect.height))
        }
    }
}
