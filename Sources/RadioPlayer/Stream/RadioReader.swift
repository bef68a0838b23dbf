import AudioCapturing

/// The sound of a stream for who pulls it: what a capturer of radios stands on. Confined to one thread; nothing but
/// ``wait(until:stop:)`` waits.
package final class RadioReader {
    private let stream: RadioStream
    private let sound: RadioSound
    private let format: AudioFormat
    private let clock: any CaptureClock

    /// - Parameters:
    ///   - url: the address.
    ///   - format: the format of all sound; floating point.
    ///   - configuration: how it is received.
    ///   - clock: the clock of the watchdogs.
    ///   - transport: how it is received; nil for HTTP.
    package init(
        _ url: String, format: AudioFormat, configuration: RadioConfiguration, clock: any CaptureClock,
        transport: (any RadioTransport)? = nil
    ) throws(RadioError) {
        try configuration.validate()
        self.format = format
        self.clock = clock
        let used: any RadioTransport
        if let transport { used = transport } else { used = try HTTPRadioTransport(configuration) }
        stream = RadioStream(configuration, clock: clock, transport: used)
        sound = try RadioSound(stream, clock: clock)
        try stream.open(url)
    }

    /// Takes the received bytes, decodes them, and handles the connection.
    ///
    /// - Parameter isAwaiting: whether there is too little sound to be read.
    package func work(isAwaiting: Bool = false) throws(RadioError) {
        stream.work()
        if let failure = stream.failure { throw failure }
        try sound.fill { (_) throws(RadioError) in format }
        sound.holdLevel(played: 0)
        if isAwaiting { sound.watchSilence() } else { sound.endSilence() }
    }

    /// The decoded frames that there are.
    package var availableFrames: Int { sound.ring.count }

    /// Whether all of a file was decoded.
    package var hasEnded: Bool { sound.hasEnded }

    package var statistics: RadioStatistics { stream.statistics }
    package var information: RadioInformation? { stream.information }

    /// The sound has run out.
    package func recordUnderrun() {
        stream.statistics.underruns &+= 1
        sound.restartLevel()
    }

    /// The title of the read sound, if it is a new one.
    package func takeTitle() -> String? { sound.takeTitle(before: sound.ring.read)?.title }

    /// Reads decoded sound.
    ///
    /// - Returns: the number of frames.
    package func read(into memory: UnsafeMutableBufferPointer<Float>) -> Int {
        let channels = format.channels.count
        var frames = 0
        while true {
            let samples = sound.ring.next(upTo: memory.count / channels - frames)
            guard samples.count > 0, let base = memory.baseAddress else { return frames }
            (base + frames * channels).update(from: samples.baseAddress!, count: samples.count)
            sound.ring.consume(samples.count / channels)
            frames += samples.count / channels
        }
    }

    /// Waits until something has come, there is something to do, `stop` is readable, or the time has come.
    package func wait(until deadline: MediaTime, stop: Int32) {
        let work = min(stream.deadline ?? deadline, sound.silenceEnd ?? deadline)
        let limit = max(min(deadline, work), clock.now.advanced(by: .microseconds(200)))
        stream.transport.wait(until: limit, stop: stop, event: nil)
    }

    /// Ends the connection.
    package func close() { stream.close() }
}
