import MediaPublishing
import VideoCapturing

extension EncodingSettings {
    /// The names of the tool's options that say how to encode; encoders have further ones.
    static let optionNames = ["codec", "encoder", "bitrate", "keyframe-interval"]

    /// The settings that options describe.
    ///
    /// - Parameters:
    ///   - values: all values of a command line.
    ///   - encoders: the encoders that the program has.
    init(_ values: OptionValues, encoders: [EncoderEntry]) throws(OptionError) {
        var codecs: [(name: String, value: Codec)] = []
        for codec in encoders.map(\.codec) where !codecs.contains(where: { $0.value == codec }) {
            codecs.append((codec.rawValue, codec))
        }
        self.init(
            codec: try values.choice("codec", codecs),
            encoder: try values.choice("encoder", encoders.map { ($0.name, $0.name) }),
            bitrate: try values.bitrate("bitrate"),
            keyFrameInterval: try values.parsed("keyframe-interval", EncodingSettings.parseInterval),
            options: values.filter { name in encoders.contains { $0.options.contains { $0.name == name } } })
    }

    /// The maximum interval between key frames: seconds (`2`, `0.5s`) or frames (`60f`).
    private static func parseInterval(_ text: String, _ option: String) throws(OptionError) -> KeyFrameInterval {
        if text.hasSuffix("f") {
            guard let count = parseDigits(String(text.dropLast()), as: Int64.self), (1...1_000_000).contains(count)
            else { throw OptionError(option, text, "not a number of frames from 1 to 1000000. Give it as 60f.") }
            return .frames(count)
        }
        guard let time = parseTime(text), time > .zero else {
            throw OptionError(option, text, "not an interval above zero. Give seconds (2, 0.5) or frames (60f).")
        }
        return .time(time)
    }
}
