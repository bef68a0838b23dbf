import AudioCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension AudioCapturerEntry {
    /// Made sound, as the source `tone` of a program.
    public static let tone = AudioCapturerEntry(
        name: "tone", summary: "A sine, white noise, or beeps to test synchronization. Needs no device.",
        options: [
            OptionDescription(
                "tone-sound", .choice(["sine", "noise", "beep"]),
                "the kind of sound; beep is 30 ms at each whole second of the clock", default: "sine"),
            OptionDescription("tone-frequency", .text("HZ"), "the frequency of the sine", default: "1000"),
            OptionDescription("tone-level", .text("DB"), "the peak below full scale, 0 to 120 dB", default: "20"),
            OptionDescription("tone-rate", .text("HZ"), "samples per second; outputs have 48000", default: "48000"),
            OptionDescription("tone-channels", .text("NUMBER"), "the number of channels, 1 to 64", default: "2"),
        ],
        make: { request in
            let options = request.options
            let frequency = try options.count("tone-frequency", in: 1...383_999) ?? 1000
            let sine = ToneCapturer.Sound.sine(frequency: Double(frequency))
            let sound =
                try options.choice("tone-sound", [("sine", sine), ("noise", .whiteNoise(seed: 0)), ("beep", .beep)])
                ?? sine
            if let given = options["tone-frequency"], sound != sine {
                throw OptionError(
                    "tone-frequency", given, "only a sine has one; leave it out, or add --tone-sound sine.")
            }
            let rate = try options.count("tone-rate", in: 1...768_000) ?? 48_000
            if 2 * frequency >= rate, options["tone-frequency"] != nil {
                throw OptionError(
                    "tone-frequency", "\(frequency)", "give less than half of the \(rate) samples per second.")
            }
            let level = try options.count("tone-level", in: 0...120) ?? 20
            let channels = try options.count("tone-channels", in: 1...64) ?? 2
            return AudioCatalogSource(
                ToneCapturer(
                    sound, format: AudioFormat(.float32, ChannelLayout(count: channels), sampleRate: rate),
                    amplitude: pow(10, -Double(level) / 20)))
        })
}
