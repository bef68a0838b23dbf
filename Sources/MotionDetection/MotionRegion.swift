import VideoCapturing

/// A part of the picture, upright, in fractions of its sides: x to the right and y down from the top left corner. So it stays
/// true in every size.
public struct MotionRegion: Sendable, Hashable {
    /// The left edge, from 0 to 1.
    public var x: Double
    /// The upper edge, from 0 to 1.
    public var y: Double
    /// The width, from 0 to 1.
    public var width: Double
    /// The height, from 0 to 1.
    public var height: Double

    /// A part; see the properties. A part that extends beyond the picture is cut.
    public init(x: Double, y: Double, width: Double, height: Double) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// All of the picture.
    public static let whole = MotionRegion(x: 0, y: 0, width: 1, height: 1)

    /// The part in pixels of a picture of this size, at least one pixel; for a crop or a frame around it.
    public func pixels(width: Int, height: Int) -> PixelRect {
        guard width > 0, height > 0 else { return PixelRect(x: 0, y: 0, width: 0, height: 0) }
        let (columns, rows) = cells(PixelSize(width: width, height: height))
        return PixelRect(
            x: columns.lowerBound, y: rows.lowerBound, width: columns.count, height: rows.count)
    }

    /// The smallest part that holds both.
    public func union(_ other: MotionRegion) -> MotionRegion {
        let (left, top) = (min(x, other.x), min(y, other.y))
        return MotionRegion(
            x: left, y: top, width: max(x + width, other.x + other.width) - left,
            height: max(y + height, other.y + other.height) - top)
    }

    /// The columns and rows of a grid that it covers, at least one of each.
    func cells(_ size: PixelSize) -> (columns: Range<Int>, rows: Range<Int>) {
        func span(_ start: Double, _ length: Double, _ count: Int) -> Range<Int> {
            func edge(_ value: Double) -> Int {
                value.isNaN ? 0 : Int((min(max(value, 0), 1) * Double(count)).rounded())
            }
            let first = min(edge(start), count - 1)
            return first..<max(first + 1, edge(start + length))
        }
        return (span(x, width, size.width), span(y, height, size.height))
    }

    init(columns: Range<Int>, rows: Range<Int>, of size: PixelSize) {
        let (width, height) = (Double(size.width), Double(size.height))
        self.init(
            x: Double(columns.lowerBound) / width, y: Double(rows.lowerBound) / height,
            width: Double(columns.count) / width, height: Double(rows.count) / height)
    }

    /// Damage in pixels of a buffer, as part of the picture that stands upright; nil outside of it.
    init?(_ rect: PixelRect, of size: PixelSize, orientation: VideoOrientation) {
        func span(_ start: Int, _ length: Int, _ side: Int) -> (start: Double, length: Double)? {
            let (sum, overflow) = start.addingReportingOverflow(max(0, length))
            let first = min(max(start, 0), side)
            let end = overflow ? side : min(max(sum, 0), side)
            guard end > first else { return nil }
            return (Double(first) / Double(side), Double(end - first) / Double(side))
        }
        guard size.isValid, let across = span(rect.x, rect.width, size.width),
            let down = span(rect.y, rect.height, size.height)
        else { return nil }
        let (right, bottom) = (1 - across.start - across.length, 1 - down.start - down.length)
        switch orientation {
        case .up: self.init(x: across.start, y: down.start, width: across.length, height: down.length)
        case .down: self.init(x: right, y: bottom, width: across.length, height: down.length)
        case .left: self.init(x: bottom, y: across.start, width: down.length, height: across.length)
        case .right: self.init(x: down.start, y: right, width: down.length, height: across.length)
        }
    }
}
