import FrameProcessing
import VideoCapturing

/// The statistics in the upper left corner of the picture: format, rates and latency, renewed each second.
struct StatisticsOverlay {
    private static let interval = Duration.seconds(1)
    private static let letterWidth = 6
    private static let lineHeight = 11

    /// When the text is due again.
    private(set) var nextUpdate = MediaTime.zero
    private var lines: [[UInt8]] = []
    private var lastTime = MediaTime.zero
    private var lastReceived: UInt64 = 0
    private var lastShown: UInt64 = 0

    /// Writes the text again when it is due; true when it differs.
    mutating func update(
        _ frame: VideoFrame, at now: MediaTime, _ makeStatistics: @autoclosure () -> WindowPreview.Statistics
    ) -> Bool {
        guard now >= nextUpdate else { return false }
        let statistics = makeStatistics()
        let seconds = (now - lastTime).seconds
        // The first text has no second behind it.
        let isFirst = lastTime == .zero
        func rate(_ count: UInt64, _ last: UInt64) -> String {
            isFirst ? "-" : StatisticsOverlay.decimal(Double(count - last) / seconds)
        }
        var text = [
            "\(frame.width)x\(frame.height) \(frame.pixelFormat) \(frame.color.matrix.rawValue) "
                + "\(frame.color.range.rawValue)",
            "in \(rate(statistics.framesReceived, lastReceived)) fps, shown "
                + "\(rate(statistics.framesShown, lastShown)), replaced \(statistics.framesReplaced)",
        ]
        if let middle = statistics.p50Latency, let high = statistics.p99Latency {
            text.append(
                "latency p50 \(StatisticsOverlay.decimal(middle.seconds * 1e3)) ms, "
                    + "p99 \(StatisticsOverlay.decimal(high.seconds * 1e3)) ms")
        }
        (lastTime, lastReceived, lastShown) = (now, statistics.framesReceived, statistics.framesShown)
        nextUpdate = now.advanced(by: StatisticsOverlay.interval)
        let new = text.map { Array($0.utf8) }
        guard new != lines else { return false }
        lines = new
        return true
    }

    /// With one place after the point.
    private static func decimal(_ value: Double) -> String {
        let tenths = Int((max(0, min(value, 1e9)) * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    /// Draws the text over a darkened part of a picture of blue, green, red, alpha; what does not fit is cut off.
    func draw(on memory: UnsafeMutablePointer<UInt8>, bytesPerRow: Int, size: PixelSize) {
        let scale = max(1, min(3, size.height / 300))
        let margin = 4 * scale
        let columns = lines.reduce(0) { max($0, $1.count) }
        let width = min(size.width, columns * StatisticsOverlay.letterWidth * scale + 2 * margin)
        let height = min(size.height, lines.count * StatisticsOverlay.lineHeight * scale + 2 * margin)
        let pixels = UnsafeMutableRawPointer(memory)
        for y in 0..<height {
            for x in 0..<width {
                let offset = y * bytesPerRow + x * 4
                let pixel = pixels.load(fromByteOffset: offset, as: UInt32.self)
                pixels.storeBytes(of: (pixel >> 2) & 0x3F3F_3F3F, toByteOffset: offset, as: UInt32.self)
            }
        }
        for (number, line) in lines.enumerated() {
            let top = margin + number * StatisticsOverlay.lineHeight * scale
            for row in 0..<BitmapFont.height * scale where top + row < height {
                for (column, letter) in line.enumerated() {
                    let bits = BitmapFont.row(row / scale, of: letter)
                    let left = margin + column * StatisticsOverlay.letterWidth * scale
                    for x in 0..<BitmapFont.width * scale where bits & (16 >> UInt8(x / scale)) != 0 && left + x < width
                    {
                        pixels.storeBytes(
                            of: 0xFFFF_FFFF, toByteOffset: (top + row) * bytesPerRow + (left + x) * 4, as: UInt32.self)
                    }
                }
            }
        }
    }
}
