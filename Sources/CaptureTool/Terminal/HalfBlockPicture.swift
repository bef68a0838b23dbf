import VideoCapturing

/// A picture as text: each character is two pixels, one above the other, the upper half block `▀` in the colour of
/// the upper one on a ground in that of the lower.
///
/// Without colours the brightness is shown by how much ink a character has. Keeps its memory from picture to picture.
struct HalfBlockPicture {
    private var output: [UInt8] = []
    private let colors: TextStyle.Colors

    init(_ colors: TextStyle.Colors) {
        self.colors = colors
    }

    /// The largest size in pixels, with the aspect of the picture, that fits into so many characters. A character is
    /// taken to be twice as high as wide, so that the pixels are square.
    static func fit(width: Int, height: Int, columns: Int, rows: Int) -> (width: Int, height: Int) {
        let columns = max(1, columns)
        let pixelRows = max(1, rows) * 2
        guard width > 0, height > 0 else { return (columns, pixelRows) }
        if width * pixelRows >= height * columns {
            return (columns, max(1, min(pixelRows, height * columns / width)))
        }
        return (max(1, min(columns, width * pixelRows / height)), pixelRows)
    }

    /// Runs `body` with the text that draws the picture from the terminal's top left corner, indented so that it is
    /// in the middle of so many columns.
    mutating func draw(_ picture: PixelBuffer, columns: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        precondition(picture.pixelFormat == .argb, "the picture is to be ARGB")
        output.removeAll(keepingCapacity: true)
        let indent = max(0, (columns - picture.width) / 2)
        picture.withBytes(ofPlane: 0) { bytes in
            let stride = picture.planes[0].bytesPerRow
            func pixel(_ column: Int, _ row: Int) -> Color {
                let offset = row * stride + column * 4
                return Color(
                    red: bytes.unsafeLoad(fromByteOffset: offset + 1, as: UInt8.self),
                    green: bytes.unsafeLoad(fromByteOffset: offset + 2, as: UInt8.self),
                    blue: bytes.unsafeLoad(fromByteOffset: offset + 3, as: UInt8.self))
            }
            for row in Swift.stride(from: 0, to: picture.height, by: 2) {
                move(toRow: row / 2 + 1, column: indent + 1)
                var last: (upper: Color, lower: Color)?
                for column in 0..<picture.width {
                    let upper = pixel(column, row)
                    let lower = row + 1 < picture.height ? pixel(column, row + 1) : Color(red: 0, green: 0, blue: 0)
                    draw(upper, lower, last: last)
                    last = (upper, lower)
                }
                if colors != .none { append("\u{1B}[0m") }
            }
        }
        output.withUnsafeBytes(body)
    }

    private struct Color: Equatable {
        var red: UInt8
        var green: UInt8
        var blue: UInt8

        /// The nearest colour of the 6 × 6 × 6 cube.
        var index: UInt8 {
            func level(_ value: UInt8) -> UInt8 { value < 48 ? 0 : value < 115 ? 1 : (value - 35) / 40 }
            return 16 + 36 * level(red) + 6 * level(green) + level(blue)
        }

        /// In thousandths, as BT.601 weighs it.
        var brightness: Int { (299 * Int(red) + 587 * Int(green) + 114 * Int(blue)) / 255 }
    }

    private mutating func draw(_ upper: Color, _ lower: Color, last: (upper: Color, lower: Color)?) {
        switch colors {
        case .none:
            let ink = " .:-=+*#%@".utf8
            let brightness = (upper.brightness + lower.brightness) / 2
            output.append(ink[ink.index(ink.startIndex, offsetBy: brightness * (ink.count - 1) / 1000)])
            return
        case .indexed256:
            if last?.upper.index != upper.index {
                append("\u{1B}[38;5;")
                append(number: Int(upper.index))
                append("m")
            }
            if last?.lower.index != lower.index {
                append("\u{1B}[48;5;")
                append(number: Int(lower.index))
                append("m")
            }
        case .direct:
            if last?.upper != upper { append("\u{1B}[38;2;", upper) }
            if last?.lower != lower { append("\u{1B}[48;2;", lower) }
        }
        append("▀")
    }

    private mutating func move(toRow row: Int, column: Int) {
        append("\u{1B}[")
        append(number: row)
        append(";")
        append(number: column)
        append("H")
    }

    private mutating func append(_ text: StaticString, _ color: Color) {
        append(text)
        append(number: Int(color.red))
        append(";")
        append(number: Int(color.green))
        append(";")
        append(number: Int(color.blue))
        append("m")
    }

    private mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { output.append(contentsOf: $0) }
    }

    private mutating func append(number: Int) {
        if number >= 10 { append(number: number / 10) }
        output.append(UInt8(ascii: "0") + UInt8(number % 10))
    }
}
