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
        /// The time of the first frame.
        var start: MediaTime?
    }

    /// A part of the line.
    private enum Piece: Sendable, Hashable {
        /// Text with fields of strftime(3), as a C string.
        case calendar([CChar])
        /// `%f`: the milliseconds of the second, in three digits.
        case milliseconds
        /// `%{elapsed}`: the time since the first frame, as `0:01:23.456`.
        case elapsed
    }

    private let pieces: [Piece]
    private let sizePercent: Int?
    private let corner: Corner
    private let clock: @Sendable () -> (now: MediaTime, wall: Int64)
    private let pool = PixelBufferPool()
    private let state = Locked(State())

    /// A painter.
    ///
    /// - Parameters:
    ///   - pattern: the text, with fields of strftime(3) such as `%H:%M:%S`; `%f` are milliseconds, `%{elapsed}` is the time
    ///     since the first frame, and `%%` is a percent sign.
    ///   - corner: where it is.
    ///   - sizePercent: the height of the letters in percent of the picture's; nil for about 3.
    ///   - clock: the time line of the frames, and nanoseconds since 1970 at the same moment.
    package init(
        _ pattern: String, corner: Corner = .bottomLeft, sizePercent: Int? = nil,
        clock: @escaping @Sendable () -> (now: MediaTime, wall: Int64) = TextPainter.now
    ) {
        pieces = TextPainter.pieces(of: pattern)
        self.sizePercent = sizePercent
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
        let isNew = state.withLock { fill(&$0, frame) }
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

    private static func pieces(of pattern: String) -> [Piece] {
        var pieces: [Piece] = []
        var text = ""
        func endText() {
            if !text.isEmpty { pieces.append(.calendar(Array(text.utf8CString))) }
            text = ""
        }
        var rest = pattern[...]
        while !rest.isEmpty {
            if rest.hasPrefix("%f") {
                endText()
                pieces.append(.milliseconds)
                rest = rest.dropFirst(2)
            } else if rest.hasPrefix("%{elapsed}") {
                endText()
                pieces.append(.elapsed)
                rest = rest.dropFirst("%{elapsed}".count)
            } else {
                // A field has two letters, `%%` too.
                let count = rest.hasPrefix("%") ? 2 : 1
                text += rest.prefix(count)
                rest = rest.dropFirst(count)
            }
        }
        endText()
        return pieces
    }

    /// Renews the line where its second is over, or it has milliseconds; true when it did.
    private func fill(_ state: inout State, _ frame: VideoFrame) -> Bool {
        let (now, wall) = clock()
        let age = (now - frame.timestamp).nanoseconds
        // The times of a recording are its own.
        let isLive = (0...10_000_000_000).contains(age)
        let moment = wall - (isLive ? age : 0)
        let second = Int(moment / 1_000_000_000)
        let isFine = !frame.isRepeat && pieces.contains { [.milliseconds, .elapsed].contains($0) }
        guard second != state.second || isFine else { return false }
        state.second = second
        let start = state.start ?? frame.timestamp
        state.start = start
        var parts = tm()
        var time = time_t(second)
        localtime_r(&time, &parts)
        state.count = 0
        for piece in pieces {
            switch piece {
            case .calendar(let format): append(format, &parts, to: &state)
            case .milliseconds: append(digits: moment / 1_000_000 % 1000, 3, to: &state)
            case .elapsed:
                let elapsed = max(0, (frame.timestamp - start).nanoseconds / 1_000_000)
                let hours = elapsed / 3_600_000
                append(digits: hours, hours > 9 ? 4 : 1, to: &state)
                for (value, count) in [(elapsed / 60_000 % 60, 2), (elapsed / 1000 % 60, 2), (elapsed % 1000, 3)] {
                    append(count == 3 ? "." : ":", to: &state)
                    append(digits: value, count, to: &state)
                }
            }
        }
        return true
    }

    private func append(_ format: [CChar], _ parts: inout tm, to state: inout State) {
        let (count, room) = (state.count, state.line.count - state.count)
        state.count += state.line.withUnsafeMutableBytes { line in
            strftime(line.baseAddress!.assumingMemoryBound(to: CChar.self) + count, room, format, &parts)
        }
    }

    private func append(digits value: Int64, _ count: Int, to state: inout State) {
        var unit = (1..<count).reduce(Int64(1)) { unit, _ in unit * 10 }
        while unit > 0 {
            append(Unicode.Scalar(UInt8(48 + value / unit % 10)), to: &state)
            unit /= 10
        }
    }

    private func append(_ letter: Unicode.Scalar, to state: inout State) {
        guard state.count < TextPainter.maximumLength else { return }
        state.line[state.count] = UInt8(truncatingIfNeeded: letter.value)
        state.count += 1
    }

    private func draw(_ state: State, on target: MutablePicture) {
        let wanted =
            sizePercent.map { (target.height * $0 + 50 * BitmapFont.height) / (100 * BitmapFont.height) }
            ?? (target.height + 120) / 240
        let scale = max(1, min(wanted, (target.width - 4) / max(1, state.count * 6)))
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
