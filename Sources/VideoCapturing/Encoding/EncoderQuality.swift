/// How an encoder weighs quality, bitrate and time, as far as options say; nil leaves a choice to the encoder.
///
/// Quantizers are in the codec's own numbers, of which the lower is the finer: 0 to 63 in VP8, 1 to 51 in H.264.
package struct EncoderQuality: Sendable, Hashable {
    /// The quantizer of all frames, whatever bitrate comes of it; nil to aim at a bitrate.
    package var constantQuantizer: Int?
    /// The finest quantizer.
    package var minimumQuantizer: Int?
    /// The coarsest quantizer.
    package var maximumQuantizer: Int?
    /// Whether difficult pictures may have more bits than the mean; false to keep the bitrate at all times.
    package var isVariableBitrate: Bool?
    /// From 1, slow and good, to 16, fast.
    package var speed: Int?

    /// The name of the option for a constant quantizer.
    package static let constantOption = "quality"

    /// The options that ``EncoderEntry/Request/quality(quantizers:)`` reads.
    package static let options = [
        OptionDescription(
            constantOption, .text("N"), "constant quality: a quantizer, 0 to 63 (VP8) or 1 to 51 (H.264)",
            default: "off"),
        OptionDescription("min-quantizer", .text("N"), "the finest quantizer", default: "the encoder's"),
        OptionDescription("max-quantizer", .text("N"), "the coarsest quantizer", default: "the encoder's"),
        OptionDescription(
            "rate-control", .choice(["cbr", "vbr"]), "constant bitrate, or more for difficult pictures", default: "cbr"),
        OptionDescription("speed", .text("N"), "encoding speed, 1 (slow, good) to 16 (fast)", default: "the encoder's"),
    ]
}

extension EncoderEntry.Request {
    /// What ``EncoderQuality/options`` ask for.
    ///
    /// - Parameter quantizers: those of the codec.
    /// - Throws: `OptionError` for a value out of range, and for values that contradict each other.
    package func quality(quantizers: ClosedRange<Int>) throws(OptionError) -> EncoderQuality {
        let options = settings.options
        let quality = EncoderQuality(
            constantQuantizer: try options.count(EncoderQuality.constantOption, in: quantizers),
            minimumQuantizer: try options.count("min-quantizer", in: quantizers),
            maximumQuantizer: try options.count("max-quantizer", in: quantizers),
            isVariableBitrate: try options.choice("rate-control", [("cbr", false), ("vbr", true)]),
            speed: try options.count("speed", in: 1...16))
        if let minimum = quality.minimumQuantizer, let maximum = quality.maximumQuantizer, minimum > maximum {
            throw OptionError("min-quantizer", "\(minimum)", "is above --max-quantizer \(maximum); lower it.")
        }
        guard let constant = quality.constantQuantizer else { return quality }
        let name = EncoderQuality.constantOption
        if settings.bitrate != nil {
            throw OptionError(name, "\(constant)", "cannot be combined with --bitrate; leave one out.")
        }
        for other in ["min-quantizer", "max-quantizer", "rate-control"] where options.contains(other) {
            throw OptionError(name, "\(constant)", "cannot be combined with --\(other); leave one out.")
        }
        return quality
    }
}
