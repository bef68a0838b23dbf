public import AudioCapturing

/// Records from a sound card, or from a sound server, through ALSA.
///
/// ```swift
/// let publisher = AudioPublisher(MicrophoneCapturer())          // the default device
/// let capture = MicrophoneCapturer("USB")                       // a card by a part of its name
/// ```
/// Each chunk has the time at which its first sample was at the microphone, from the times of the driver; where a sound
/// server hides these, from the times of the reads. Sound that is lost for want of a read, or in a server without any
/// error, is found by the clock, and stated. A card that is unplugged, or that no longer answers, interrupts the capture; it
/// goes on when the card with the same identifier is back, in any port.
public final class MicrophoneCapturer: ForwardingAudioCapture {
    public let forwardedCapture: AudioSourceCapturer

    /// A capturer that opens nothing yet.
    ///
    /// - Parameters:
    ///   - device: a name of ALSA (`default`, `hw:Mic`), a card's identifier, or a part of its name.
    ///   - format: what is asked for; the device's nearest is delivered.
    ///   - chunkDuration: how long a chunk is, as far as the device allows.
    ///   - clock: the clock of the timestamps; the machine's, unless in a test.
    public init(
        _ device: String = "default", format: AudioFormat = .int16At48kStereo,
        chunkDuration: Duration = .milliseconds(20), clock: any CaptureClock = MonotonicClock()
    ) {
        forwardedCapture = AudioSourceCapturer(
            MicrophoneSource(device, AudioSettings(format: format, chunkDuration: chunkDuration, sourceName: device)),
            name: "microphone", clock: clock)
    }

    /// The microphones of the sound cards of this machine. Sound servers have further ones, which ALSA cannot list.
    ///
    /// - Returns: one for each device that records, in the order of the cards.
    public static func microphones() -> [Microphone] { MicrophoneDirectory.microphones() }
}

/// The source behind it; all on the capture's thread.
struct MicrophoneSource: AudioSource {
    private(set) var settings: AudioSettings
    private let name: String
    private var pcmName = ""
    private var device: PCMDevice?
    private var isAfterLoss = false
    /// When the device has last given something.
    private var lastData = MediaTime.zero

    /// How long to wait between two looks for a card that is gone.
    private static let retryInterval = Duration.milliseconds(500)

    init(_ name: String, _ settings: AudioSettings) {
        self.name = name
        self.settings = settings
    }

    var pacing: AudioPacing { .device }

    mutating func open(_ context: AudioContext) throws {
        pcmName = MicrophoneDirectory.pcmName(of: name)
        let opened = try PCMDevice(pcmName, wanted: settings.format, period: settings.chunkDuration)
        settings.format = opened.format
        settings.chunkDuration = opened.format.duration(ofFrames: Int64(opened.framesPerPeriod))
        device = opened
    }

    mutating func start(_ context: AudioContext) throws {
        if device == nil { device = try PCMDevice(pcmName, wanted: settings.format, period: settings.chunkDuration) }
        try device?.start()
        isAfterLoss = false
        lastData = MonotonicClock().now
    }

    mutating func nextChunk(_ context: AudioContext) throws -> SourceAudio? {
        while !context.isStopping {
            guard let device else {
                guard reopen(context) else { continue }
                continue
            }
            do {
                if let audio = try read(device, context) { return audio }
            } catch let error as CaptureError {
                guard error.code == .deviceLost || error.code == .deviceNotFound else { throw error }
                context.reportInterruption(
                    MicrophoneDirectory.isPresent(pcmName) ? .stalled : .deviceDisconnected)
                self.device = nil
            }
        }
        return nil
    }

    private mutating func read(_ device: PCMDevice, _ context: AudioContext) throws -> SourceAudio? {
        // A driver says itself that a device hangs, after as long as its buffer; a plug-in may say nothing.
        let limit = device.bufferDuration * 2 + .seconds(3)
        // A program that was suspended for as long gives the device a moment to show what it has.
        guard
            device.wait(stop: context.stopDescriptor, until: lastData.advanced(by: limit))
                || device.wait(
                    stop: context.stopDescriptor, until: MonotonicClock().now.advanced(by: .milliseconds(250)))
        else {
            throw CaptureError(
                .deviceLost, operation: "record", subject: device.name,
                message: "It has given nothing for \(limit.seconds) s; plug it in again.")
        }
        guard !context.isStopping else { return nil }
        var timestamp: MediaTime?
        var reading = PCMDevice.Reading.none
        let audio = try context.makeAudio(settings.format, frameCapacity: device.framesPerPeriod) { samples in
            reading = try samples.withUnsafeBytes { bytes in try device.read(into: bytes) }
            guard case .frames(let count, let time) = reading else { return 0 }
            timestamp = time
            return count
        }
        switch reading {
        case .none: return nil
        case .overrun:
            isAfterLoss = true
            return nil
        case .frames:
            lastData = MonotonicClock().now
            var audio = audio
            audio.timestamp = timestamp
            audio.isAfterGap = isAfterLoss
            audio.estimatedCaptureDelay = timestamp.map { lastData - $0 - audio.buffer.duration }
            isAfterLoss = false
            return audio
        }
    }

    /// Opens the device again, once it is back; false after a wait.
    private mutating func reopen(_ context: AudioContext) -> Bool {
        if MicrophoneDirectory.isPresent(pcmName) {
            do throws(CaptureError) {
                let opened = try PCMDevice(pcmName, wanted: settings.format, period: settings.chunkDuration)
                try opened.start()
                settings.format = opened.format
                settings.chunkDuration = opened.format.duration(ofFrames: Int64(opened.framesPerPeriod))
                device = opened
                lastData = MonotonicClock().now
                isAfterLoss = true
                return true
            } catch {
                if error.code == .deviceBusy { context.reportInterruption(.deviceBusy) }
            }
        }
        context.wait(until: context.now.advanced(by: MicrophoneSource.retryInterval))
        return false
    }

    mutating func stop() { device?.stop() }

    mutating func close() { device = nil }
}

extension AudioCapturerEntry {
    /// Microphones of sound cards and sound servers, as the source `mic` of a program.
    public static let microphone = AudioCapturerEntry(
        name: "mic", summary: "A microphone, through ALSA: the default one, or a card by its name.",
        options: [
            OptionDescription(
                "mic-rate", .text("HZ"), "samples per second to ask the card for; outputs have 48000", default: "48000"),
            OptionDescription("mic-channels", .text("NUMBER"), "channels to ask the card for", default: "2"),
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

/// What the self-test of a program says of microphones.
private enum MicrophoneCheck {
    static func findings() -> [Finding] {
        let found = MicrophoneDirectory.microphones()
        guard !found.isEmpty else {
            return [
                Finding(
                    "devices", "microphone", .missing, "no sound card that records",
                    remedy: "plug in a microphone, or use a sound server's default device: --audio mic.")
            ]
        }
        return found.map { microphone in
            Finding(
                "devices", microphone.pcmName, .ok,
                "\(printable(microphone.name, limit: 60))\(microphone.capabilities == nil ? ", in use" : "")")
        }
    }
}
