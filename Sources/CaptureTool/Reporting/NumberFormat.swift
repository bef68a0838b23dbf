import FileCapturer
import VideoCapturing

/// A count with a decimal prefix, three digits at least: `998 kB`, `1.02 MB`.
func scaled(_ value: Double, _ unit: String) -> String {
    let prefixes = ["", "k", "M", "G", "T"]
    var value = value
    var index = 0
    while value >= 999.5, index < prefixes.count - 1 {
        value /= 1000
        index += 1
    }
    let decimals = index == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2
    return "\(fixed(value, decimals)) \(prefixes[index])\(unit)"
}

/// Minutes and seconds, with hours where there are any: `01:05`, `2:00:00`.
func clockText(_ time: Duration) -> String {
    let seconds = max(0, time.components.seconds)
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let rest = "\(two(seconds / 60 % 60)):\(two(seconds % 60))"
    return seconds >= 3600 ? "\(seconds / 3600):\(rest)" : rest
}

/// Milliseconds with as many digits as matter: `0.4`, `12`.
func milliseconds(_ time: Duration) -> String {
    let value = time.seconds * 1000
    return fixed(value, value < 9.95 ? 1 : 0)
}

/// The playback progress of a file: `1:23 of 5:00, 28 %, 3:10 left`, without the parts that are not known.
func progressText(_ progress: FileCapturer.Progress) -> String {
    var text = playingTime(progress.position)
    if let duration = progress.duration { text += " of \(playingTime(duration))" }
    // Rounded down, so that 100 % is the end.
    if let fraction = progress.fraction { text += ", \(Int(fraction * 100)) %" }
    if let left = progress.timeLeft { text += ", \(playingTime(left)) left" }
    return text
}

/// A playback time, as players show it: `0:07`, `1:23`, `2:00:00`.
func playingTime(_ time: Duration) -> String {
    let text = clockText(time)
    return text.utf8.count == 5 && text.hasPrefix("0") ? String(text.dropFirst()) : text
}
