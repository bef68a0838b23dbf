import FrameProcessing
import VideoCapturing

/// The image that viewers get while the source gives no frames: it says why.
struct Placeholder: Sendable, Hashable {
    /// A word or two, in large letters.
    var title: String
    /// The reason in a sentence.
    var reason: String
    /// Whether the state is expected to last, so that a snapshot need not wait for a first frame.
    var isLasting = true

    /// The placeholder before the source has changed its state.
    static let waiting = Placeholder(
        title: "No picture yet", reason: "Waiting for the first picture.", isLasting: false)

    init(title: String, reason: String, isLasting: Bool = true) {
        self.title = title
        self.reason = reason
        self.isLasting = isLasting
    }

    /// The placeholder for a state of the source; nil where there are frames, or where nothing changes for viewers.
    init?(_ state: CaptureState) {
        switch state {
        case .running, .stopping: return nil
        case .idle, .initialized: self = .waiting
        case .starting:
            self.init(title: "Starting", reason: "The source is being opened.", isLasting: false)
        case .interrupted(let reason): self.init(reason)
        case .stopped(.user): self.init(title: "Stopped", reason: "The capture was stopped.")
        case .stopped(.endOfStream): self.init(title: "The end", reason: "The source has no more pictures.")
        case .stopped(.deviceLost(let error)): self.init(title: "Device lost", reason: error.description)
        case .stopped(.error(let error)): self.init(title: "Failure", reason: error.description)
        }
    }

    private init(_ reason: CaptureState.InterruptionReason) {
        switch reason {
        case .deviceDisconnected:
            self.init(title: "Disconnected", reason: "The device was unplugged. Waiting for it to come back.")
        case .deviceBusy:
            self.init(title: "Busy", reason: "Another program uses the device. Waiting for it.")
        case .stalled:
            self.init(title: "Stalled", reason: "The device gives no pictures. It is being restarted.")
        case .noSignal:
            self.init(title: "No signal", reason: "The device has no signal at its input.")
        case .paused:
            self.init(title: "Paused", reason: "The application has paused the capture.")
        case .other(let text):
            self.init(title: "Interrupted", reason: text)
        }
    }
}

extension Placeholder {
    /// Draws the placeholder: light letters on dark gray, centered, as large as they fit.
    ///
    /// - Parameters:
    ///   - width: the wanted width; very small and very large ones are limited to a legible size.
    ///   - height: the wanted height.
    ///   - timestamp: the frame's timestamp.
    /// - Throws: `CaptureError` without memory.
    func frame(width: Int, height: Int, timestamp: MediaTime) throws -> VideoFrame {
        let width = min(max(width, 160), 1920)
        let height = min(max(height, 120), 1920)
        let titleScale = PlaceholderLayout.scale(
            columns: max(title.utf8.count, 12), in: width - width / 8, atMost: height / 48)
        let textScale = max(1, min(titleScale - 1, titleScale / 2))
        let title = PlaceholderLayout.lines(of: title, scale: titleScale, in: width)
        var lines = PlaceholderLayout.lines(of: reason, scale: textScale, in: width - width / 8)
        let titleHeight = title.count * PlaceholderLayout.lineHeight * titleScale
        let gap = 6 * titleScale
        let room = (height - titleHeight - gap) / (PlaceholderLayout.lineHeight * textScale)
        if lines.count > max(1, room) { lines = Array(lines.prefix(max(1, room))) }
        let total = titleHeight + gap + lines.count * PlaceholderLayout.lineHeight * textScale
        let buffer = try PixelBuffer.make(.i420, width: width, height: height) { pixels in
            pixels.fill(plane: 0, with: 0x20)
            pixels.fill(plane: 1, with: 128)
            pixels.fill(plane: 2, with: 128)
            var y = max(0, (height - total) / 2)
            for line in title {
                PlaceholderLayout.draw(line, centeredAt: y, scale: titleScale, luma: 0xF0, on: pixels)
                y += PlaceholderLayout.lineHeight * titleScale
            }
            y += gap
            for line in lines {
                PlaceholderLayout.draw(line, centeredAt: y, scale: textScale, luma: 0xB0, on: pixels)
                y += PlaceholderLayout.lineHeight * textScale
            }
        }
        return VideoFrame(buffer: buffer, timestamp: timestamp, color: .jpeg)
    }
}

/// Breaks texts into lines of ``BitmapFont``, and draws them.
enum PlaceholderLayout {
    /// The pixels from line to line, at scale 1.
    static let lineHeight = 11
    /// The pixels from letter to letter, at scale 1.
    static let letterWidth = 6

    /// The largest scale at which `columns` letters fit.
    static func scale(columns: Int, in width: Int, atMost limit: Int) -> Int {
        max(1, min(width / (columns * letterWidth), limit))
    }

    /// The text in lines, broken between words where possible. Anything but ASCII becomes a question mark.
    static func lines(of text: String, scale: Int, in width: Int) -> [[UInt8]] {
        let columns = max(8, width / (letterWidth * scale))
        var lines: [[UInt8]] = []
        var line: [UInt8] = []
        let letters = text.unicodeScalars.map { 0x20..<0x7F ~= $0.value ? UInt8($0.value) : $0 == "\n" ? 0x20 : 0x3F }
        for word in letters.split(separator: 0x20) {
            var word = word[...]
            if !line.isEmpty, line.count + 1 + word.count > columns {
                lines.append(line)
                line = []
            }
            if !line.isEmpty { line.append(0x20) }
            while word.count > columns {
                lines.append(Array(word.prefix(columns)))
                word = word.dropFirst(columns)
            }
            line += word
        }
        if !line.isEmpty { lines.append(line) }
        return lines
    }

    /// Draws one line; what does not fit is cut off.
    static func draw(_ line: [UInt8], centeredAt top: Int, scale: Int, luma: UInt8, on pixels: borrowing PixelWriter) {
        let left = max(0, (pixels.width - line.count * letterWidth * scale) / 2)
        for row in 0..<BitmapFont.height * scale where top + row < pixels.height {
            pixels.withRow(top + row, ofPlane: 0) { bytes in
                for (column, letter) in line.enumerated() {
                    let bits = BitmapFont.row(row / scale, of: letter)
                    let start = left + column * letterWidth * scale
                    for x in 0..<BitmapFont.width * scale where bits & (16 >> UInt8(x / scale)) != 0 {
                        if start + x < bytes.count { bytes[start + x] = luma }
                    }
                }
            }
        }
    }
}
