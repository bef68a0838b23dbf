import AudioCapturing

/// The source behind it; all on the capture's thread.
struct MicrophoneSource: AudioSource {
    private(set) var settings: AudioSettings
    private let name: String
    private let system: SoundSystem
    private var pcmName = ""
    /// The card that is recorded, and a name of ALSA that finds it whatever its number; nil for a sound server.
    private var card: SoundCard?
    private var nameOfCard: String?
    private var device: (any RecordingDevice)?
    private var isAfterLoss = false
    /// The interruption that was reported last; nil while there is sound.
    private var reported: CaptureState.InterruptionReason?
    /// When the device has last given something.
    private var lastData = MediaTime.zero

    /// What came while the start waited for it.
    private var first: SourceAudio?

    /// How long a start waits for the first sound: a sound server may take a second for it, and a recording with pictures is to
    /// begin with both.
    private static let startTimeout = Duration.seconds(2)
    /// How long to wait between two looks for a card that is gone.
    private static let retryInterval = Duration.milliseconds(500)
    /// How long a sound server may take to open and to start, which takes PipeWire up to two seconds; less than the capture's
    /// own limit.
    private static let beginTimeout = Duration.seconds(6)
    /// How long it may take to end.
    private static let endTimeout = Duration.milliseconds(500)

    init(_ name: String, _ settings: AudioSettings, _ system: SoundSystem) {
        self.name = name
        self.settings = settings
        self.system = system
    }

    var pacing: AudioPacing { .device }

    mutating func open(_ context: AudioContext) throws {
        pcmName = MicrophoneDirectory.pcmName(of: name)
        let opened = try open(pcmName, Attempt(context))
        // While it is open, no other card can have its number.
        if let place = opened.place, let found = system.card(place.card) {
            card = found
            pcmName = SoundCards.name(pcmName, of: found)
            nameOfCard = Microphone.pcmName(cardID: found.id, device: place.device)
        }
        adopt(opened)
    }

    mutating func start(_ context: AudioContext) throws {
        // One that was unplugged while it was stopped is opened again.
        let attempt = Attempt(context)
        do { if let device { try begin(device, attempt) } } catch { drop() }
        if device == nil { adopt(try openAndBegin(attempt)) }
        isAfterLoss = false
        reported = nil
        lastData = MonotonicClock().now
        awaitFirst(attempt)
    }

    /// Waits for the first sound. What fails meanwhile is found again when it is read.
    private mutating func awaitFirst(_ attempt: Attempt) {
        first = nil
        let deadline = lastData.advanced(by: MicrophoneSource.startTimeout)
        while first == nil, let device, !attempt.context.isStopping, MonotonicClock().now < deadline {
            guard device.wait(stop: attempt.context.stopDescriptor, until: deadline) else { return }
            do { first = try take(from: device, attempt) } catch { return }
        }
    }

    // MARK: Calls that wait for a sound server

    /// Until when calls are waited for, and what ends that.
    private struct Attempt {
        let deadline = MonotonicClock().now.advanced(by: MicrophoneSource.beginTimeout)
        let context: AudioContext

        init(_ context: AudioContext) { self.context = context }
    }

    private func open(_ name: String, _ attempt: Attempt) throws(CaptureError) -> any RecordingDevice {
        let (system, format, period) = (system, settings.format, settings.chunkDuration)
        return try call("open the microphone", name, attempt) { () throws(CaptureError) in
            try system.open(name, format, period)
        }
    }

    /// After an error the device is of no use.
    private func begin(_ device: any RecordingDevice, _ attempt: Attempt) throws(CaptureError) {
        try call("start the microphone", device.name, attempt) { () throws(CaptureError) in try device.start() }
    }

    private func openAndBegin(_ attempt: Attempt) throws(CaptureError) -> any RecordingDevice {
        let opened = try openAgain(attempt)
        do { try begin(opened, attempt) } catch {
            close(opened)
            throw error
        }
        return opened
    }

    private func call<Answer: Sendable>(
        _ operation: String, _ name: String, _ attempt: Attempt,
        _ body: @escaping @Sendable () throws(CaptureError) -> Answer
    ) throws(CaptureError) -> Answer {
        let stopped = CaptureError(
            .invalidState, operation: operation, subject: name, message: "The capture was stopped meanwhile.")
        let late = CaptureError(
            .stalled, operation: operation, subject: name,
            message: "The sound server does not answer; start it again.")
        guard !attempt.context.isStopping else { throw stopped }
        guard MonotonicClock().now < attempt.deadline else { throw late }
        let end = try CaptureThread.call(
            "microphone", until: attempt.deadline, interruptedBy: attempt.context.stopDescriptor
        ) {
            Result { () throws(CaptureError) in try body() }
        }
        switch end {
        case .answer(let result): return try result.get()
        case .interrupted: throw stopped
        case .timedOut: throw late
        }
    }

