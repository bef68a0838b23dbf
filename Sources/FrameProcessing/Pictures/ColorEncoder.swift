import VideoCapturing

/// RGB to luma and chroma by any matrix and range, within one code of the exact formula.
///
/// The sums run in 16 bits with 8 of them behind the point, for these the compiler vectorises well: a
/// product is the upper half of a 16 by 16 bit multiplication, exact to 1/256.
struct ColorEncoder {
    private let luma: Weights
    private let blueChroma: Weights
    private let redChroma: Weights

    /// The amounts of red, green and blue as fractions of 65536; for chroma the two that are subtracted are
    /// given without their sign.
    private struct Weights {
        var red: UInt16
        var green: UInt16
        var blue: UInt16
        /// With a half for rounding.
        var offset: UInt16
    }

    init(_ color: ColorDescription) {
        let equations = ColorEquations(color)
        func weight(_ value: Double) -> UInt16 { UInt16(clamping: Int((value * 65536).rounded())) }
        let lumaScale = equations.lumaScale / 255
        luma = Weights(
            red: weight(equations.red * lumaScale), green: weight(equations.green * lumaScale),
            blue: weight(equations.blue * lumaScale), offset: UInt16(equations.lumaOffset) * 256 + 128)
        // A shade less than a half, for else pure blue and red of full range would come to 256.
        let chromaOffset: UInt16 = 128 * 256 + 127
        let half = equations.chromaScale / 255 / 2
        blueChroma = Weights(
            red: weight(half * equations.red / (1 - equations.blue)),
            green: weight(half * equations.green / (1 - equations.blue)), blue: weight(half), offset: chromaOffset)
        redChroma = Weights(
            red: weight(half), green: weight(half * equations.green / (1 - equations.red)),
            blue: weight(half * equations.blue / (1 - equations.red)), offset: chromaOffset)
    }

    /// Rows of bytes B, G, R, A; their number may be odd in the last strip of a picture only.
    func encode(
        _ source: PicturePlane, y: MutablePicturePlane, u: MutablePicturePlane, v: MutablePicturePlane, width: Int,
        height: Int
    ) {
        for row in 0..<height { encodeLuma(source.row(row), y.row(row), width) }
        for row in 0..<(height + 1) / 2 {
            let upper = source.row(row * 2)
            let lower = source.row(min(row * 2 + 1, height - 1))
            encodeChroma(upper, lower, u.row(row), v.row(row), width)
        }
    }

    private func encodeLuma(
        _ source: UnsafePointer<UInt8>, _ target: UnsafeMutablePointer<UInt8>, _ width: Int
    ) {
        let weights = luma
        let pixels = UnsafeRawPointer(source)
        for x in 0..<width {
            let pixel = pixels.loadUnaligned(fromByteOffset: x &* 4, as: UInt32.self)
            var sum = weights.offset
            sum &+= product(UInt16(truncatingIfNeeded: (pixel >> 16) & 255) << 8, weights.red)
            sum &+= product(UInt16(truncatingIfNeeded: (pixel >> 8) & 255) << 8, weights.green)
            sum &+= product(UInt16(truncatingIfNeeded: pixel & 255) << 8, weights.blue)
            target[x] = UInt8(truncatingIfNeeded: sum >> 8)
        }
    }

    private func encodeChroma(
        _ upper: UnsafePointer<UInt8>, _ lower: UnsafePointer<UInt8>, _ u: UnsafeMutablePointer<UInt8>,
        _ v: UnsafeMutablePointer<UInt8>, _ width: Int
    ) {
        let (upper, lower) = (UnsafeRawPointer(upper), UnsafeRawPointer(lower))
        for x in 0..<width / 2 {
            encodeChroma(
                upper.loadUnaligned(fromByteOffset: x &* 8, as: UInt32.self),
                upper.loadUnaligned(fromByteOffset: x &* 8 &+ 4, as: UInt32.self),
                lower.loadUnaligned(fromByteOffset: x &* 8, as: UInt32.self),
                lower.loadUnaligned(fromByteOffset: x &* 8 &+ 4, as: UInt32.self), u + x, v + x)
        }
        if width % 2 == 1 {
            // The last column has separate chroma.
            let top = upper.loadUnaligned(fromByteOffset: (width - 1) * 4, as: UInt32.self)
            let bottom = lower.loadUnaligned(fromByteOffset: (width - 1) * 4, as: UInt32.self)
            encodeChroma(top, top, bottom, bottom, u + width / 2, v + width / 2)
        }
    }

    @inline(__always)
    private func encodeChroma(
        _ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32, _ u: UnsafeMutablePointer<UInt8>,
        _ v: UnsafeMutablePointer<UInt8>
    ) {
        // Two sums of 16 bits side by side: four bytes come to 1020 at most.
        let redBlue = (a & 0xFF00FF) &+ (b & 0xFF00FF) &+ (c & 0xFF00FF) &+ (d & 0xFF00FF)
        let greens = ((a >> 8) & 255) &+ ((b >> 8) & 255) &+ ((c >> 8) & 255) &+ ((d >> 8) & 255)
        let red = UInt16(truncatingIfNeeded: redBlue >> 16) << 6
        let green = UInt16(truncatingIfNeeded: greens) << 6
        let blue = UInt16(truncatingIfNeeded: redBlue) << 6
        let first =
            blueChroma.offset &+ product(blue, blueChroma.blue) &- product(green, blueChroma.green)
            &- product(red, blueChroma.red)
        let second =
            redChroma.offset &+ product(red, redChroma.red) &- product(green, redChroma.green)
            &- product(blue, redChroma.blue)
        u.pointee = UInt8(truncatingIfNeeded: first >> 8)
        v.pointee = UInt8(truncatingIfNeeded: second >> 8)
    }
}

@inline(__always)
private func product(_ value: UInt16, _ weight: UInt16) -> UInt16 {
    UInt16(truncatingIfNeeded: (UInt32(value) &* UInt32(weight)) >> 16)
}

/// The equations of ITU-R BT.601 and BT.709 between R'G'B' and Y'CbCr, in real numbers.
struct ColorEquations {
    /// The parts of red, green and blue in luma.
    let red: Double
    let green: Double
    let blue: Double
    /// The code of black, and the codes from black to white.
    let lumaOffset: Double
    let lumaScale: Double
    /// The codes from the lowest chroma to the highest; no chroma is 128.
    let chromaScale: Double

    init(_ color: ColorDescription) {
        switch color.matrix {
        case .bt601: (red, blue) = (0.299, 0.114)
        case .bt709: (red, blue) = (0.2126, 0.0722)
        }
        green = 1 - red - blue
        switch color.range {
        case .limited: (lumaOffset, lumaScale, chromaScale) = (16, 219, 224)
        case .full: (lumaOffset, lumaScale, chromaScale) = (0, 255, 255)
        }
    }

    /// R'G'B' in 0 to 1 to Y' in 0 to 1 and Cb, Cr in -0.5 to 0.5.
    func lumaChroma(red r: Double, green g: Double, blue b: Double) -> (y: Double, u: Double, v: Double) {
        let y = red * r + green * g + blue * b
        return (y, (b - y) / (2 * (1 - blue)), (r - y) / (2 * (1 - red)))
    }

    /// The inverse of ``lumaChroma(red:green:blue:)``.
    func rgb(y: Double, u: Double, v: Double) -> (red: Double, green: Double, blue: Double) {
        let r = y + 2 * (1 - red) * v
        let b = y + 2 * (1 - blue) * u
        return (r, (y - red * r - blue * b) / green, b)
    }
}
