import VideoCapturing

/// Which blocks of a picture the encoder has still something to do for: those that have changed, and those that
/// have not become sharp since. All others are left as they are, at next to no cost.
///
/// A block stands at the quantizer that it was coded with last. It is let go when that is sharp, and rests when the
/// quantizer does not fall any more; a block that rests is taken up again when the others get a clearly finer one.
struct ActiveMap {
    /// libvpx's macroblocks.
    static let blockSize = 16
    /// How far around a change the picture differs: the filters of subpixels and of block edges.
    static let padding = 3
    /// The quantizer, of 0 to 63, from which on nothing is left to be refined: where libwebrtc takes the quality of
    /// a screen for converged (15 of 127).
    static let sharpQuantizer = 12
    /// Codings with no finer quantizer than before until a block rests. While the coarsest quantizer stands, libvpx
    /// refreshes the blocks in turn with a finer one, which takes ten frames; then the rate has to recover.
    static let patience: UInt8 = 20
    /// How much finer the others must be for a block that rests to be taken up again.
    static let advance: UInt8 = 4

    private static let notCoded: UInt8 = 255

    let columns: Int
    let rows: Int
    /// 1 for each block that is to be coded, 0 for the others, row by row: what libvpx is given.
    private(set) var cells: [UInt8]
    /// How many blocks are to be coded.
    private(set) var activeCount: Int
    /// Whether `cells` has changed since this was last set to false.
    var hasChanged = true

    private let sharp: UInt8
    private var standing: [UInt8]
    private var codingsWithoutProgress: [UInt8]
    /// Whether any block rests that is not sharp.
    private var hasResting = false

    /// All is to be coded.
    ///
    /// - Parameters:
    ///   - width: of the picture in pixels.
    ///   - height: of the picture in pixels.
    ///   - minimumQuantizer: the finest that the encoder uses.
    init(width: Int, height: Int, minimumQuantizer: Int) {
        columns = (width + ActiveMap.blockSize - 1) / ActiveMap.blockSize
        rows = (height + ActiveMap.blockSize - 1) / ActiveMap.blockSize
        activeCount = columns * rows
        cells = [UInt8](repeating: 1, count: activeCount)
        standing = [UInt8](repeating: ActiveMap.notCoded, count: activeCount)
        codingsWithoutProgress = [UInt8](repeating: 0, count: activeCount)
        sharp = UInt8(clamping: max(ActiveMap.sharpQuantizer, minimumQuantizer))
    }

    /// Notes what has changed; nil for all. Rectangles may be of any size and anywhere.
    mutating func mark(_ damage: [PixelRect]?) {
        guard let damage else { return markAll() }
        for rect in damage {
            let columns = ActiveMap.blocks(rect.x, rect.width, count: self.columns)
            let rows = ActiveMap.blocks(rect.y, rect.height, count: self.rows)
            guard !columns.isEmpty else { continue }
            for row in rows {
                for index in (row * self.columns + columns.lowerBound)..<(row * self.columns + columns.upperBound) {
                    standing[index] = ActiveMap.notCoded
                    activate(index)
                }
            }
        }
    }

    /// Notes that the active blocks, or with a key frame all, were coded with this quantizer, of 0 to 63.
    mutating func noteCoded(quantizer: Int, isKeyFrame: Bool) {
        let quantizer = UInt8(clamping: quantizer)
        guard activeCount > 0 || hasResting || isKeyFrame else { return }
        hasResting = false
        for index in cells.indices {
            if isKeyFrame {
                standing[index] = ActiveMap.notCoded
                activate(index)
            }
            if cells[index] == 0 {
                guard standing[index] > sharp else { continue }
                if standing[index] >= quantizer + ActiveMap.advance { activate(index) } else { hasResting = true }
                continue
            }
            if quantizer < standing[index] {
                standing[index] = quantizer
                codingsWithoutProgress[index] = 0
            } else {
                codingsWithoutProgress[index] += 1
            }
            guard standing[index] <= sharp || codingsWithoutProgress[index] >= ActiveMap.patience else { continue }
            cells[index] = 0
            activeCount -= 1
            hasChanged = true
            if standing[index] > sharp { hasResting = true }
        }
    }

    private mutating func markAll() {
        for index in cells.indices {
            standing[index] = ActiveMap.notCoded
            activate(index)
        }
    }

    private mutating func activate(_ index: Int) {
        codingsWithoutProgress[index] = 0
        guard cells[index] == 0 else { return }
        cells[index] = 1
        activeCount += 1
        hasChanged = true
    }

    /// The blocks that one side of a rectangle touches.
    private static func blocks(_ start: Int, _ length: Int, count: Int) -> Range<Int> {
        guard length > 0 else { return 0..<0 }
        // Clamped before the sums: the numbers come from outside and may be of any size.
        let end = count * blockSize
        let first = min(max(start, -padding), end + padding)
        let (sum, overflow) = start.addingReportingOverflow(length)
        let last = overflow ? end : min(max(sum, -padding), end)
        let lower = max(0, first - padding) / blockSize
        let upper = min(count, (last + padding + blockSize - 1) / blockSize)
        return lower < upper ? lower..<upper : 0..<0
    }
}
