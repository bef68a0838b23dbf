import MediaPublishing
import VideoCapturing

/// The status of a run, on one line.
///
/// ```
/// 00:12 640x480 NV12 30.0/30 fps 998 kb/s cap 360 vp8 360 lat 3.9/8.1 ms
/// ```
/// It consists of parts with a rank: where the line is too long, the least important parts are left out as a whole.
struct StatusLine: Sendable {
    struct Part: Sendable, Hashable {
        var text: String
        /// 0 is the most important.
        var rank: Int
        /// Whether to highlight it as a problem.
        var isAlarming = false
    }

    var parts: [Part]

    init(_ run: RunSnapshot) {
        parts = [Part(text: clockText(run.elapsed), rank: 0)]
        if run.hasVideo { parts += StatusLine.pictures(run) }
        if let sound = run.sound { parts += StatusLine.sound(sound) }
        if let progress = run.progress { parts.append(Part(text: progressText(progress), rank: 1)) }
        if let reason = run.interruption {
            parts.append(Part(text: "waiting", rank: 0, isAlarming: true))
            parts.append(Part(text: "(\(reason))", rank: 1, isAlarming: true))
        }
        if !run.encoders.isEmpty {
            let bitrate = run.isInterrupted ? nil : run.bitrate
            parts.append(Part(text: bitrate.map { scaled($0, "b/s") } ?? "- b/s", rank: 3))
        }
        for status in run.outputs.compactMap(\.statistics.status) { parts.append(Part(text: status, rank: 1)) }
        guard run.hasVideo else { return }
        // What consumers have taken says it too.
        parts.append(Part(text: "cap \(run.captured)", rank: 4))
        if run.lostAtSource > 0 { parts.append(Part(text: "lost \(run.lostAtSource)", rank: 2, isAlarming: true)) }
        if run.lostLate > 0 { parts.append(Part(text: "late \(run.lostLate)", rank: 2, isAlarming: true)) }
        for (index, consumer) in run.consumers.enumerated() {
            // The encoder may drop frames too.
            let encoding = index < run.encoders.count ? run.encoders[index].encoding : nil
            let dropped = consumer.dropped.total + (encoding?.framesDropped ?? 0)
            let done = encoding?.packets ?? consumer.delivered
            let text = "\(run.name(ofConsumer: index)) \(done)" + (dropped > 0 ? " drop \(dropped)" : "")
            parts.append(Part(text: text, rank: 2, isAlarming: dropped > 0))
        }
        if let latency = run.latency {
            parts.append(
                Part(text: "lat \(milliseconds(latency.p50))/\(milliseconds(latency.p99)) ms", rank: 5))
        }
    }

    /// Size, format and rate.
    private static func pictures(_ run: RunSnapshot) -> [Part] {
        // The last rate means nothing while no frames come.
        let measured = run.isInterrupted ? nil : run.measuredRate
        return [
            Part(text: "\(run.width)x\(run.height)", rank: 4),
            Part(text: run.tracks.isEmpty ? "\(run.pixelFormat)" : run.codecs, rank: 6),
            Part(
                text: "\(measured.map { fixed($0.framesPerSecond, 1) } ?? "-")"
                    + "\(run.askedRate.map { "/" + StatusLine.rate($0) } ?? (run.isHurried ? "/max" : "")) fps", rank: 1
            ),
        ]
    }

    /// The level, and problems.
    private static func sound(_ sound: SoundSnapshot) -> [Part] {
        let level = sound.peak.map { "\(fixed($0, 0)) dB" } ?? "silent"
        // The level is meaningless while no sound comes.
        var parts = [
            sound.isInterrupted
                ? Part(text: "snd waiting", rank: 0, isAlarming: true) : Part(text: "snd \(level)", rank: 1)
        ]
        if sound.silence >= 0.1 {
            parts.append(Part(text: "snd missing \(fixed(sound.silence, 1)) s", rank: 2, isAlarming: true))
        }
        return parts
    }

    /// The parts that fit into a number of columns, joined by spaces; problems are highlighted in `style`.
    func text(columns: Int, style: TextStyle = .plain) -> String {
        var kept = parts
        while width(kept) > columns, kept.count > 1, let worst = kept.indices.max(by: { kept[$0].rank < kept[$1].rank })
        {
            kept.remove(at: worst)
        }
        let text = kept.map { $0.isAlarming ? style.warning($0.text) : $0.text }.joined(separator: " ")
        return width(kept) <= columns ? text : String(kept.first?.text.prefix(max(0, columns)) ?? "")
    }

    private func width(_ parts: [Part]) -> Int {
        parts.reduce(max(0, parts.count - 1)) { $0 + $1.text.unicodeScalars.count }
    }

    private static func rate(_ rate: FrameRate) -> String {
        rate.seconds == 1 ? "\(rate.frames)" : fixed(rate.framesPerSecond, 2)
    }
}

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
