/// The pixels of a picture while it is made: lent for the length of a call, never copied or kept.
///
/// The memory is not cleared: it may hold an earlier picture.
public struct PixelWriter: ~Copyable {
    /// How the samples are to lie in memory.
    public let pixelFormat: PixelFormat
    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// The shape of each plane.
    public let planes: PlaneList<PixelBuffer.Plane>

    private let bases: PlaneList<UnsafeMutableRawPointer>

    init(
        pixelFormat: PixelFormat, width: Int, height: Int, planes: PlaneList<PixelBuffer.Plane>,
        bases: PlaneList<UnsafeMutableRawPointer>
    ) {
        self.pixelFormat = pixelFormat
        self.width = width
        self.height = height
        self.planes = planes
        self.bases = bases
    }

    /// Runs `body` with the bytes of one plane, padding between the rows included.
    public borrowing func withBytes<Result, Failure: Error>(
        ofPlane plane: Int, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeMutableRawBufferPointer(start: bases[plane], count: planes[plane].byteCount))
    }

    /// Runs `body` with the bytes of all planes where they follow one another without any padding; nil where not.
    package borrowing func withPackedBytes<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        var end = bases[0]
        for index in planes.indices {
            let plane = planes[index]
            guard bases[index] == end, plane.bytesPerRow == plane.rowBytes else { return nil }
            end += plane.byteCount
        }
        return try body(UnsafeMutableRawBufferPointer(start: bases[0], count: end - bases[0]))
    }

    /// Runs `body` with the samples of one row of a plane, without padding.
    public borrowing func withRow<Result, Failure: Error>(
        _ row: Int, ofPlane plane: Int, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        precondition(row >= 0 && row < planes[plane].rows, "row \(row) of \(planes[plane].rows)")
        let start = bases[plane] + row * planes[plane].bytesPerRow
        return try body(UnsafeMutableRawBufferPointer(start: start, count: planes[plane].rowBytes))
    }

    /// Runs `body` with the first byte of each plane, for C libraries. The pointers are valid during
    /// the call only.
    public borrowing func withUnsafePlanes<Result, Failure: Error>(
        _ body: (PlaneList<UnsafeMutableRawPointer>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(bases)
    }

    /// Sets each byte of a plane to what `value` gives for its column (in bytes) and row.
    public borrowing func fill(plane: Int, _ value: (_ column: Int, _ row: Int) -> UInt8) {
        for row in 0..<planes[plane].rows {
            withRow(row, ofPlane: plane) { bytes in
                for column in bytes.indices { bytes[column] = value(column, row) }
            }
        }
    }

    /// Sets each byte of a plane, padding included, to `value`.
    public borrowing func fill(plane: Int, with value: UInt8) {
        withBytes(ofPlane: plane) { bytes in
            _ = bytes.initializeMemory(as: UInt8.self, repeating: value)
        }
    }
}
