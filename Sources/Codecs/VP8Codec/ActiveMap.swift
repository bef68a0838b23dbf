import VideoCapturing

/// Which blocks of a picture the encoder has still something to do for: those that have changed, and those that
/// have not become sharp since. All others are left as they are, at next to no cost.
///
/// A block stands at the quantizer that it was coded with last. Until that is legible it is coded with every frame;
/// from there to sharp only with frames that change nothing else, so that moving parts are not paid for twice. It rests
/// when the quantizer no longer falls; a block that rests is taken up again when the others get a clearly
/// finer one.
struct ActiveMap {
    /// libvpx's macroblocks.
    static let blockSize = 16
    /// How far around a change the picture differs: the filters of subpixels and of block edges.
    static let padding = 3
    /// The quantizer, of 0 to 63, from which on a block can wait: where libwebrtc takes the quality of a screen for
    /// converged (15 of 127).
    static let legibleQuantizer = 12
    /// The quantizer from which on nothing is left to be refined.
    static let sharpQuantizer = 2
    /// After this number of frames in a row that change something, legible blocks are refined once anyway: next to a
    /// clock or a film that never rests.
    static let longestDelay = 8
    /// Codings with no finer quantizer than before until a block rests. While the coarsest quantizer stands, libvpx
    /// refreshes the blocks in turn with a finer one, which takes ten frames; then the rate has to recover.
    static let timeout: UInt8 = 20
    /// How much finer the others must be for a block that rests to be taken up again.
    static let advance: UInt8 = 4

    private static let notCoded: UInt8 = 255

    let columns: Int
    let rows: Int
    /// 1 for each block to code with the prepared frame, 0 for the others, row by row: the input of
    /// libvpx.
    private(set) var cells: [UInt8]
    /// How many blocks are still to be coded, with this frame or a later one.
    private(set) var activeCount: Int
    /// Whether `cells` has changed since this was last set to false.
    var hasChanged = true

    private let legible: UInt8
    private let sharp: UInt8
    /// Blocks that are still to be coded.
    private var isActive: [Bool]
    private var standing: [UInt8]
    private var framesWithDelay = 0
    private var codingsWithoutProgress: [UInt8]
    /// Whether any block rests that is not sharp.
    private var hasResting = false

    /// A map that codes all blocks.
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
        isActive = [Bool](repeating: true, count: activeCount)
        standing = [UInt8](repeating: ActiveMap.notCoded, count: activeCount)
        codingsWithoutProgress = [UInt8](repeating: 0, count: activeCount)
        legible = UInt8(clamping: max(ActiveMap.legibleQuantizer, minimumQuantizer))
        sharp = UInt8(clamping: max(ActiveMap.sharpQuantizer, minimumQuantizer))
    }

    /// Records the changed parts; nil for all. Rectangles may be of any size and anywhere.
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

    /// Chooses the blocks of the next frame, after its damage was marked.
    ///
    /// - Parameter isIdle: whether the frame itself changes nothing.
    mutating func prepare(isIdle: Bool) {
        framesWithDelay = isIdle ? 0 : framesWithDelay + 1
        let takesAll = isIdle || framesWithDelay > ActiveMap.longestDelay
        if takesAll { framesWithDelay = 0 }
        for index in cells.indices {
            let cell: UInt8 = isActive[index] && (takesAll || standing[index] > legible) ? 1 : 0
            guard cells[index] != cell else { continue }
            cells[index] = cell
            hasChanged = true
        }
    }

    /// Notes that the blocks in ``cells``, or with a key frame all, were coded with this quantizer, of 0 to 63.
    mutating func recordCoded(quantizer: Int, isKeyFrame: Bool) {
        let quantizer = UInt8(clamping: quantizer)
        guard activeCount > 0 || hasResting || isKeyFrame else { return }
        hasResting = false
        for index in cells.indices {
            if isKeyFrame {
                standing[index] = ActiveMap.notCoded
                activate(index)
            }
            if !isKeyFrame, cells[index] == 0 || !isActive[index] {
                guard !isActive[index], standing[index] > sharp else { continue }
                if standing[index] >= quantizer + ActiveMap.advance { activate(index) } else { hasResting = true }
                continue
            }
            if quantizer < standing[index] {
                standing[index] = quantizer
                codingsWithoutProgress[index] = 0
            } else {
                codingsWithoutProgress[index] += 1
            }
            guard standing[index] <= sharp || codingsWithoutProgress[index] >= ActiveMap.timeout else { continue }
            isActive[index] = false
            activeCount -= 1
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
        guard !isActive[index] else { return }
        isActive[index] = true
        activeCount += 1
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
