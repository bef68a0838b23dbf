import FrameProcessing
import VideoCapturing

/// Shows frames on a terminal, at 10 frames per second at most. Its queue drops the oldest frame, so that a slow
/// terminal delays nothing.
final class PreviewConsumer: VideoCaptureConsumer {
    private static let rate: FrameRate = 10

    private let terminal: Terminal
    private let processor = FrameProcessor(capacity: 2)
    private let state: Locked<State>

    private struct State {
        var limiter = FrameRateLimiter()
        var renderer: HalfBlockRenderer
    }

    init(_ terminal: Terminal) {
        self.terminal = terminal
        state = Locked(State(renderer: HalfBlockRenderer(terminal.style.colors)))
    }

    func consumeFrame(_ frame: VideoFrame) {
        state.withLock { state in
            guard
                state.limiter.shouldPass(
                    frame.timestamp, sequenceNumber: frame.sequenceNumber, at: PreviewConsumer.rate)
            else { return }
            let terminal = self.terminal
            let size = terminal.size
            let shown = frame.displaySize
            // The last row is for the status line.
            let fitted = HalfBlockRenderer.fit(
                width: shown.width, height: shown.height, columns: size.columns, rows: size.rows - 1)
            let transform = FrameTransform(
                size: PixelSize(width: fitted.width, height: fitted.height), appliesOrientation: true,
                pixelFormat: .argb)
            // A frame that cannot be converted is skipped; the outputs report its fault.
            guard let scaled = try? processor.apply(transform, to: frame) else { return }
            state.renderer.draw(scaled.buffer, columns: size.columns) { terminal.writePreview($0, size: size) }
        }
    }
}

/// A frame as text: each character shows two pixels, one above the other: the upper half block `▀` with the color of
/// the upper pixel as foreground and that of the lower one as background.
///
/// Without colors, denser characters show brighter pixels. Reuses its memory from frame to frame.
struct HalfBlockRenderer {
    private var output: [UInt8] = []
    private let colors: TextStyle.Colors

    init(_ colors: TextStyle.Colors) {
        self.colors = colors
    }

    /// The largest size in pixels, with the aspect ratio of the frame, that fits into a number of characters. A
    /// character is assumed to be twice as high as wide, so that the pixels are square.
    static func fit(width: Int, height: Int, columns: Int, rows: Int) -> (width: Int, height: Int) {
        let columns = max(1, columns)
        let pixelRows = max(1, rows) * 2
        guard width > 0, height > 0 else { return (columns, pixelRows) }
        if width * pixelRows >= height * columns {
            return (columns, max(1, min(pixelRows, height * columns / width)))
        }
        return (max(1, min(columns, width * pixelRows / height)), pixelRows)
    }

    /// Runs `body` with the text that draws the frame from the terminal's top left corner, centered in a number of
    /// columns.
    mutating func draw(_ frame: PixelBuffer, columns: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        precondition(frame.pixelFormat == .argb, "the frame must be ARGB")
        output.removeAll(keepingCapacity: true)
        let indent = max(0, (columns - frame.width) / 2)
        frame.withBytes(ofPlane: 0) { bytes in
            let stride = frame.planes[0].bytesPerRow
            func pixel(_ column: Int, _ row: Int) -> Color {
                let offset = row * stride + column * 4
                return Color(
                    red: bytes.unsafeLoad(fromByteOffset: offset + 1, as: UInt8.self),
                    green: bytes.unsafeLoad(fromByteOffset: offset + 2, as: UInt8.self),
                    blue: bytes.unsafeLoad(fromByteOffset: offset + 3, as: UInt8.self))
            }
            for row in Swift.stride(from: 0, to: frame.height, by: 2) {
                move(toRow: row / 2 + 1, column: indent + 1)
                var last: (upper: Color, lower: Color)?
                for column in 0..<frame.width {
                    let upper = pixel(column, row)
                    let lower = row + 1 < frame.height ? pixel(column, row + 1) : Color(red: 0, green: 0, blue: 0)
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

        /// The nearest color of the 6 × 6 × 6 cube.
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
