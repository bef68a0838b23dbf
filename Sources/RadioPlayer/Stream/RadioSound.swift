import AudioCapturing
import AudioRendering
import AudioResampling
import MP3Codec

/// The sound of a stream in one format, whatever formats come: decoder, resampler, and the decoded sound that waits.
/// Confined to one thread.
package final class RadioSound {
    package let stream: RadioStream
    /// The format of ``ring``: floating point.
    private(set) var format: AudioFormat?
    private(set) var ring = SampleRing(channels: 1, capacity: 1)
    /// Titles with the frame of ``ring`` at which they begin, in order.
    private(set) var titles: [(frame: Int64, metadata: ICYMetadata)] = []
    /// The number of samples of a file without what the encoder added, and their rate; nil when it is not stated.
    private(set) var statedSamples: (count: Int64, rate: Int)?
    /// The offset of the first frame of a file.
    private(set) var soundStart: Int64?

    private let decoder: MP3Decoder
    private var resampler: AudioResampler?
    private var scratch: UnsafeMutableBufferPointer<Float>
    private let clock: any CaptureClock
    private var level = LevelController()
    private var lastLevel: MediaTime?
    /// Samples to leave out at the beginning of a file, and those left until its end; nil for no end.
    private var samplesToSkip = 0
    private var samplesLeft: Int64?
    /// The sum of the last frames' bytes and of their durations in seconds.
    private var recentBytes = 0.0
    private var recentSeconds = 0.0
    private var recentFrames = 0
    private var hasFinished = false
    /// Since when too little is there to be played, although a connection is there that has given sound.
    private var silentSince: MediaTime?

    /// The frames over which the bitrate is averaged.
    private static let averagedFrames = 5000

    package init(_ stream: RadioStream, clock: any CaptureClock) throws(RadioError) {
        self.stream = stream
        self.clock = clock
        do {
            decoder = try MP3Decoder()
        } catch {
            throw RadioSound.failed(error)
        }
        scratch = .allocate(capacity: 1)
    }

    deinit { scratch.deallocate() }

    /// Bits per second, averaged; 0 before the first frame.
    var bitrate: Double { recentSeconds > 0 ? recentBytes * 8 / recentSeconds : 0 }

    /// The sound that is decoded.
    var decoded: Duration { format?.duration(ofFrames: Int64(ring.count)) ?? .zero }

    /// All buffered sound, in seconds, by the bitrate.
    var held: Double {
        let compressed = bitrate > 0 ? Double(stream.parser.count) * 8 / bitrate : 0
        return compressed + decoded.seconds
    }

    /// Whether all of a file has been decoded.
    var hasEnded: Bool { hasFinished }

    /// The duration of a file, as far as it is known; nil for a live stream.
    var duration: Duration? {
        guard let length = stream.fileLength else { return nil }
        if let (count, rate) = statedSamples { return .nanoseconds(Int64(Double(count) / Double(rate) * 1e9)) }
        guard bitrate > 0, let soundStart else { return nil }
        return Duration(clampingNanoseconds: Double(length - soundStart) * 8 / bitrate * 1e9)
    }

    /// Decodes what there is, up to the limit.
    ///
    /// - Parameter chooseFormat: called with the format of the first frame; returns the format of all sound.
    func fill(_ chooseFormat: (AudioFormat) throws(RadioError) -> AudioFormat) throws(RadioError) {
        while hasRoom {
            guard let frame = stream.nextFrame() else {
                if stream.hasEnded, !hasFinished { try finish() }
                break
            }
            if format == nil { begin(try chooseFormat(frame.format)) }
            try decode(frame)
        }
        stream.updateStatistics()
    }

    /// Room for a block at the lowest rate, and the tail of a resampler.
    private var hasRoom: Bool {
        guard let format else { return true }
        let block = 1152 * (format.sampleRate / 8000 + 1) + 1024
        return ring.room > min(block, ring.capacity / 2)
    }

    private func begin(_ format: AudioFormat) {
        self.format = AudioFormat(.float32, format.channels, sampleRate: format.sampleRate)
        ring = SampleRing(
            channels: format.channels.count,
            capacity: Int(format.frames(in: stream.configuration.decodedLimit)))
    }

    /// Makes a new connection when sound has been missing for too long: a server that sends at the speed of sound never
    /// fills an empty buffer, and a new connection gets a burst. Called while sound is awaited.
    func watchSilence() {
        guard stream.isDelivering else { return endSilence() }
        silentSince = silentSince ?? clock.now
        guard let end = silenceEnd, clock.now >= end else { return }
        endSilence()
        stream.renew(stream.error(.networkStalled, "Too little data arrives to play it; check the network."))
    }

    /// Sound is no longer awaited.
    func endSilence() { silentSince = nil }

    /// When a new connection is made if sound is still missing. Received sound that is not enough to play extends the
    /// wait by its duration: so a connection that delivered a little and died is detected like one that delivered none.
    var silenceEnd: MediaTime? { silentSince?.advanced(by: stream.configuration.silenceTimeout + decoded) }

    /// Trims the rate, so that the level stays; once a second or more.
    ///
    /// - Parameter played: the sound that a renderer holds, in seconds.
    func holdLevel(played: Double) {
        let now = clock.now
        guard stream.isLive, now.nanoseconds(since: lastLevel ?? .zero) >= 500_000_000 else { return }
        lastLevel = now
        resampler?.compensation = level.update(level: held + played, now: now)
    }

    /// The level has jumped; what it was before says nothing.
    func restartLevel() { level.restart() }

    /// The correction in millionths, and the level to hold in seconds.
    var levelState: (correction: Double, target: Double?) { (level.correction, level.target) }

    /// The title that is heard when all frames of the ring before `heard` were; each is given once.
    func takeTitle(before heard: Int64) -> ICYMetadata? {
        guard let last = titles.lastIndex(where: { $0.frame < heard }) else { return nil }
        let metadata = titles[last].metadata
        titles.removeFirst(last + 1)
        return metadata
    }

    /// Drops all sound that is held, and begins with what the server sends to a new connection.
    func discard() {
        ring.clear()
        titles.removeAll()
        stream.renewAtLiveEdge()
    }

    /// Goes to a time of a file; false when its position is unknown.
    func seek(to time: Duration) -> Bool {
        guard let length = stream.fileLength, let soundStart, let duration, duration > .zero else { return false }
        let share = min(max(time.seconds / duration.seconds, 0), 1)
        hasFinished = false
        samplesToSkip = 0
        samplesLeft = nil
        titles = []
        ring.clear()
        stream.seek(to: soundStart + Int64(Double(length - soundStart) * share))
        return true
    }

    // MARK: - Decoding

    private func decode(_ frame: MP3FrameParser.Frame) throws(RadioError) {
        if soundStart == nil {
            soundStart = frame.position
            // The first frame of a file may say how long it is; of a station it would be wrong, and a click.
            if let information = MP3InformationTag(frame) {
                adopt(information, frame.header)
                return
            }
        }
        count(frame)
        let position = frame.position + Int64(frame.header.byteCount)
        while let title = stream.titles.first, title.position < position {
            stream.titles.removeFirst()
            titles.append((ring.written, title.metadata))
        }
        var failure: RadioError?
        do {
            try decoder.decode(frame) { block in
                do throws(RadioError) { try take(block) } catch { failure = error }
            }
        } catch {
            throw RadioSound.failed(error)
        }
        if let failure { throw failure }
    }

    private func adopt(_ information: MP3InformationTag, _ header: MP3FrameHeader) {
        guard !stream.isLive, let frames = information.frameCount else { return }
        let added = information.leadingSamples + information.trailingSamples
        let samples = Int64(frames) * Int64(header.sampleCount) - Int64(added)
        guard samples > 0 else { return }
        statedSamples = (samples, header.sampleRate)
        samplesToSkip = information.leadingSamples
        samplesLeft = samples
    }

    private func count(_ frame: MP3FrameParser.Frame) {
        recentFrames += 1
        recentBytes += Double(frame.header.byteCount)
        recentSeconds += Double(frame.header.sampleCount) / Double(frame.header.sampleRate)
        guard recentFrames >= RadioSound.averagedFrames else { return }
        recentFrames /= 2
        recentBytes /= 2
        recentSeconds /= 2
    }

    private func take(_ block: MP3Decoder.Block) throws(RadioError) {
        guard let format else { return }
        if resampler?.input != block.format {
            if resampler != nil { stream.statistics.formatChanges &+= 1 }
            try drain()
            do {
                resampler = try AudioResampler(from: block.format, to: format)
            } catch {
                throw RadioSound.failed(error)
            }
            resampler?.compensation = level.correction
        }
        var samples = block.samples
        let skipped = min(samplesToSkip, block.frameCount)
        samplesToSkip -= skipped
        var frames = block.frameCount - skipped
        if let left = samplesLeft, !stream.isLive {
            frames = Int(min(Int64(frames), left))
            samplesLeft = left - Int64(frames)
        }
        let size = block.format.bytesPerFrame
        samples = UnsafeRawBufferPointer(rebasing: samples[(skipped * size)..<((skipped + frames) * size)])
        guard let resampler, frames > 0 else { return }
        let capacity = resampler.outputCapacity(forInput: frames)
        reserve(capacity * format.channels.count)
        do {
            let count = try resampler.convert(samples, into: UnsafeMutableRawBufferPointer(scratch))
            ring.write(UnsafeBufferPointer(rebasing: scratch[..<(count * format.channels.count)]))
        } catch {
            throw RadioSound.failed(error)
        }
    }

    /// What the resampler still holds.
    private func drain() throws(RadioError) {
        guard let resampler, let format else { return }
        reserve(4096 * format.channels.count)
        do {
            let count = try resampler.drain(into: UnsafeMutableRawBufferPointer(scratch))
            ring.write(UnsafeBufferPointer(rebasing: scratch[..<(count * format.channels.count)]))
        } catch {
            throw RadioSound.failed(error)
        }
    }

    private func finish() throws(RadioError) {
        try drain()
        resampler = nil
        hasFinished = true
        guard ring.written == 0 else { return }
        let name = stream.beginning.withUnsafeBytes { SoundFormat.name(ofOther: $0) }
        throw stream.error(
            .audioDataNotFound,
            "The data has no MP3 sound\(name.map { ", but \($0)" } ?? ""); give the address of an MP3 stream.")
    }

    private func reserve(_ count: Int) {
        guard scratch.count < count else { return }
        scratch.deallocate()
        scratch = .allocate(capacity: count)
    }

    static func failed(_ error: CodecError) -> RadioError {
        RadioError(.decoderFailed, operation: error.operation, libraryCode: error.libraryCode, message: error.message)
    }
}

extension MP3FrameParser.Frame {
    /// The format of its sound, in floating point.
    var format: AudioFormat {
        AudioFormat(.float32, ChannelLayout(count: header.channelCount), sampleRate: header.sampleRate)
    }
}
