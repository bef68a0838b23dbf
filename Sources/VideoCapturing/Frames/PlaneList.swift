/// One value for each plane of a picture: up to three, held in place so that no frame costs an
/// allocation for them.
public struct PlaneList<Element> {
    private var first: Element?
    private var second: Element?
    private var third: Element?
    public private(set) var count = 0

    public init() {}

    /// Adds a value; a fourth is a programmer's error.
    public mutating func append(_ element: Element) {
        switch count {
        case 0: first = element
        case 1: second = element
        case 2: third = element
        default: preconditionFailure("a picture has at most three planes")
        }
        count += 1
    }

    /// The list of what `transform` makes of each value.
    public func mapPlanes<Other, Failure: Error>(
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
    public var startIndex: Int { 0 }
    public var endIndex: Int { count }

    public subscript(plane: Int) -> Element {
        precondition(plane >= 0 && plane < count, "plane \(plane) of \(count)")
        switch plane {
        case 0: return first!
        case 1: return second!
        default: return third!
        }
    }
}

extension PlaneList: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: Element...) {
        for element in elements { append(element) }
    }
}

extension PlaneList: Equatable where Element: Equatable {}
extension PlaneList: Hashable where Element: Hashable {}
extension PlaneList: Sendable where Element: Sendable {}
