import VideoCapturing

typealias Triple = (Double, Double, Double)

/// BT.601 and BT.709 from the letter of the recommendations, on codes of 0 to 255, in real numbers.
enum Reference {
    static func toRGB(_ code: Triple, _ color: ColorDescription) -> Triple {
        let (y, pb, pr) = normalized(code, color)
        return color.matrix == .bt601
            ? (255 * (y + 1.402 * pr), 255 * (y - 0.344136 * pb - 0.714136 * pr), 255 * (y + 1.772 * pb))
            : (255 * (y + 1.5748 * pr), 255 * (y - 0.187324 * pb - 0.468124 * pr), 255 * (y + 1.8556 * pb))
    }

    static func fromRGB(_ rgb: Triple, _ color: ColorDescription) -> Triple {
        let (r, g, b) = (rgb.0 / 255, rgb.1 / 255, rgb.2 / 255)
        let is601 = color.matrix == .bt601
        let y = is601 ? 0.299 * r + 0.587 * g + 0.114 * b : 0.2126 * r + 0.7152 * g + 0.0722 * b
        let pb = (b - y) / (is601 ? 1.772 : 1.8556)
        let pr = (r - y) / (is601 ? 1.402 : 1.5748)
        return color.range == .limited
            ? (16 + 219 * y, 128 + 224 * pb, 128 + 224 * pr) : (255 * y, 128 + 255 * pb, 128 + 255 * pr)
    }

    private static func normalized(_ code: Triple, _ color: ColorDescription) -> Triple {
        color.range == .limited
            ? ((code.0 - 16) / 219, (code.1 - 128) / 224, (code.2 - 128) / 224)
            : (code.0 / 255, (code.1 - 128) / 255, (code.2 - 128) / 255)
    }

    /// What the pixel (or the chroma sample it belongs to) should come to.
    static func convert(
        _ source: Samples, _ color: ColorDescription, to target: PixelFormat, _ targetColor: ColorDescription,
        at x: Int, _ y: Int
    ) -> Triple {
        let here = triple(source.pixel(x, y))
        switch (source.format.isRGB, target.isRGB) {
        case (true, true): return here
        case (false, true): return clamped(toRGB(here, color))
        case (true, false):
            let chroma = fromRGB(mean(source, x, y), targetColor)
            return clamped((fromRGB(here, targetColor).0, chroma.1, chroma.2))
        case (false, false):
            let shared = mean(source, x, y)
            let code = (here.0, shared.1, shared.2)
            return color == targetColor ? code : clamped(fromRGB(toRGB(code, color), targetColor))
        }
    }

    /// The mean of the pixels that share a sample of chroma in 4:2:0.
    private static func mean(_ source: Samples, _ x: Int, _ y: Int) -> Triple {
        var (sum, count): (Triple, Double) = ((0, 0, 0), 0)
        for row in y / 2 * 2..<min(y / 2 * 2 + 2, source.height) {
            for column in x / 2 * 2..<min(x / 2 * 2 + 2, source.width) {
                let value = triple(source.pixel(column, row))
                sum = (sum.0 + value.0, sum.1 + value.1, sum.2 + value.2)
                count += 1
            }
        }
        return (sum.0 / count, sum.1 / count, sum.2 / count)
    }

    private static func clamped(_ value: Triple) -> Triple {
        (min(max(value.0, 0), 255), min(max(value.1, 0), 255), min(max(value.2, 0), 255))
    }
}

func triple(_ value: (UInt8, UInt8, UInt8)) -> Triple { (Double(value.0), Double(value.1), Double(value.2)) }

/// The largest difference of a value.
func distance(_ first: Triple, _ second: Triple) -> Double {
    max(abs(first.0 - second.0), abs(first.1 - second.1), abs(first.2 - second.2))
}
