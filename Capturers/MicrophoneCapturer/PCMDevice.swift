import AudioCapturing
import CALSA

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An open device of ALSA that records, in non-blocking mode.
///
/// `@unchecked Sendable`: one thread uses it at a time, but for calls that last, which come one after the other.
final class PCMDevice: RecordingDevice, @unchecked Sendable {
    let name: String
    private(set) var format: AudioFormat
    private(set) var framesPerPeriod = 0
    private(set) var bufferDuration = Duration.zero
    private(set) var place: (card: Int, device: Int)?
    /// Held by a call that may last. Whether it is closed.
    private let isClosed = Locked(false)
    /// Whether its times can be trusted.
    private(set) var hasTimes = true

    private let pcm: OpaquePointer
    private let status: OpaquePointer
    private var overruns = 0
    private var wire = WireFormat.int16
    /// What is read, where it has to be converted.
    private var raw: [UInt8] = []

    /// Opens a device and settles its format: the wanted one, or the nearest that the device has.
    ///
    /// - Throws: `deviceNotFound`, `deviceBusy`, `permissionDenied`, `formatUnsupported` or `system`.
    init(_ name: String, wanted: AudioFormat, period: Duration) throws(CaptureError) {
        calsa_silence()
        var opened: OpaquePointer?
        let code = snd_pcm_open(&opened, name, SND_PCM_STREAM_CAPTURE, Int32(SND_PCM_NONBLOCK))
        guard code >= 0, let pcm = opened else { throw PCMDevice.failure("open the microphone", name, code) }
        guard let status = calsa_make_status() else {
            snd_pcm_close(pcm)
            throw PCMDevice.failure("open the microphone", name, -ENOMEM)
        }
        self.name = name
        self.pcm = pcm
        self.status = status
        format = wanted
        // From here on the deinitializer closes.
        try configure(wanted, period)
        let description = PCMDevice.description(of: pcm)
        // A plug-in makes two channels of a mono microphone, for twice the size.
        if let own = PCMDevice.innermostChannelCount(in: description), own < format.channels.count {
            var fewer = wanted
            fewer.channels = ChannelLayout(count: own)
            snd_pcm_hw_free(pcm)
            do { try configure(fewer, period) } catch { try configure(wanted, period) }
        }
        hasTimes = !description.contains("PulseAudio")
        place = PCMDevice.place(of: pcm)
    }

    /// The monitor of a sound server's default output.
    static let desktop = "pulse:@DEFAULT_MONITOR@"

    /// Opens a device by its name, as the initializer does.
    ///
    /// PipeWire's server for PulseAudio (0.3.65) records the default source, a microphone, in place of PulseAudio's name of
    /// the monitor. It knows the suffix, which PulseAudio refuses.
    static func open(_ name: String, wanted: AudioFormat, period: Duration) throws(CaptureError) -> PCMDevice {
        if name == desktop {
            let suffixed = try? PCMDevice("pulse:@DEFAULT_SINK@.monitor", wanted: wanted, period: period)
            if let suffixed { return suffixed }
        }
        do {
            return try PCMDevice(name, wanted: wanted, period: period)
        } catch {
            // A name of the sound server, which ALSA does not know, such as the monitor of an output.
            guard error.code == .deviceNotFound, !name.contains(":"), name != "default",
                let source = try? PCMDevice("pulse:\(name)", wanted: wanted, period: period)
            else { throw error }
            return source
        }
    }

    deinit {
        snd_pcm_status_free(status)
        close()
    }

    func close() {
        isClosed.withLock { isClosed in
            if !isClosed { snd_pcm_close(pcm) }
            isClosed = true
        }
    }

