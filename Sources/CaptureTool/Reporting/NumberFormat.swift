import VideoCapturing

/// The playback progress of a file: `1:23 of 5:00, 28 %, 3:10 left`, without the parts that are not known.
func progressText(_ progress: PlaybackProgress) -> String {
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
