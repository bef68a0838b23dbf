import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Paints a line of text, with the time if wanted, on copies of frames. The letters are those of ``BitmapFont``, white on
/// dark, and grow with the picture.
///
/// The time is that of the frame's capture, in the machine's time zone. Safe to use from any thread; allocates nothing from
/// frame to frame, as long as format and size stay the same.
package final class TextPainter: Sendable {
    /// Where the text is.
    package enum Corner: String, Sendable, Hashable, CaseIterable {
        case topLeft = "top-left"
        case topRight = "top-right"
        case bottomLeft = "bottom-left"
        case bottomRight = "bottom-right"
    }

    /// The longest text in bytes, with its fields filled in.
    package static let maximumLength = 200

    private struct State {
        var line = [UInt8](repeating: 0, count: TextPainter.maximumLength + 1)
        var count = 0
        /// The second that the line shows, since 1970; nil before the first.
        var second: Int?
    }

    private let pattern: String
    private let corner: Corner
    private let clock: @Sendable () -> (now: MediaTime, wall: Int64)
    private let pool = PixelBufferPool()
    private let state = Locked(State())

    /// A painter.
    ///
    /// - Parameters:
    ///   - pattern: the text, with fields of strftime(3) such as `%H:%M:%S`; `%%` is a percent sign.
    ///   - corner: where it is.
    ///   - clock: the time line of the frames, and nanoseconds since 1970 at the same moment.
    package init(
        _ pattern: String, corner: Corner = .bottomLeft,
        clock: @escaping @Sendable () -> (now: MediaTime, wall: Int64) = TextPainter.now
    ) {
        self.pattern = pattern
        self.corner = corner
        self.clock = clock
    }

    /// Whether it paints on such pictures; others must be converted before.
    package static func paints(on format: PixelFormat) -> Bool {
        switch format.layout {
        case .planar, .semiplanar, .semiplanar422, .rgb32, .rgb24: true
        case .packed, .compressed: false
        }
    }

    /// The frame with the text.
    ///
    /// - Throws: `formatUnsupported` for a format that it does not paint on, `outOfMemory`.
    package func paint(_ frame: VideoFrame) throws(CaptureError) -> VideoFrame {
        guard TextPainter.paints(on: frame.pixelFormat) else {
            throw CaptureError(
                .formatUnsupported, operation: "paint a text", subject: "\(frame.pixelFormat)",
                message: "Text cannot be painted on \(frame.pixelFormat) pictures; convert them to NV12 first.")
        }
        var result = frame
        result.compressed = nil
        let isNew = state.withLock { fill(&$0, frame.timestamp) }
        // Unchanged frames stay so while the text does.
        if isNew, result.damage != nil || result.isRepeat {
            result.damage = nil
            result.isRepeat = false
        }
        let size = PixelSize(width: frame.width, height: frame.height)
        result.buffer = try frame.buffer.withPicture { (source) throws(CaptureError) in
            try pool.makePicture(frame.pixelFormat, size) { (target) throws(CaptureError) in
                source.copy(into: target)
                state.withLock { draw($0, on: target) }
            }
        }
        return result
    }

    /// Renews the line where its second is over; true when it did.
    private func fill(_ state: inout State, _ timestamp: MediaTime) -> Bool {
        let (now, wall) = clock()
        let age = (now - timestamp).nanoseconds
        // The times of a recording are its own.
        let isLive = (0...10_000_000_000).contains(age)
        let second = Int((wall - (isLive ? age : 0)) / 1_000_000_000)
        guard second != state.second else { return false }
        state.second = second
        var parts = tm()
        var time = time_t(second)
        localtime_r(&time, &parts)
        state.count = state.line.withUnsafeMutableBytes { line in
            strftime(line.baseAddress!.assumingMemoryBound(to: CChar.self), line.count, pattern, &parts)
        }
        return true
    }

    private func draw(_ state: State, on target: MutablePicture) {
        let scale = max(1, min(target.height / 240, (target.width - 4) / max(1, state.count * 6)))
        let width = min(target.width, (state.count * 6 + 3) * scale)
        let height = min(target.height, (BitmapFont.height + 4) * scale)
        guard state.count > 0 else { return }
        // Even, so that no chroma sample is cut.
        let left = corner == .topLeft || corner == .bottomLeft ? 0 : (target.width - width) / 2 * 2
        let top = corner == .topLeft || corner == .topRight ? 0 : (target.height - height) / 2 * 2
        let box = PixelRect(x: left, y: top, width: width, height: height)
        darken(box, on: target)
        for row in 0..<max(0, min(BitmapFont.height * scale, height - 2 * scale)) {
            let y = top + 2 * scale + row
            for index in 0..<state.count {
                let bits = BitmapFont.row(row / scale, of: state.line[index])
                for x in 0..<BitmapFont.width * scale where bits & (16 >> UInt8(x / scale)) != 0 {
                    let column = left + (index * 6 + 2) * scale + x
                    if column < left + width { set(column, y, on: target) }
                }
            }
        }
    }

    private func set(_ x: Int, _ y: Int, on target: MutablePicture) {
        switch target.layout {
        case .rgb32: for byte in 0..<4 { target.plane(0).row(y)[x * 4 + byte] = 255 }
        case .rgb24: for byte in 0..<3 { target.plane(0).row(y)[x * 3 + byte] = 255 }
        default: target.y.row(y)[x] = 235
        }
    }

    /// A quarter of the light, and of YUV no color.
    private func darken(_ box: PixelRect, on target: MutablePicture) {
        for y in box.y..<box.y + box.height {
            let row = target.plane(0).row(y)
            switch target.layout {
            case .rgb32, .rgb24:
                let bytes = target.layout == .rgb32 ? 4 : 3
                for index in box.x * bytes..<(box.x + box.width) * bytes { row[index] >>= 2 }
            default:
                for x in box.x..<box.x + box.width { row[x] = row[x] / 4 + 12 }
            }
        }
        let (isPlanar, rows) = (target.layout == .planar, target.layout == .semiplanar422 ? 1 : 2)
        guard isPlanar || target.layout == .semiplanar || target.layout == .semiplanar422 else { return }
        let chroma = box.x / 2..<(box.x + box.width + 1) / 2
        for y in box.y / rows..<(box.y + box.height + rows - 1) / rows {
            if isPlanar {
                for x in chroma { (target.u.row(y)[x], target.v.row(y)[x]) = (128, 128) }
            } else {
                for x in chroma.lowerBound * 2..<chroma.upperBound * 2 { target.chroma.row(y)[x] = 128 }
            }
        }
    }

    /// The time of the monotonic clock, and by the calendar.
    package static let now: @Sendable () -> (now: MediaTime, wall: Int64) = {
        (MonotonicClock().now, wallClockTime().nanoseconds)
    }
}
