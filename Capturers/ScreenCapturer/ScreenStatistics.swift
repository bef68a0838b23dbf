/// What is counted of a screen, beside `VideoCapture.statistics`.
public struct ScreenStatistics: Sendable, Hashable {
    /// Pixels that were asked of the X server.
    public var pixelsFetched: UInt64 = 0
    /// Rectangles that were asked of the X server.
    public var rectanglesFetched: UInt64 = 0
    /// Times that the X server was found again after it had gone.
    public var reconnects: UInt64 = 0
    /// Whether the server puts the pixels into memory that both share, rather than sending them.
    public var usesSharedMemory = false
    /// Whether the server tells what has changed; otherwise everything is fetched for each frame.
    public var usesDamage = false

    public init() {}
}
