import FrameProcessing
import VideoCapturing

/// The changed region of a frame, as a few rectangles to fetch: a request costs about as much as some thousands of pixels,
/// so near rectangles are merged.
struct DamagedRegion {
    private(set) var parts: [PixelRect] = []

    /// The size of the frame, to which rectangles are clipped.
    let width: Int
    let height: Int

    /// The cost of a request, in pixels.
    private static let requestCost = 4096
    private static let maximumParts = 32

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        parts.reserveCapacity(DamagedRegion.maximumParts + 1)
    }

    var isEmpty: Bool { parts.isEmpty }
    var whole: PixelRect { PixelRect(x: 0, y: 0, width: width, height: height) }

    mutating func removeAll() { parts.removeAll(keepingCapacity: true) }

    /// Adds a changed rectangle, widened to whole chroma samples.
    mutating func add(_ rect: PixelRect) {
        guard let inside = rect.clipped(to: whole) else { return }
        let left = inside.x / 2 * 2
        let top = inside.y / 2 * 2
        let right = min(width, (inside.x + inside.width + 1) / 2 * 2)
        let bottom = min(height, (inside.y + inside.height + 1) / 2 * 2)
        var part = PixelRect(x: left, y: top, width: right - left, height: bottom - top)
        // A grown rectangle may now be near others.
        while let near = parts.firstIndex(where: { DamagedRegion.isCheaperAsOne($0, part) }) {
            part = part.union(parts.remove(at: near))
        }
        parts.append(part)
        if parts.count > DamagedRegion.maximumParts {
            let all = parts.dropFirst().reduce(parts[0]) { $0.union($1) }
            parts.removeAll(keepingCapacity: true)
            parts.append(all)
        }
    }

    private static func isCheaperAsOne(_ first: PixelRect, _ second: PixelRect) -> Bool {
        let union = first.union(second)
        return union.width * union.height <= first.width * first.height + second.width * second.height + requestCost
    }
}

extension PixelRect {
    /// The smallest rectangle that contains both.
    func union(_ other: PixelRect) -> PixelRect {
        let left = min(x, other.x)
        let top = min(y, other.y)
        return PixelRect(
            x: left, y: top, width: max(x + width, other.x + other.width) - left,
            height: max(y + height, other.y + other.height) - top)
    }

    func offset(x: Int, y: Int) -> PixelRect {
        PixelRect(x: self.x + x, y: self.y + y, width: width, height: height)
    }
}
