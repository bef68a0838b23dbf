import AudioCapturing
import AudioRendering
import CALSA

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An open device of ALSA that plays, in non-blocking mode.
///
/// `@unchecked Sendable`: its ``Loudspeaker`` uses it under its lock, but for calls that last, which come one after the other.
final class PCMOutput: @unchecked Sendable {
    let name: String
    private(set) var format: AudioFormat
    private(set) var bufferFrames = 0

    private let pcm: OpaquePointer
    private var canPause = false
    /// Held by a call that may last. Whether it is closed.
    private let isClosed = Locked(false)
    /// The last samples that were written, as many as the buffer holds, for devices that cannot pause.
    @exclusivity(unchecked) private var recent: [UInt8] = []
    /// What is to be played again after a pause.
    @exclusivity(unchecked) private var held: [UInt8] = []

    init(_ name: String, _ wanted: AudioFormat, _ latency: Duration) throws(AudioRendererError) {
        calsa_silence()
        var opened: OpaquePointer?
        let code = snd_pcm_open(&opened, name, SND_PCM_STREAM_PLAYBACK, Int32(SND_PCM_NONBLOCK))
        guard code >= 0, let pcm = opened else { throw PCMOutput.failure("open the loudspeaker", name, code) }
        self.name = name
        self.pcm = pcm
        format = wanted
        // From here on the deinitializer closes.
        try configure(wanted, latency)
    }

    deinit { close() }

    func close() {
        isClosed.withLock { isClosed in
            if !isClosed { snd_pcm_close(pcm) }
            isClosed = true
        }
    }

    private func configure(_ wanted: AudioFormat, _ latency: Duration) throws(AudioRendererError) {
        guard let hardware = calsa_make_hw_params(), let software = calsa_make_sw_params() else {
            throw PCMOutput.failure("configure the loudspeaker", name, -ENOMEM)
        }
        defer {
            snd_pcm_hw_params_free(hardware)
            snd_pcm_sw_params_free(software)
        }
        func check(_ code: Int32) throws(AudioRendererError) {
            guard code >= 0 else { throw PCMOutput.failure("configure the loudspeaker", name, code) }
        }
        try check(snd_pcm_hw_params_any(pcm, hardware))
        try check(snd_pcm_hw_params_set_access(pcm, hardware, SND_PCM_ACCESS_RW_INTERLEAVED))
        let types: [(SampleType, snd_pcm_format_t)] = [(.int16, SND_PCM_FORMAT_S16), (.float32, SND_PCM_FORMAT_FLOAT)]
        let preferred = wanted.sampleType == .int16 ? types : types.reversed()
        guard
            let type = preferred.first(where: { snd_pcm_hw_params_set_format(pcm, hardware, $0.1) >= 0 })?.0
        else {
            throw AudioRendererError(
                .formatUnsupported, operation: "configure the loudspeaker", subject: name,
                message:
                    "It plays neither 16-bit nor floating-point samples; use plughw in place of hw, which converts.")
        }
        var channels = UInt32(clamping: wanted.channels.count)
        try check(snd_pcm_hw_params_set_channels_near(pcm, hardware, &channels))
        var rate = UInt32(clamping: wanted.sampleRate)
        try check(snd_pcm_hw_params_set_rate_near(pcm, hardware, &rate, nil))
        format = AudioFormat(type, ChannelLayout(count: Int(channels)), sampleRate: Int(rate))
        var buffer = snd_pcm_uframes_t(max(64, format.frames(in: latency)))
        try check(snd_pcm_hw_params_set_buffer_size_near(pcm, hardware, &buffer))
        var period = max(1, buffer / 8)
        _ = snd_pcm_hw_params_set_period_size_near(pcm, hardware, &period, nil)
        try check(snd_pcm_hw_params(pcm, hardware))
        canPause = snd_pcm_hw_params_can_pause(hardware) == 1
        try check(snd_pcm_hw_params_get_buffer_size(hardware, &buffer))
        try check(snd_pcm_sw_params_current(pcm, software))
        // As soon as there is anything: the caller decides how much to have before.
        try check(snd_pcm_sw_params_set_start_threshold(pcm, software, 1))
        try check(snd_pcm_sw_params(pcm, software))
        try check(snd_pcm_prepare(pcm))
        bufferFrames = Int(buffer)
    }

    func write(_ samples: UnsafeRawBufferPointer) throws(AudioRendererError) -> Int {
        let frames = samples.count / format.bytesPerFrame
        guard frames > 0, try putHeld() else { return 0 }
        return try put(samples)
    }

    /// Plays again what a pause has held; false while there is not room for all of it.
    private func putHeld() throws(AudioRendererError) -> Bool {
        guard !held.isEmpty else { return true }
        let again = held
        let taken = try again.withUnsafeBufferPointer { (bytes) throws(AudioRendererError) in
            try put(UnsafeRawBufferPointer(bytes))
        }
        held.removeFirst(taken * format.bytesPerFrame)
        return held.isEmpty
    }