    private func configure(_ wanted: AudioFormat, _ period: Duration) throws(CaptureError) {
        guard let hardware = calsa_make_hw_params(), let software = calsa_make_sw_params() else {
            throw PCMDevice.failure("configure the microphone", name, -ENOMEM)
        }
        defer {
            snd_pcm_hw_params_free(hardware)
            snd_pcm_sw_params_free(software)
        }
        func check(_ code: Int32) throws(CaptureError) {
            guard code >= 0 else { throw PCMDevice.failure("configure the microphone", name, code) }
        }
        try check(snd_pcm_hw_params_any(pcm, hardware))
        try check(snd_pcm_hw_params_set_access(pcm, hardware, SND_PCM_ACCESS_RW_INTERLEAVED))
        guard
            let wire = WireFormat.preferred(for: wanted.sampleType).first(where: {
                snd_pcm_hw_params_set_format(pcm, hardware, $0.alsa) >= 0
            })
        else {
            throw CaptureError(
                .formatUnsupported, operation: "configure the microphone", subject: name,
                message:
                    "It records neither 16-, 24-, 32-bit nor floating-point samples; use plughw in place of hw, which "
                    + "converts.")
        }
        self.wire = wire
        // The card's own rate, so that its clock is seen; the time line resamples anyway.
        _ = snd_pcm_hw_params_set_rate_resample(pcm, hardware, 0)
        var channels = UInt32(clamping: wanted.channels.count)
        try check(snd_pcm_hw_params_set_channels_near(pcm, hardware, &channels))
        var rate = UInt32(clamping: wanted.sampleRate)
        try check(snd_pcm_hw_params_set_rate_near(pcm, hardware, &rate, nil))
        format = AudioFormat(wire.sampleType, ChannelLayout(count: Int(channels)), sampleRate: Int(rate))
        var periodFrames = snd_pcm_uframes_t(max(1, format.frames(in: period)))
        try check(snd_pcm_hw_params_set_period_size_near(pcm, hardware, &periodFrames, nil))
        var bufferFrames = max(10 * periodFrames, snd_pcm_uframes_t(rate / 5))
        try check(snd_pcm_hw_params_set_buffer_size_near(pcm, hardware, &bufferFrames))
        try check(snd_pcm_hw_params(pcm, hardware))
        try check(snd_pcm_sw_params_current(pcm, software))
        try check(snd_pcm_sw_params_set_tstamp_mode(pcm, software, SND_PCM_TSTAMP_ENABLE))
        // Plug-ins have no choice; their times are monotonic all the same.
        _ = snd_pcm_sw_params_set_tstamp_type(pcm, software, SND_PCM_TSTAMP_TYPE_MONOTONIC)
        try check(snd_pcm_sw_params_set_avail_min(pcm, software, periodFrames))
        try check(snd_pcm_sw_params(pcm, software))
        framesPerPeriod = Int(periodFrames)
        bufferDuration = format.duration(ofFrames: Int64(bufferFrames))
    }

    func start() throws(CaptureError) {
        let codes = isClosed.withLock { isClosed in
            isClosed ? [-EBADFD] : [snd_pcm_prepare(pcm), snd_pcm_start(pcm)]
        }
        for code in codes where code < 0 { throw PCMDevice.failure("start the microphone", name, code) }
    }

    func stop() {
        isClosed.withLock { isClosed in
            if !isClosed { snd_pcm_drop(pcm) }
        }
    }

    func wait(stop: Int32, until deadline: MediaTime) -> Bool {
        let count = max(0, Int(snd_pcm_poll_descriptors_count(pcm)))
        return withUnsafeTemporaryAllocation(of: pollfd.self, capacity: count + 1) { descriptors in
            descriptors.initialize(repeating: pollfd(fd: -1, events: 0, revents: 0))
            let filled = snd_pcm_poll_descriptors(pcm, descriptors.baseAddress!, UInt32(count))
            descriptors[count] = pollfd(fd: stop, events: Int16(POLLIN), revents: 0)
            let ready = pollAll(descriptors, until: deadline)
            var events: UInt16 = 0
            // Plug-ins take their wake-ups back only so.
            if filled > 0 {
                snd_pcm_poll_descriptors_revents(pcm, descriptors.baseAddress!, UInt32(filled), &events)
            }
            return ready != 0
        }
    }

    func read(into samples: UnsafeMutableRawBufferPointer) throws(CaptureError) -> DeviceReading {
        let capacity = samples.count / format.bytesPerFrame
        let count = read(capacity, into: samples)
        switch Int32(clamping: count) {
        case -EAGAIN, 0: return .none
        case -EPIPE, -ESTRPIPE:
            overruns += 1
            // A sound server that has ended reports this at every read.
            guard overruns < 10 else { throw PCMDevice.failure("record", name, -EPIPE) }
            return .overrun
        case let code where code < 0: throw PCMDevice.failure("record", name, code)
        default:
            overruns = 0
            return .frames(count, timestamp: timestamp(ofRead: count))
        }
    }

