public import AudioCapturing

/// Records from a sound card, or from a sound server, through ALSA.
///
/// ```swift
/// let publisher = AudioPublisher(MicrophoneCapturer())          // the default device
/// let capture = MicrophoneCapturer("USB")                       // a card by a part of its name
/// ```
/// Each chunk has the time at which its first sample was at the microphone. It comes from the driver's times, or from the
/// times of the reads if a sound server hides these. The clock reveals sound that is lost because of a late read, or in a
/// server without an error; the loss is stated. A card that is unplugged or no longer answers interrupts the capture. It
/// continues when the card with the same identifier is back, in any port and with any number. Another card that has its
/// number meanwhile is not recorded.
public final class MicrophoneCapturer: ForwardingAudioCapture {
    public let forwardedCapture: AudioSourceCapturer

    /// A capturer that opens nothing yet.
    ///
    /// - Parameters:
    ///   - device: a name of ALSA (`default`, `hw:Mic`), a card's identifier, or a part of its name.
    ///   - format: the requested format; the device's nearest is delivered.
    ///   - chunkDuration: how long a chunk is, as far as the device allows.
    ///   - clock: the clock of the timestamps; the machine's, unless in a test.
    public convenience init(
        _ device: String = "default", format: AudioFormat = .int16At48kStereo,
        chunkDuration: Duration = .milliseconds(20), clock: any CaptureClock = MonotonicClock()
    ) {
        self.init(device, format: format, chunkDuration: chunkDuration, clock: clock, system: .alsa)
    }

    /// As the public one, with the devices of a test.
    init(
        _ device: String, format: AudioFormat = .int16At48kStereo, chunkDuration: Duration = .milliseconds(20),
        clock: any CaptureClock = MonotonicClock(), system: SoundSystem
    ) {
        forwardedCapture = AudioSourceCapturer(
            MicrophoneSource(
                device, AudioSettings(format: format, chunkDuration: chunkDuration, sourceName: device), system),
            name: "microphone", clock: clock)
    }

    /// The microphones of the sound cards of this machine. Sound servers have further ones, which ALSA cannot list.
    ///
    /// - Returns: one for each device that records, in the order of the cards.
    public static func microphones() -> [Microphone] { MicrophoneDirectory.microphones() }
}

extension AudioCapturerEntry {
    /// Microphones of sound cards and sound servers, as the source `mic` of a program.
    public static let microphone = AudioCapturerEntry(
        name: "mic", summary: "A microphone, through ALSA: the default one, or a card by its name.",
        options: [
            OptionDescription(
                "mic-rate", .text("HZ"), "samples per second to ask the card for; outputs have 48000", default: "48000"),
            OptionDescription(
                "mic-channels", .text("NUMBER"), "channels to ask the card for", default: "2, or 1 of a mono card"),
        ],
        inputPlaceholder: "DEVICE", devices: MicrophoneDirectory.directory, check: { MicrophoneCheck.findings() },
        make: { request in
            let rate = try request.options.count("mic-rate", in: 1...768_000) ?? 48_000
            let channels = try request.options.count("mic-channels", in: 1...64) ?? 2
            return AudioCatalogSource(
                MicrophoneCapturer(
                    request.input ?? "default",
                    format: AudioFormat(.int16, ChannelLayout(count: channels), sampleRate: rate)))
        })
}

extension AudioCapturerEntry {
    /// The sound that the computer plays, as the source `desktop` of a program: the monitor of the default output of PulseAudio or
    /// PipeWire, by ALSA's plug-in for these.
    public static let desktop = AudioCapturerEntry(
        name: "desktop", summary: "The sound that the computer plays, of PulseAudio or PipeWire.", options: [],
        make: { _ in AudioCatalogSource(MicrophoneCapturer(PCMDevice.desktop)) })
}

/// What the self-test of a program says of microphones.
private enum MicrophoneCheck {
    static func findings() -> [Finding] {
        let found = MicrophoneDirectory.microphones()
        guard !found.isEmpty else {
            return [
                Finding(
                    "devices", "microphone", .missing, "no sound card that records",
                    remedy: "Plug in a microphone, or use a sound server's default device: --audio mic.")
            ]
        }
        return found.map { microphone in
            Finding(
                "devices", microphone.pcmName, .ok,
                "\(printable(microphone.name, limit: 60))\(microphone.capabilities == nil ? ", in use" : "")")
        }
    }
}