    /// Ends a call that has to be made, and may last: true unless it was abandoned.
    private func end(_ body: @escaping @Sendable () -> Void) -> Bool {
        let deadline = MonotonicClock().now.advanced(by: MicrophoneSource.endTimeout)
        if case .answer? = try? CaptureThread.call("microphone", until: deadline, body) { return true }
        return false
    }

    /// Closes the device, once a call that was abandoned has ended.
    private mutating func drop() {
        if let dropped = device.take() { close(dropped) }
    }

    private func close(_ device: any RecordingDevice) { _ = end { device.close() } }

    // MARK: Reading

    private mutating func adopt(_ opened: any RecordingDevice) {
        settings.format = opened.format
        settings.chunkDuration = opened.format.duration(ofFrames: Int64(opened.framesPerPeriod))
        device = opened
    }

    mutating func nextChunk(_ context: AudioContext) throws -> SourceAudio? {
        while !context.isStopping {
            if let audio = first.take() { return audio }
            guard let device else {
                reopen(context)
                continue
            }
            do {
                if let audio = try read(device, context) { return audio }
            } catch let error as CaptureError {
                // A call that the stop has ended.
                guard !context.isStopping else { return nil }
                guard [.deviceLost, .deviceNotFound, .stalled].contains(error.code) else { throw error }
                drop()
                report(isCardPresent ? .stalled : .deviceDisconnected, context)
            }
        }
        return nil
    }

    private var isCardPresent: Bool { card.map { system.isPresent($0) } ?? true }

    private mutating func report(_ reason: CaptureState.InterruptionReason, _ context: AudioContext) {
        guard reported != reason else { return }
        reported = reason
        context.reportInterruption(reason)
    }

    private mutating func read(_ device: any RecordingDevice, _ context: AudioContext) throws -> SourceAudio? {
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
        return try take(from: device, Attempt(context))
    }

    /// What the device has; nil for nothing.
    private mutating func take(from device: any RecordingDevice, _ attempt: Attempt) throws -> SourceAudio? {
        var timestamp: MediaTime?
        var reading = DeviceReading.none
        let audio = try attempt.context.makeAudio(settings.format, frameCapacity: device.framesPerPeriod) { samples in
            reading = try samples.withUnsafeBytes { bytes in try device.read(into: bytes) }
            guard case .frames(let count, let time) = reading else { return 0 }
            timestamp = time
            return count
        }
        switch reading {
        case .none: return nil
        case .overrun:
            isAfterLoss = true
            do { try begin(device, attempt) } catch {
                drop()
                throw error
            }
            return nil
        case .frames:
            lastData = MonotonicClock().now
            reported = nil
            var audio = audio
            audio.timestamp = timestamp
            audio.isAfterGap = isAfterLoss
            audio.estimatedCaptureDelay = timestamp.map { lastData - $0 - audio.buffer.duration }
            isAfterLoss = false
            return audio
        }
    }

    /// Opens the device again, once it is back; otherwise waits.
    private mutating func reopen(_ context: AudioContext) {
        if isCardPresent {
            do throws(CaptureError) {
                adopt(try openAndBegin(Attempt(context)))
                lastData = MonotonicClock().now
                isAfterLoss = true
                return
            } catch {
                if error.code == .deviceBusy { report(.deviceBusy, context) }
            }
        } else {
            // A driver may report the end before the card is gone.
            report(.deviceDisconnected, context)
        }
        context.wait(until: context.now.advanced(by: MicrophoneSource.retryInterval))
    }

    /// Opens the device of the card that was opened first, and no other.
    private func openAgain(_ attempt: Attempt) throws(CaptureError) -> any RecordingDevice {
        let first: CaptureError
        do throws(CaptureError) {
            let opened = try open(pcmName, attempt)
            if isOfCard(opened) { return opened }
            close(opened)
            first = CaptureError(
                .deviceNotFound, operation: "open the microphone", subject: pcmName,
                message: "Another card is there in its place; plug in the one that was recorded.")
        } catch {
            first = error
        }
        // A name such as `default` may be that of another card by now.
        guard let nameOfCard, first.code == .deviceNotFound, isCardPresent else { throw first }
        let opened = try open(nameOfCard, attempt)
        guard isOfCard(opened) else {
            close(opened)
            throw first
        }
        return opened
    }

    private func isOfCard(_ opened: any RecordingDevice) -> Bool {
        guard let card else { return true }
        return opened.place.flatMap { system.card($0.card) } == card
    }

    mutating func stop() {
        first = nil
        guard let device else { return }
        if !end({ device.stop() }) { drop() }
    }

    mutating func close() {
        drop()
        // What is opened next may be another card.
        card = nil
        nameOfCard = nil
    }
}