    /// Reads frames, and converts them where needed; returns what ALSA does.
    private func read(_ capacity: Int, into samples: UnsafeMutableRawBufferPointer) -> Int {
        guard !wire.isDirect else { return snd_pcm_readi(pcm, samples.baseAddress, snd_pcm_uframes_t(capacity)) }
        let channels = format.channels.count
        let needed = capacity * channels * wire.bytesPerSample
        if raw.count < needed { raw = [UInt8](repeating: 0, count: needed) }
        return raw.withUnsafeMutableBytes { raw in
            let count = snd_pcm_readi(pcm, raw.baseAddress, snd_pcm_uframes_t(capacity))
            if count > 0 { wire.convert(UnsafeRawBufferPointer(raw), count: count * channels, into: samples) }
            return count
        }
    }

    /// When the first of the frames that were just read was at the microphone.
    private func timestamp(ofRead count: Int) -> MediaTime? {
        guard hasTimes, snd_pcm_status(pcm, status) >= 0 else { return nil }
        let time = MediaTime(nanoseconds: calsa_status_time(status))
        let delay = Int64(snd_pcm_status_get_delay(status))
        // Devices without a clock say zero, and some plug-ins anything.
        let age = MonotonicClock().now - time
        guard age > .milliseconds(-1), age < .seconds(1), (0...Int64(format.sampleRate) * 4).contains(delay) else {
            return nil
        }
        return time.advanced(by: .zero - format.duration(ofFrames: delay + Int64(count)))
    }

    /// The card behind the plug-ins, and its device; nil for a sound server.
    private static func place(of pcm: OpaquePointer) -> (card: Int, device: Int)? {
        var info: OpaquePointer?
        guard snd_pcm_info_malloc(&info) >= 0, let info else { return nil }
        defer { snd_pcm_info_free(info) }
        guard snd_pcm_info(pcm, info) >= 0 else { return nil }
        let card = snd_pcm_info_get_card(info)
        return card < 0 ? nil : (Int(card), Int(snd_pcm_info_get_device(info)))
    }

    /// The channels of what the plug-ins are around, which the library describes last.
    static func innermostChannelCount(in description: String) -> Int? {
        let line = description.split(separator: "\n").last { $0.drop { $0 == " " }.hasPrefix("channels ") }
        return line?.split(separator: ":").last.flatMap { Int($0.filter(\.isNumber)) }
    }

    /// What the library says of a device and the plug-ins around it.
    private static func description(of pcm: OpaquePointer) -> String {
        var output: OpaquePointer?
        guard snd_output_buffer_open(&output) >= 0, let output else { return "" }
        defer { snd_output_close(output) }
        snd_pcm_dump(pcm, output)
        var text: UnsafeMutablePointer<CChar>?
        let count = snd_output_buffer_string(output, &text)
        guard let text, count > 0 else { return "" }
        return String(decoding: UnsafeRawBufferPointer(start: text, count: Int(count)), as: UTF8.self)
    }

    /// The error for what a call of the library has returned.
    static func failure(_ operation: String, _ name: String, _ code: Int32) -> CaptureError {
        let (kind, message): (CaptureErrorCode, String) =
            switch -code {
            case ENOENT where name == "default" && operation.hasPrefix("open"):
                (
                    .deviceNotFound,
                    "This machine has neither a sound card that records nor a sound server; connect a microphone."
                )
            case ENOENT where name.hasPrefix("pulse:"), ECONNREFUSED where name.hasPrefix("pulse:"),
                EIO where name.hasPrefix("pulse:"):
                (
                    .deviceNotFound,
                    "PulseAudio or PipeWire does not answer, or has no such source; `pactl list short sources` lists them. "
                        + "ALSA needs its plug-in (libasound2-plugins)."
                )
            case ENOENT,
                ENODEV where operation.hasPrefix("open"), ENXIO:
                (
                    .deviceNotFound,
                    "There is no such microphone; capturer-demo list shows those of ALSA, and `pactl list short sources` those "
                        + "of a sound server."
                )
            case EBUSY:
                (.deviceBusy, "Another program records from it; close that, or use the default device, which shares.")
            case EACCES, EPERM:
                (.permissionDenied, "You may not use it; add yourself to the group audio, and log in again.")
            case ENODEV, EBADFD, EIO, EPIPE, ENOTCONN, ECONNREFUSED:
                (.deviceLost, "It is gone, or no longer answers; plug it in again, or start the sound server again.")
            case EINVAL: (.formatUnsupported, "It does not record in this format; use plughw in place of hw.")
            case ENOMEM: (.outOfMemory, "The machine has no memory left; close other programs.")
            default: (.system, "ALSA has refused: \(String(cString: snd_strerror(code))).")
            }
        return CaptureError(kind, operation: operation, subject: name, errno: code < 0 ? -code : nil, message: message)
    }
}
