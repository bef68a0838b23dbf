import VideoCapturing

extension Notice {
    /// The notice as a picture: light letters on dark grey, in the middle, as large as they fit.
    ///
    /// - Parameters:
    ///   - width: the wanted width; very small and very large ones are brought to a size that can be read.
    ///   - height: the wanted height.
    ///   - timestamp: the frame's.
    func picture(width: Int, height: Int, timestamp: MediaTime) throws -> VideoFrame {
        let width = min(max(width, 160), 1920)
        let height = min(max(height, 120), 1920)
        let titleScale = NoticeLayout.scale(
            columns: max(title.utf8.count, 12), in: width - width / 8, atMost: height / 48)
        let textScale = max(1, min(titleScale - 1, titleScale / 2))
        let title = NoticeLayout.lines(of: title, scale: titleScale, in: width)
        var lines = NoticeLayout.lines(of: reason, scale: textScale, in: width - width / 8)
        let titleHeight = title.count * NoticeLayout.lineHeight * titleScale
        let gap = 6 * titleScale
        let room = (height - titleHeight - gap) / (NoticeLayout.lineHeight * textScale)
        if lines.count > max(1, room) { lines = Array(lines.prefix(max(1, room))) }
        let total = titleHeight + gap + lines.count * NoticeLayout.lineHeight * textScale
        let buffer = try PixelBuffer.make(.i420, width: width, height: height) { pixels in
            pixels.fill(plane: 0, with: 0x20)
            pixels.fill(plane: 1, with: 128)
            pixels.fill(plane: 2, with: 128)
            var y = max(0, (height - total) / 2)
            for line in title {
                NoticeLayout.draw(line, centeredAt: y, scale: titleScale, luma: 0xF0, on: pixels)
                y += NoticeLayout.lineHeight * titleScale
            }
            y += gap
            for line in lines {
                NoticeLayout.draw(line, centeredAt: y, scale: textScale, luma: 0xB0, on: pixels)
                y += NoticeLayout.lineHeight * textScale
            }
        }
        return VideoFrame(buffer: buffer, timestamp: timestamp, color: .jpeg)
    }
}

/// Lines of ``BitmapFont``'s letters, and how they are put into a picture.
enum NoticeLayout {
    /// The pixels from line to line, at scale 1.
    static let lineHeight = 11
    /// The pixels from letter to letter, at scale 1.
    static let letterWidth = 6

    /// How large letters can be so that `columns` of them fit.
    static func scale(columns: Int, in width: Int, atMost limit: Int) -> Int {
        max(1, min(width / (columns * letterWidth), limit))
    }

    /// The text in lines, broken between words where that is possible. Anything but ASCII becomes a question mark.
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
