import VideoCapturing

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
