import FrameProcessing
import VideoCapturing

/// Draws the pictures.
struct PatternSource: FrameSource {
    private(set) var settings: CaptureSettings
    private let pattern: PatternCapturer.Pattern
    private let requested: VideoFormat
    private let frameRate: FrameRate?
    private var frameCount: Int64 = 0
    private var start: MediaTime?
    private var rows = Rows(width: 0)

    init(pattern: PatternCapturer.Pattern, format: VideoFormat, frameRate: FrameRate?) {
        var format = format
        format.estimatedFramesPerSecond = frameRate
        format.estimatedCaptureDelay = .zero
        requested = format
        settings = CaptureSettings(format: format, sourceName: "test pattern")
        self.pattern = pattern
        self.frameRate = frameRate
    }

    var pacing: FramePacing { frameRate.map { .rate($0) } ?? .unpaced }

    func open() throws {
        try requested.validate()
        guard requested.imageWidth >= 16, requested.imageHeight >= 16 else {
            throw CaptureError(
                .invalidConfiguration, operation: "open", subject: "test pattern",
                message: "A test picture has at least 16x16 pixels; asked for "
                    + "\(requested.imageWidth)x\(requested.imageHeight).")
        }
        guard [.nv12, .i420].contains(requested.pixelFormat) else {
            throw CaptureError(
                .formatUnsupported, operation: "open", subject: "test pattern",
                message: "Test pictures come as NV12 or I420; asked for \(requested.pixelFormat).")
        }
    }

    mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        let format = settings.format
        if rows.width != format.imageWidth { rows = Rows(width: format.imageWidth) }
        let now = context.now
        let since = now - (start ?? now)
        start = start ?? now
        let number = frameCount
        frameCount += 1
        var frame = try context.makeFrame(
            format.pixelFormat, width: format.imageWidth, height: format.imageHeight
        ) { [pattern, rows] pixels in
            PatternSource.drawBackground(pattern == .ball ? nil : rows, pixels)
            if pattern != .bars { PatternSource.drawBall(at: since, pixels) }
            if pattern == .clock { PatternSource.drawText([PatternSource.time(since), "frame \(number)"], pixels) }
        }
        frame.estimatedCaptureDelay = .zero
        return frame
    }

    mutating func adapt(to wants: CaptureWants) {
        let size = wants.adaptedSize(width: requested.imageWidth, height: requested.imageHeight)
        settings.format = requested.resized(width: max(16, size.width), height: max(16, size.height))
    }

    // MARK: Background

    /// One row of each kind that the background has.
    private struct Rows {
        let width: Int
        var bars: [UInt8] = []
        var ramp: [UInt8] = []
        var u: [UInt8] = []
        var v: [UInt8] = []
        var uv: [UInt8] = []

        /// The colors of the bars in BT.601, limited range.
        private static let colors: [(y: UInt8, u: UInt8, v: UInt8)] = [
            (180, 128, 128), (162, 44, 142), (131, 156, 44), (112, 72, 58), (84, 184, 198), (65, 100, 212),
            (35, 212, 114), (16, 128, 128),
        ]

        init(width: Int) {
            self.width = width
            guard width > 0 else { return }
            bars = (0..<width).map { Rows.colors[$0 * 8 / width].y }
            ramp = (0..<width).map { UInt8(16 + $0 * 219 / max(1, width - 1)) }
            for column in 0..<(width + 1) / 2 {
                let color = Rows.colors[min(7, column * 16 / width)]
                u.append(color.u)
                v.append(color.v)
                uv += [color.u, color.v]
            }
        }
    }

    /// Bars above a ramp; black without rows.
    private static func drawBackground(_ rows: Rows?, _ pixels: borrowing PixelWriter) {
        guard let rows else {
            pixels.fill(plane: 0, with: 16)
            for plane in 1..<pixels.planes.count { pixels.fill(plane: plane, with: 128) }
            return
        }
        let isPlanar = pixels.planes.count == 3
        for plane in pixels.planes.indices {
            let count = pixels.planes[plane].rows
            // A whole number of rows of chroma, so that colors end where the bars do.
            let end = pixels.height * 3 / 8 * 2
            for row in 0..<count {
                let isRamp = plane == 0 ? row >= end : row * 2 >= end
                let source =
                    plane == 0 ? (isRamp ? rows.ramp : rows.bars) : !isPlanar ? rows.uv : plane == 1 ? rows.u : rows.v
                pixels.withRow(row, ofPlane: plane) { bytes in
                    if plane > 0, isRamp {
                        _ = bytes.initializeMemory(as: UInt8.self, repeating: 128)
                    } else {
                        bytes.copyBytes(from: source.prefix(bytes.count))
                    }
                }
            }
        }
    }

    // MARK: Ball and text

    private static func drawBall(at since: Duration, _ pixels: borrowing PixelWriter) {
        let radius = max(3, min(pixels.width, pixels.height) / 12)
        /// There and back, at different speeds, so that the path covers the picture.
        func position(_ period: Double, _ length: Int) -> Int {
            let phase = (since.seconds / period).truncatingRemainder(dividingBy: 2)
            return radius + Int(Double(length - 2 * radius - 1) * (phase < 1 ? phase : 2 - phase))
        }
        let (x, y) = (position(2, pixels.width), position(1.3, pixels.height))
        for row in max(0, y - radius)...min(pixels.height - 1, y + radius) {
            let half = Int(Double(radius * radius - (row - y) * (row - y)).squareRoot())
            fill(pixels, row, columns: max(0, x - half)...min(pixels.width - 1, x + half), luma: 235)
        }
    }

    /// Lines of white text on black, in the lower left, as large as fits half of the width.
    private static func drawText(_ lines: [String], _ pixels: borrowing PixelWriter) {
        let longest = lines.map(\.utf8.count).max() ?? 0
        let scale = max(1, min(pixels.width / 2 / (longest * 6 + 1), pixels.height / 2 / (lines.count * 10 + 1)))
        let (width, height) = ((longest * 6 + 1) * scale, (lines.count * 10 + 1) * scale)
        let top = max(0, pixels.height - height - 2 * scale)
        guard width <= pixels.width, height <= pixels.height else { return }
        for row in top..<min(pixels.height, top + height) { fill(pixels, row, columns: 0...width - 1, luma: 16) }
        for (index, line) in lines.enumerated() {
            for row in 0..<BitmapFont.height * scale {
                let place = top + (index * 10 + 1) * scale + row
                guard place < pixels.height else { break }
                pixels.withRow(place, ofPlane: 0) { bytes in
                    for (letter, code) in line.utf8.enumerated() {
                        let bits = BitmapFont.row(row / scale, of: code)
                        for x in 0..<BitmapFont.width * scale where bits & (16 >> UInt8(x / scale)) != 0 {
                            bytes[(letter * 6 + 1) * scale + x] = 235
                        }
                    }
                }
            }
        }
    }

    /// Sets a part of a row to a gray.
    private static func fill(
        _ pixels: borrowing PixelWriter, _ row: Int, columns: ClosedRange<Int>, luma: UInt8
    ) {
        pixels.withRow(row, ofPlane: 0) { bytes in
            for column in columns { bytes[column] = luma }
        }
        guard row % 2 == 0 else { return }
        for plane in 1..<pixels.planes.count {
            let perPixel = pixels.planes.count == 2 ? 2 : 1
            pixels.withRow(row / 2, ofPlane: plane) { bytes in
                for column in columns.lowerBound / 2 * perPixel..<(columns.upperBound / 2 + 1) * perPixel
                where column < bytes.count { bytes[column] = 128 }
            }
        }
    }

    /// `00:01:02.345`.
    private static func time(_ since: Duration) -> String {
        func digits(_ value: Int64, _ count: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let milliseconds = since.nanoseconds / 1_000_000
        let (hours, minutes) = (milliseconds / 3_600_000, milliseconds / 60_000 % 60)
        return "\(digits(hours, 2)):\(digits(minutes, 2)):\(digits(milliseconds / 1000 % 60, 2))"
            + ".\(digits(milliseconds % 1000, 3))"
    }
}
