import VideoCapturing

/// FFmpeg's options for ``EncoderQuality``, as far as an encoder has them. Those of hardware are what its source says.
struct QualityOptions {
    private enum Family {
        case x264
        case nvenc
        case vaapi
        case quickSync
        case v4l2
    }

    private let family: Family?

    /// How many times the bitrate a second may have with a variable bitrate.
    private static let peak = 2

    init(encoder: String) {
        family =
            switch encoder {
            case "libx264", "libx264rgb": .x264
            case _ where encoder.hasSuffix("_nvenc"): .nvenc
            case _ where encoder.hasSuffix("_vaapi"): .vaapi
            case _ where encoder.hasSuffix("_qsv"): .quickSync
            case _ where encoder.hasSuffix("_v4l2m2m"): .v4l2
            default: nil
            }
    }

    /// Those of ``EncoderQuality/options`` that have an effect.
    var descriptions: [OptionDescription] {
        let names: [String] =
            switch family {
            case .x264, .vaapi, .quickSync: EncoderQuality.options.map(\.name)
            // Its limits have no effect with a constant bitrate.
            case .nvenc: [EncoderQuality.constantOption, "rate-control", "speed"]
            case .v4l2: ["min-quantizer", "max-quantizer"]
            case nil: []
            }
        return EncoderQuality.options.filter { names.contains($0.name) }
    }

    /// The maximum rate in a second, for a mean of `bitrate`.
    func maximumRate(_ quality: EncoderQuality?, bitrate: Int) -> Int {
        quality?.isVariableBitrate == true ? bitrate * QualityOptions.peak : bitrate
    }

    /// The options by their names. Unlike those against delay they must be known to this version of FFmpeg.
    func options(_ quality: EncoderQuality?) -> [String: String] {
        var options: [String: String] = [:]
        guard let quality else { return options }
        for (limit, name) in [(quality.minimumQuantizer, "min"), (quality.maximumQuantizer, "max")] {
            guard let limit else { continue }
            let names = family == .quickSync ? ["\(name)_qp_i", "\(name)_qp_p"] : ["q\(name)"]
            for name in names { options[name] = "\(limit)" }
        }
        if let speed = quality.speed, let option = speedOption(speed) { options[option.name] = option.value }
        if let isVariable = quality.isVariableBitrate {
            switch family {
            case .nvenc: options["rc"] = isVariable ? "vbr" : "cbr"
            case .vaapi: options["rc_mode"] = isVariable ? "VBR" : "CBR"
            // A maximum above the mean says so.
            case .x264, .quickSync, .v4l2, nil: break
            }
        }
        if let constant = quality.constantQuantizer { options.merge(constantOptions(constant)) { _, new in new } }
        return options
    }

    private func constantOptions(_ quantizer: Int) -> [String: String] {
        // No bitrate, which would correct the quantizer.
        let unlimited = ["b": "0", "maxrate": "0", "bufsize": "0"]
        let own: [String: String] =
            switch family {
            case .x264: ["qp": "\(quantizer)", "i_qfactor": "1"]
            case .nvenc: ["rc": "constqp", "qp": "\(quantizer)"]
            case .vaapi: ["rc_mode": "CQP", "qp": "\(quantizer)", "i_qfactor": "1"]
            // In units of FF_QP2LAMBDA.
            case .quickSync: ["flags": "+qscale", "global_quality": "\(quantizer * 118)", "i_qfactor": "1"]
            case .v4l2, nil: [:]
            }
        return own.merging(unlimited) { own, _ in own }
    }

    /// The step that is nearest to a speed from 1 to 16.
    private func speedOption(_ speed: Int) -> (name: String, value: String)? {
        let presets = [
            "veryslow", "slower", "slow", "medium", "fast", "faster", "veryfast", "superfast", "ultrafast",
        ]
        let ofSeven = (speed - 1) * 7 / 16
        return switch family {
        case .x264: ("preset", presets[speed / 2])
        case .nvenc: ("preset", "p\(7 - ofSeven)")
        case .vaapi: ("quality", "\(1 + ofSeven)")
        case .quickSync: ("preset", presets[ofSeven])
        case .v4l2, nil: nil
        }
    }
}
