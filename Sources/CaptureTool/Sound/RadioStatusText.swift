import RadioPlayer
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What the tool shows of a radio.
enum RadioStatusText {
    /// `00:12 playing ▮▮▮▮▮▯▯▯▯▯ -12 dB buf 4.1 s 128 kb/s vol 100 % Artist - Title`, cut to a number of columns; in few
    /// columns without what says little, so that there is room for the title.
    static func line(_ status: RadioPlayer.Status, volume: Float, columns: Int) -> String {
        let isNarrow = columns < 60
        var parts = [clockText(status.progress) + (status.duration.map { "/\(clockText($0))" } ?? "")]
        parts.append(name(of: status.state))
        let peak = status.peaks.max() ?? 0
        parts.append(meter(peak, blocks: isNarrow ? 5 : 10))
        if !isNarrow { parts.append(peak > 0 ? "\(fixed(Double(20 * log10(peak)), 0)) dB" : "silent") }
        parts.append("buf \(fixed(status.buffered.seconds, 1)) s")
        if status.bitrate > 0, !isNarrow { parts.append(scaled(status.bitrate, "b/s")) }
        if volume != 1 { parts.append("vol \(fixed(Double(volume * 100), 0)) %") }
        if status.statistics.connections > 1, !isNarrow { parts.append("conn \(status.statistics.connections)") }
        if let title = status.title { parts.append(title) }
        return cut(printable(parts.joined(separator: " "), limit: 1000), columns: columns)
    }

    /// Blocks over 60 dB.
    static func meter(_ peak: Float, blocks: Int = 10) -> String {
        let level = peak > 0 ? 20 * log10(Double(peak)) : -60
        let full = Int((min(max((level + 60) / 60, 0), 1) * Double(blocks)).rounded())
        return String(repeating: "▮", count: full) + String(repeating: "▯", count: blocks - full)
    }

    /// The beginning of a text that fits into a number of columns: a line that wraps could not be rewritten.
    private static func cut(_ text: String, columns: Int) -> String {
        var left = columns
        var end = text.unicodeScalars.startIndex
        for scalar in text.unicodeScalars {
            left -= width(of: scalar)
            guard left >= 0 else { break }
            end = text.unicodeScalars.index(after: end)
        }
        return String(text.unicodeScalars[..<end])
    }

    /// The columns of a character: two of ideographs and emoji, none of marks over the one before.
    private static func width(of scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        let wide: [ClosedRange<UInt32>] = [
            0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD,
        ]
        return wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }

    /// The state in words.
    static func name(of state: RadioPlayer.State) -> String {
        switch state {
        case .initialized, .stopped: "stopped"
        case .starting, .waitingForData: "waiting"
        case .waitingForRendererToStart: "starting"
        case .playing, .flushingEnd: "playing"
        case .buffering: "buffering"
        case .paused: "paused"
        case .stopping: "stopping"
        }
    }

    /// `Played 03:12, 2 connections, 0 underruns.`
    static func summary(_ status: RadioPlayer.Status) -> String {
        func count(_ number: UInt64, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
        let statistics = status.statistics
        // The end of a file comes a few samples before its length.
        let played = clockText(status.progress + .milliseconds(500))
        return "Played \(played), \(count(statistics.connections, "connection")), "
            + "\(count(statistics.underruns, "underrun"))."
    }

    /// The status as a line for programs, with the names that a capture has for the same things.
    ///
    /// - Parameters:
    ///   - event: `start`, `status` or `summary`.
    ///   - url: the address, without user name and password.
    static func json(_ event: String, _ status: RadioPlayer.Status, url: String, elapsed: Duration) -> String {
        let statistics = status.statistics
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        let left = status.duration.map { max(.zero, $0 - status.progress) }
        let progress = PlaybackProgress(position: status.progress, duration: status.duration, timeLeft: left)
        let peak = status.peaks.max().map { 20 * log10(Double($0)) }.flatMap { $0 > -96 ? $0 : nil }
        return JSONValue.object([
            ("version", .integer(StatisticsJSON.version)), ("event", .string(event)),
            ("elapsedSeconds", .number(elapsed.seconds)), ("source", .string("radio")), ("url", .string(url)),
            ("state", .string(status.state.rawValue)), ("progress", StatisticsJSON.progress(progress)),
            (
                "audio",
                .object([("source", .string("radio")), ("peakDecibels", peak.map { .number($0) } ?? .null)])
            ),
            ("bitsPerSecondMeasured", status.bitrate > 0 ? .number(status.bitrate) : .null),
            ("levelMilliseconds", .number(status.buffered.seconds * 1000)),
            ("rateCorrection", .number(status.rateCorrection)),
            ("station", text(status.information?.name)), ("title", text(status.title)),
            ("connections", .count(statistics.connections)), ("attempts", .count(statistics.attempts)),
            ("underruns", .count(statistics.underruns)), ("damages", .count(statistics.damages)),
            ("bytesReceived", .count(statistics.bytesReceived)),
        ]).text
    }
}
