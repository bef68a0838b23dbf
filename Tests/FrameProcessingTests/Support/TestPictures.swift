import VideoCapturing

/// Every format that is not compressed.
let rawFormats = PixelFormat.allCases.filter { !$0.isCompressed }
/// Every format that pictures can be converted to.
let targetFormats: [PixelFormat] = [.i420, .yv12, .nv12, .nv21, .argb, .bgra, .abgr, .rgba, .rgb24, .bgr24]
/// The four colours that luma and chroma can have.
let allColors = ColorDescription.Matrix.allCases.flatMap { matrix in
    ColorDescription.Range.allCases.map { ColorDescription(matrix: matrix, range: $0) }
}
/// Odd, thin, and across the borders of strips and vectors.
let oddSizes: [(Int, Int)] = [(1, 1), (2, 2), (1, 7), (7, 1), (3, 35), (71, 17), (353, 3)]

/// The colour a picture of unstated colour has, or BT.601 of the range that fits for `format`.
func anyColor(_ format: PixelFormat) -> ColorDescription { .assumed(for: format) }

/// A picture of noise, the same for the same seed.
func noise(_ format: PixelFormat, _ width: Int, _ height: Int, seed: UInt64 = 1) throws -> PixelBuffer {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    return try PixelBuffer.make(format, width: width, height: height) { pixels in
        for plane in pixels.planes.indices {
            pixels.fill(plane: plane) { _, _ in
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                return UInt8(truncatingIfNeeded: state >> 24)
            }
        }
    }
}

/// A picture of one colour, given as the bytes of R, G, B or of Y, U, V.
func flat(_ format: PixelFormat, _ width: Int, _ height: Int, _ values: (UInt8, UInt8, UInt8)) throws -> PixelBuffer {
    try PixelBuffer.make(format, width: width, height: height) { pixels in
        for plane in pixels.planes.indices {
            pixels.fill(plane: plane) { column, _ in
                switch format {
                case .i420: [values.0, values.1, values.2][plane]
                case .yv12: [values.0, values.2, values.1][plane]
                case .nv12, .nv16: plane == 0 ? values.0 : [values.1, values.2][column % 2]
                case .nv21: plane == 0 ? values.0 : [values.2, values.1][column % 2]
                case .yuy2: [values.0, values.1, values.0, values.2][column % 4]
                case .uyvy: [values.1, values.0, values.2, values.0][column % 4]
                case .argb: [255, values.0, values.1, values.2][column % 4]
                case .abgr: [255, values.2, values.1, values.0][column % 4]
                case .rgba: [values.0, values.1, values.2, 255][column % 4]
                case .bgra: [values.2, values.1, values.0, 255][column % 4]
                case .rgb24: [values.0, values.1, values.2][column % 3]
                case .bgr24: [values.2, values.1, values.0][column % 3]
                case .mjpeg: 0
                }
            }
        }
    }
}

/// The samples of a picture, read by the letter of `PixelFormat`'s documentation and nothing else.
struct Samples {
    let format: PixelFormat
    let width: Int
    let height: Int
    private let planes: [[[UInt8]]]

    init(_ buffer: PixelBuffer) {
        format = buffer.pixelFormat
        width = buffer.width
        height = buffer.height
        planes = buffer.planes.indices.map { plane in
            (0..<buffer.planes[plane].rows).map { row in buffer.withRow(row, ofPlane: plane) { Array($0) } }
        }
    }

    /// Three values of a pixel: R, G, B or Y, U, V.
    func pixel(_ x: Int, _ y: Int) -> (UInt8, UInt8, UInt8) {
        let row = planes[0][y]
        switch format {
        case .i420: return (row[x], planes[1][y / 2][x / 2], planes[2][y / 2][x / 2])
        case .yv12: return (row[x], planes[2][y / 2][x / 2], planes[1][y / 2][x / 2])
        case .nv12: return (row[x], planes[1][y / 2][x / 2 * 2], planes[1][y / 2][x / 2 * 2 + 1])
        case .nv16: return (row[x], planes[1][y][x / 2 * 2], planes[1][y][x / 2 * 2 + 1])
        case .nv21: return (row[x], planes[1][y / 2][x / 2 * 2 + 1], planes[1][y / 2][x / 2 * 2])
        case .yuy2: return (row[x * 2], row[x / 2 * 4 + 1], row[x / 2 * 4 + 3])
        case .uyvy: return (row[x * 2 + 1], row[x / 2 * 4], row[x / 2 * 4 + 2])
        case .argb: return (row[x * 4 + 1], row[x * 4 + 2], row[x * 4 + 3])
        case .abgr: return (row[x * 4 + 3], row[x * 4 + 2], row[x * 4 + 1])
        case .rgba: return (row[x * 4], row[x * 4 + 1], row[x * 4 + 2])
        case .bgra: return (row[x * 4 + 2], row[x * 4 + 1], row[x * 4])
        case .rgb24: return (row[x * 3], row[x * 3 + 1], row[x * 3 + 2])
        case .bgr24: return (row[x * 3 + 2], row[x * 3 + 1], row[x * 3])
        case .mjpeg: return (0, 0, 0)
        }
    }

    /// Nil for formats without.
    func alpha(_ x: Int, _ y: Int) -> UInt8? {
        switch format {
        case .argb, .abgr: planes[0][y][x * 4]
        case .rgba, .bgra: planes[0][y][x * 4 + 3]
        default: nil
        }
    }

    /// Whether all samples are the same, chroma too.
    func isEqual(to other: Samples) -> Bool { planes == other.planes }
}
