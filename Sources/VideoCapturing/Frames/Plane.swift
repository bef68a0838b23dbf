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
