import AudioCapturing
import MediaPublishing
import VideoCapturing

/// The text of a run: a line at its beginning, and at its end one for the capture and one for each output.
enum Summary {
    /// The line at the beginning.
    static func beginning(_ run: RunSnapshot) -> String {
        let rate =
            run.askedRate.map { "at \($0.text) fps" } ?? (run.isHurried ? "as fast as possible" : "at its own rate")
        let outputs = run.outputs.filter { $0.statistics.announcement == nil }
        func names(_ outputs: [MediaPublisher.Statistics.Output]) -> String {
            outputs.map { output in
                let bitrate = output.encoder.map { ", \(target(run.encoders[$0]))" } ?? ""
                let name = printable(output.name, limit: 200)
                return output.name == output.kind ? name : "\(name) (\(output.kind)\(bitrate))"
            }.joined(separator: ", ")
        }
        let place = outputs.isEmpty ? "" : ", to \(names(outputs))"
        let end = "Ctrl-C\(run.hasKeys ? " or q" : "") ends it."
        let sound = run.sound.map { "\($0.source), \($0.format)" }
        guard run.tracks.isEmpty else {
            let passed = outputs.filter { $0.passedOn != nil }
            let decoded = outputs.filter { $0.passedOn == nil }
            guard !passed.isEmpty || decoded.isEmpty else {
                return "Decoding \(run.codecs) of \(run.source), for \(names(decoded)). \(end)"
            }
            let to = passed.isEmpty ? "" : ", to \(names(passed))"
            let others = decoded.isEmpty ? "" : "; decoding for \(names(decoded))"
            let why = run.passesUnasked ? ", since no option asks for frames" : ""
            return "Passing on \(run.codecs) of \(run.source)\(to)\(why)\(others). \(end)"
        }
        guard run.hasVideo else { return "Recording \(sound ?? "nothing")\(place). \(end)" }
        let with = sound.map { ", with sound of \($0)" } ?? ""
        return "Capturing \(run.source), \(run.width)x\(run.height) \(run.pixelFormat) \(rate)\(with)\(place). \(end)"
    }

    /// What an encoder aims at.
    private static func target(_ encoder: MediaPublisher.Statistics.Encoder) -> String {
        if let quantizer = encoder.constantQuantizer { return "constant quality \(quantizer)" }
        return "target \(scaled(Double(encoder.targetBitrate), "b/s"))"
    }

    /// The lines of the outputs that have an address.
    static func announcements(_ run: RunSnapshot) -> [String] {
        run.outputs.compactMap(\.statistics.announcement).flatMap { $0.split(separator: "\n").map(String.init) }
    }

    /// The line about the capture: the number of frames, and how many each consumer took and dropped.
    static func captureLine(_ run: RunSnapshot) -> String {
        let sound = run.sound.map(soundLine)
        guard run.hasVideo else { return sound ?? "" }
        return pictureLine(run) + (sound.map { " " + $0 } ?? "")
    }

    private static func soundLine(_ sound: SoundSnapshot) -> String {
        let counts = sound.statistics.capture
        let seconds = Double(counts.framesDelivered) / Double(max(1, sound.format.sampleRate))
        return "Sound: \(fixed(seconds, 1)) s of \(sound.source), \(counts.framesLost.total) samples lost, "
            + "\(fixed(sound.silence, 1)) s of silence in place of missing sound."
    }

    private static func pictureLine(_ run: RunSnapshot) -> String {
        var first = "\(run.tracks.isEmpty ? "Captured" : "Passed on") \(frames(run.captured))"
        if let speed = run.speed {
            first += ", \(fixed(run.capturedTime.seconds, 1)) s of video, in \(fixed(run.elapsed.seconds, 1)) s"
            first += " (\(fixed(speed, 1))x)"
        } else {
            first += " in \(fixed(run.elapsed.seconds, 1)) s"
            // A source that was at rest has no rate.
            if run.captured > 1, let rate = run.meanRate { first += " (\(fixed(rate, 1)) fps)" }
        }
        if let progress = run.progress, let duration = progress.duration {
            first += ", up to \(playingTime(progress.position)) of \(playingTime(duration))"
        }
        if run.lostAtSource > 0 { first += ", \(run.lostAtSource) lost at the source" }
        if run.lostLate > 0 { first += ", \(run.lostLate) left out since this machine was too slow" }
        for (index, consumer) in run.consumers.enumerated() {
            if index < run.encoders.count {
                let encoding = run.encoders[index].encoding
                // Of viewers that did not come.
                guard encoding.framesIn + consumer.dropped.total > 0 || run.captured == 0 else { continue }
                first += "; \(run.name(ofConsumer: index)) encoded \(Summary.packets(encoding)), dropped "
                first += "\(consumer.dropped.total + encoding.framesDropped)"
            } else {
                first += "; \(consumer.name) took \(consumer.delivered), dropped \(consumer.dropped.total)"
            }
        }
        for output in run.outputs {
            guard let passed = output.passedOn else { continue }
            first += "; \(printable(output.name, limit: 60)) took \(passed.packets) packets"
            if passed.packetsDropped > 0 { first += ", dropped \(passed.packetsDropped)" }
        }
        return first + "."
    }

    /// A line for each output.
    static func outputLines(_ run: RunSnapshot) -> [String] {
        run.outputs.filter { !$0.statistics.summary.isEmpty }.map { output in
            let summary = output.statistics.summary
            guard output.hasFailed, output.statistics.bytes > 0 else { return summary }
            // How to play a file stands at the end, without a period that one would copy.
            return summary + (summary.hasSuffix(".") ? "" : ".") + " It is incomplete."
        }
    }

    /// `31`, or of a screen that was made sharper `31 frames + 59 refinements`.
    static func packets(_ encoding: EncodingConsumer.Statistics) -> String {
        guard encoding.refinements > 0 else { return "\(encoding.packets)" }
        let plural = encoding.refinements == 1 ? "" : "s"
        return "\(frames(encoding.packets - encoding.refinements)) + \(encoding.refinements) refinement\(plural)"
    }

    private static func frames(_ count: UInt64) -> String { count == 1 ? "1 frame" : "\(count) frames" }
}
