import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The turn and the mirroring that a file wants for its pictures (ISO/IEC 14496-12, 6.2.2): x' = a·x + c·y,
/// y' = b·x + d·y, with y down.
struct DisplayMatrix: Equatable {
    var orientation: VideoOrientation
    /// Left to right, once the picture is turned.
    var isMirrored: Bool

    static let upright = DisplayMatrix(orientation: .up, isMirrored: false)

    private init(orientation: VideoOrientation, isMirrored: Bool) {
        self.orientation = orientation
        self.isMirrored = isMirrored
    }

    /// Of the nine numbers the turn by the nearest quarter is taken; scaling and skewing are left out.
    init(_ numbers: UnsafePointer<Int32>) {
        let (a, b, c, d) = (Double(numbers[0]), Double(numbers[1]), Double(numbers[3]), Double(numbers[4]))
        // A mirrored picture is turned first and mirrored then, so the mirror is taken off: it negates a and c.
        isMirrored = a * d - b * c < 0
        let quarters = atan2(b, isMirrored ? -a : a) / (.pi / 2)
        let degrees = quarters.isFinite ? Int(quarters.rounded()) * 90 : 0
        orientation = VideoOrientation(clockwiseDegrees: degrees) ?? .up
    }
}