    private func put(_ samples: UnsafeRawBufferPointer) throws(AudioRendererError) -> Int {
        let frames = snd_pcm_uframes_t(samples.count / format.bytesPerFrame)
        var count = snd_pcm_writei(pcm, samples.baseAddress, frames)
        if [-EPIPE, -ESTRPIPE].contains(Int32(clamping: count)) {
            // The underrun is known by the level already.
            guard snd_pcm_prepare(pcm) >= 0 else { throw PCMOutput.failure("play", name, -EIO) }
            count = snd_pcm_writei(pcm, samples.baseAddress, frames)
        }
        if count == -Int(EAGAIN) { return 0 }
        guard count >= 0 else { throw PCMOutput.failure("play", name, Int32(clamping: count)) }
        if !canPause { remember(UnsafeRawBufferPointer(rebasing: samples[..<(count * format.bytesPerFrame)])) }
        return count
    }

    private func remember(_ samples: UnsafeRawBufferPointer) {
        let room = bufferFrames * format.bytesPerFrame
        recent.append(contentsOf: samples.suffix(room))
        if recent.count > 2 * room { recent.removeFirst(recent.count - room) }
    }

    /// What is written and not heard, never more than was written since the device last ran dry.
    func queuedFrames() throws(AudioRendererError) -> Int {
        let waiting = held.count / format.bytesPerFrame
        let state = snd_pcm_state(pcm)
        switch state {
        case SND_PCM_STATE_RUNNING, SND_PCM_STATE_DRAINING, SND_PCM_STATE_PAUSED, SND_PCM_STATE_PREPARED: break
        case SND_PCM_STATE_DISCONNECTED: throw PCMOutput.failure("play", name, -ENODEV)
        default: return waiting
        }
        var delay: snd_pcm_sframes_t = 0
        let code = snd_pcm_delay(pcm, &delay)
        // PulseAudio's plug-in knows no level before the first sample, and calls that an error.
        if code == -ENODEV || (code == -EIO && state != SND_PCM_STATE_PREPARED) {
            throw PCMOutput.failure("play", name, code)
        }
        return waiting + (code < 0 ? 0 : max(0, Int(delay)))
    }

    func pause() throws(AudioRendererError) {
        try unlessClosed("pause") { () throws(AudioRendererError) in try pauseOpen() }
    }

    func flush() throws(AudioRendererError) {
        try unlessClosed("flush") { () throws(AudioRendererError) in
            held = []
            recent = []
            try drop()
        }
    }

    /// Makes calls that last; nothing closes the device meanwhile.
    private func unlessClosed(
        _ operation: String, _ body: () throws(AudioRendererError) -> Void
    ) throws(AudioRendererError) {
        try isClosed.withLock { (isClosed) throws(AudioRendererError) in
            guard !isClosed else { throw PCMOutput.failure(operation, name, -EBADFD) }
            try body()
        }
    }

    private func pauseOpen() throws(AudioRendererError) {
        guard snd_pcm_state(pcm) == SND_PCM_STATE_RUNNING else { return }
        if canPause, snd_pcm_pause(pcm, 1) >= 0 { return }
        let queued = min(try queuedFrames() * format.bytesPerFrame, recent.count)
        held = Array(recent.suffix(queued))
        recent = []
        try drop()
    }

    func resume() throws(AudioRendererError) {
        guard snd_pcm_state(pcm) == SND_PCM_STATE_PAUSED else {
            // At once, since at the end of a file nothing more is written.
            _ = try putHeld()
            return
        }
        let code = snd_pcm_pause(pcm, 0)
        guard code >= 0 else { throw PCMOutput.failure("resume", name, code) }
    }

    private func drop() throws(AudioRendererError) {
        for code in [snd_pcm_drop(pcm), snd_pcm_prepare(pcm)] where code < 0 {
            throw PCMOutput.failure("flush", name, code)
        }
    }

    static func failure(_ operation: String, _ name: String, _ code: Int32) -> AudioRendererError {
        let (kind, message): (AudioRendererErrorCode, String) =
            switch -code {
            case ENOENT where name == "default" && operation.hasPrefix("open"):
                (
                    .deviceNotFound,
                    "This machine has neither a sound card nor a sound server; connect one, or write the sound to a file."
                )
            case ENOENT, ENXIO,
                ENODEV where operation.hasPrefix("open"):
                (.deviceNotFound, "There is no such loudspeaker; aplay -L lists the devices.")
            case EBUSY:
                (.deviceBusy, "Another program plays through it; close that, or use the default device, which shares.")
            case EACCES, EPERM:
                (.permissionDenied, "You may not use it; add yourself to the group audio, and log in again.")
            case ENODEV, EBADFD, EIO, EPIPE, ENOTCONN, ECONNREFUSED:
                (.deviceLost, "It is gone, or no longer answers; plug it in again, or start the sound server again.")
            case EINVAL: (.formatUnsupported, "It does not play in this format; use plughw in place of hw.")
            case ENOMEM: (.unavailable, "The machine has no memory left; close other programs.")
            default: (.system, "ALSA has refused: \(String(cString: snd_strerror(code))).")
            }
        return AudioRendererError(
            kind, operation: operation, subject: name, errno: code < 0 ? -code : nil, message: message)
    }
}
