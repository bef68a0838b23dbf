import VideoCapturing

/// Carries damage over from a picture to what a ``TransformPlan`` makes of it. What comes out holds at least
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
