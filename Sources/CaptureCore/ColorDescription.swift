/// Color matrix and range: which matrix relates luma and chroma to RGB, and which part of the 0 to 255 scale is in use.
///
/// For RGB pictures the range is ``Range-swift.enum/full``, and the matrix is the one to use when they are
/// converted to luma and chroma. Terms and codes as in ITU-T H.273.
public struct ColorDescription: Sendable, Hashable {
    /// The matrix between R'G'B' and Y'CbCr.
    public enum Matrix: String, Sendable, Hashable, CaseIterable {
        /// ITU-R BT.601, of standard definition and of JPEG; H.273 code 6.
        case bt601
        /// ITU-R BT.709, of high definition; H.273 code 1.
        case bt709

        /// The number that containers carry (H.273 MatrixCoefficients).
        public var h273Code: Int { self == .bt601 ? 6 : 1 }
    }

    /// The codes that stand for black and white.
    public enum Range: String, Sendable, Hashable, CaseIterable {
        /// Luma 16 to 235, chroma 16 to 240: what video and VP8 expect.
        case limited
        /// All 256 values: JPEG's and RGB's.
        case full
    }

    public var matrix: Matrix
    public var range: Range

    public init(matrix: Matrix, range: Range) {
        self.matrix = matrix
        self.range = range
    }

    /// BT.601, limited range: VP8's and every camera's default.
    public static let bt601 = ColorDescription(matrix: .bt601, range: .limited)
    /// BT.709, limited range.
    public static let bt709 = ColorDescription(matrix: .bt709, range: .limited)
    /// BT.601, full range: what JPEG pictures are in.
    public static let jpeg = ColorDescription(matrix: .bt601, range: .full)
}
