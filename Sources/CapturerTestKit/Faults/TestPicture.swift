import VideoCapturing

/// Pictures whose every byte is known from the number of the frame, so that a test can check all of them.
public enum TestPicture {
    /// The byte at a place of a plane in picture number `index`.
    public static func byte(plane: Int, column: Int, row: Int, index: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: column &* 3 &+ row &* 5 &+ plane &* 64 &+ index &* 7)
    }

    /// Writes picture number `index`.
    public static func fill(_ pixels: borrowing PixelWriter, index: Int) {
        for plane in pixels.planes.indices {
            pixels.fill(plane: plane) { column, row in byte(plane: plane, column: column, row: row, index: index) }
        }
    }

    /// Whether `buffer` is picture number `index`, to the last byte.
    public static func matches(_ buffer: PixelBuffer, index: Int) -> Bool {
        buffer.planes.enumerated().allSatisfy { plane, shape in
            (0..<shape.rows).allSatisfy { row in
                buffer.withRow(row, ofPlane: plane) { bytes in
                    bytes.indices.allSatisfy {
                        bytes[$0] == byte(plane: plane, column: $0, row: row, index: index)
                    }
                }
            }
        }
    }
}
