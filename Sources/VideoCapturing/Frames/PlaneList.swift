/// One value for each plane of a picture: up to three, held in place so that no frame costs an
/// allocation for them.
///
/// Inlinable: as a generic of another module each access would have the types looked up at run time.
@frozen public struct PlaneList<Element> {
    @usableFromInline var first: Element?
    @usableFromInline var second: Element?
    @usableFromInline var third: Element?
    @usableFromInline var filled = 0

    @inlinable public var count: Int { filled }

    @inlinable public init() {}

    /// A list of one value. Unlike a literal it makes no array on the way.
    @inlinable public init(_ element: Element) {
        first = element
        filled = 1
    }

    /// Adds a value; a fourth is a programmer's error.
    @inlinable public mutating func append(_ element: Element) {
        switch filled {
        case 0: first = element
        case 1: second = element
        case 2: third = element
        default: preconditionFailure("a picture has at most three planes")
        }
        filled += 1
    }

    /// The list of what `transform` makes of each value.
    @inlinable public func mapPlanes<Other, Failure: Error>(
        _ transform: (Element) throws(Failure) -> Other
    ) throws(Failure) -> PlaneList<Other> {
        var result = PlaneList<Other>()
        if let first { result.append(try transform(first)) }
        if let second { result.append(try transform(second)) }
        if let third { result.append(try transform(third)) }
        return result
    }
}

extension PlaneList: RandomAccessCollection {
    @inlinable public var startIndex: Int { 0 }
    @inlinable public var endIndex: Int { count }

    @inlinable public subscript(plane: Int) -> Element {
        precondition(plane >= 0 && plane < count, "plane \(plane) of \(count)")
        switch plane {
        case 0: return first!
        case 1: return second!
        default: return third!
        }
    }
}

extension PlaneList: ExpressibleByArrayLiteral {
    @inlinable public init(arrayLiteral elements: Element...) {
        for element in elements { append(element) }
    }
}

extension PlaneList: Equatable where Element: Equatable {
    // Not derived: that would not be inlinable.
    @inlinable public static func == (left: PlaneList, right: PlaneList) -> Bool {
        left.filled == right.filled && left.first == right.first && left.second == right.second
            && left.third == right.third
    }
}
extension PlaneList: Hashable where Element: Hashable {}
extension PlaneList: Sendable where Element: Sendable {}

extension PixelBuffer {
    /// Where one plane of a picture lies, and its shape.
    public struct Plane: Sendable, Hashable {
        /// The bytes of samples in a row, without padding.
        public let rowBytes: Int
        /// The bytes from the start of a row to the start of the next; at least ``rowBytes``.
        public let bytesPerRow: Int
        /// The number of rows.
        public let rows: Int
        /// The bytes from the first row's start to the last row's end that may be read.
        public let byteCount: Int

        /// The bytes a plane of this shape must have: every row's samples, but no padding after the last.
        public static func minimumByteCount(rowBytes: Int, bytesPerRow: Int, rows: Int) -> Int {
            rows == 0 ? 0 : bytesPerRow * (rows - 1) + rowBytes
        }
    }
}
